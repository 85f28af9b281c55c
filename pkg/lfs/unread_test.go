package lfs

import (
	"errors"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

var errBroken = errors.New("broken")

// unreadable is d with bytes that cannot be read.
func unreadable(d dev.Device, bad ...int64) dev.Device {
	f := devtest.NewFault(d)
	f.Where(func(o devtest.Op) bool {
		return o.Kind == devtest.Read && slices.ContainsFunc(bad, func(off int64) bool { return o.Off <= off && off < o.End() })
	}, errBroken)
	return f
}

// TestUnreadableCopy: of a superblock or a pack that cannot be read the other
// one is used, and it is an error where neither can be.
func TestUnreadableCopy(t *testing.T) {
	l := newLab(t, "")
	tail := func(i int) int64 {
		start := l.g.PackBlock(i)
		return l.g.BlockOff(start + checkpoint(l.read(start)).blocks() - 1)
	}
	supers := [2]int64{superOffset, superOffset + l.g.BlockSize}
	heads := [2]int64{l.g.BlockOff(l.g.PackBlock(0)), l.g.BlockOff(l.g.PackBlock(1))}
	tails := [2]int64{tail(0), tail(1)}
	for _, c := range []struct {
		name, slug string
		bad        []int64
		old        bool // it is the pack that counted
	}{
		{"first superblock", "sb-copy", supers[:1], false},
		{"second superblock", "sb-copy", supers[1:], false},
		{"both superblocks", "", supers[:], false},
		{"first pack", "cp-checksum", heads[:1], true},
		{"second pack", "cp-checksum", heads[1:], false},
		{"first end", "cp-tail", tails[:1], true},
		{"second end", "cp-tail", tails[1:], false},
		{"both packs", "", []int64{heads[0], tails[1]}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := unreadable(l.d, c.bad...)
			res, err := vol.Fsck(t.Context(), d, Driver(), vol.CheckOptions{}, nil, nil)
			scan, scanErr := mountScan(t.Context(), d, vol.ScanOptions{Quick: true})
			_, loadErr := load(t.Context(), d, loadOptions{force: true})
			if c.slug == "" {
				if !errors.Is(err, errBroken) || !errors.Is(scanErr, errBroken) || !errors.Is(loadErr, errBroken) {
					t.Errorf("errors are %v, %v, %v", err, scanErr, loadErr)
				}
				return
			}
			if err != nil || scanErr != nil {
				t.Fatal(err, scanErr)
			}
			// Nothing is changed on the word of one pack alone.
			if pack := c.slug != "sb-copy"; pack != errors.Is(loadErr, errBroken) || !pack && loadErr != nil {
				t.Errorf("opening it for a change says %v", loadErr)
			} else if pack {
				txn := dev.Begin(d)
				if _, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil); !errors.Is(err, errBroken) || txn.Dirty() {
					t.Errorf("-y says %v", err)
				}
				txn.Rollback()
			}
			if got := slugs(res); !slices.Contains(got, c.slug) || !c.old && len(got) != 1 {
				t.Errorf("found %q", found(res))
			}
			if len(scan.Reasons) == 0 || scan.Reasons[0].Code != vol.Find(Problems(), c.slug).Code || scan.Mountable != "rw" {
				t.Errorf("mount-scan says %+v", scan)
			}
			if _, err := describe(d); err != nil {
				t.Error(err)
			}
			if probe(d).Confidence == vol.No {
				t.Error("it is not known")
			}
		})
	}
}
