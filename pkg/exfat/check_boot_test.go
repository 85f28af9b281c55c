package exfat

import (
	"context"
	"errors"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestRestoreKeepsFlags: a main boot region that is restored is dirty as long as
// there is something left to mend, and clean when there is not.
func TestRestoreKeepsFlags(t *testing.T) {
	for name, hit := range map[string]func(l *lab){
		"checksum": func(l *lab) { l.put(offVolumeFlags, flagDirty); l.put(300, 1) },
		"name":     func(l *lab) { l.put(offFileSystemName, 'x') },
		"zeros":    func(l *lab) { l.put(0, make([]byte, 12*l.sector)...) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "4k")
			hit(l)
			sound := l.clone(t)
			fsck(t, sound.m, voltest.Lossless)
			if got := sound.get(offVolumeFlags); got != 0 {
				t.Errorf("flags of a volume of which all is mended: %#x", got)
			}
			l.setFAT(l.cells("/BIG.BIN")[2], 5_000_000)
			fsck(t, l.m, voltest.Lossless)
			if got := l.get(offVolumeFlags); got != flagDirty {
				t.Errorf("flags of a volume with a broken chain: %#x", got)
			}
			for _, o := range fsck(t, l.m, nil).Outcomes {
				if o.Slug == "boot-region-lost" {
					t.Errorf("%s", line(o))
				}
			}
		})
	}
}

// TestUnreadableMain: where the device does not read the main boot region, the
// backup stands in for it, and is written there.
func TestUnreadableMain(t *testing.T) {
	bad := errors.New("bad sector")
	for name, at := range map[string]int64{"first sector": 0, "sector 5": 5 * 512, "all": -1} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "512")
			f := devtest.NewFault(l.m)
			f.Where(func(o devtest.Op) bool {
				return o.Kind == devtest.Read && !o.Range.Intersect(dev.Range{Off: max(at, 0), Len: 512}).Empty()
			}, bad)
			if at < 0 {
				f.Where(func(o devtest.Op) bool { return o.Kind == devtest.Read }, bad)
			}
			tx := dev.Begin(f)
			res, err := vol.Fsck(context.Background(), tx, Driver(), vol.CheckOptions{}, voltest.Always, nil)
			if at < 0 {
				if !errors.Is(err, bad) {
					t.Fatalf("error %v", err)
				}
				return
			}
			must(t, err)
			if !mendedBy(res, &injury{slug: "boot-region-lost"}) {
				report(t, res)
				t.Fatal("the main region was not restored")
			}
			if id := probe(f); id.Type != "exfat" {
				t.Errorf("it is taken for %+v", id)
			}
			l.put(0, make([]byte, 6*512)...)
			commit(t, tx)
			for _, o := range fsck(t, l.m, nil).Outcomes {
				if o.Severity > vol.SevInfo {
					t.Errorf("after the repair: %s", line(o))
				}
			}
		})
	}
}

// TestMediaFailureStays: no repair clears the mark, as none scans the medium.
func TestMediaFailureStays(t *testing.T) {
	l := newLab(t, "4k")
	l.put(offVolumeFlags, flagMediaFailure|flagDirty)
	if fsck(t, l.m, voltest.Always); l.get(offVolumeFlags) != flagMediaFailure {
		t.Errorf("flags %#x", l.get(offVolumeFlags))
	}
}
