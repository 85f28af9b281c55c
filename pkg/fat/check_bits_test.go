package fat

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestBootBits flips each bit of the fields of the boot sector, one at a time,
// and on FAT32 of those of its backup. Whatever -y and -p make of it, no file may
// be lost: either all are there when it is done, or the volume is left alone.
func TestBootBits(t *testing.T) {
	for _, tt := range []struct {
		kind string
		off  int64
	}{{"12", 0}, {"16", 0}, {"32", 0}, {"32", 6 * 512}} {
		t.Run(fmt.Sprintf("%s at %d", tt.kind, tt.off), func(t *testing.T) {
			t.Parallel()
			base := newLab(t, tt.kind)
			for bit := range int64(90 * 8) {
				if testing.Short() && bit%7 != 0 {
					continue
				}
				off := tt.off + bit/8
				l := base.clone(t)
				l.put(off, l.get(off)^1<<(bit%8))
				for name, decide := range map[string]vol.Decider{"-y": voltest.Always, "-p": voltest.Lossless} {
					l.survives(t, fmt.Sprintf("%s, byte %d bit %d", name, off, bit%8), decide)
				}
			}
		})
	}
}

// survives repairs the volume and proves that all files are there, or that it
// was not touched outside of the boot sectors.
func (l *lab) survives(t *testing.T, what string, decide vol.Decider) {
	t.Helper()
	tx := dev.Begin(l.m)
	defer tx.Rollback()
	res := fsck(t, tx, decide)
	if res.Unproven != nil {
		t.Errorf("%s: unproven: %v", what, res.Unproven)
		return
	}
	var lost []string
	if r, err := newReader(tx); err == nil {
		got := r.files()
		for path, b := range l.known {
			if g, ok := got[path]; !ok || g != b {
				lost = append(lost, path)
			}
		}
	} else {
		lost = []string{err.Error()}
	}
	if len(lost) == 0 {
		return
	}
	touched := slices.ContainsFunc(tx.DirtyRanges(), func(r dev.Range) bool { return r.End() > l.fat0 })
	if touched {
		slices.Sort(lost)
		t.Errorf("%s: %d of %d lost, as %q", what, len(lost), len(l.known), lost[0])
		voltest.Log(t, res)
	}
}
