package fat

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestBootBits flips each bit of the fields of the boot sector, one at a time.
// Whatever -y makes of it, no file may be lost: either all are there when it is
// done, or it leaves the volume alone.
func TestBootBits(t *testing.T) {
	for _, kind := range []string{"12", "16", "32"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			base := newLab(t, kind)
			for bit := range 90 * 8 {
				if kind == "32" && testing.Short() && bit%3 != 0 {
					continue
				}
				l := base.clone(t)
				off := int64(bit / 8)
				l.put(off, l.get(off)^1<<(bit%8))
				l.survives(t, fmt.Sprintf("byte %d bit %d", off, bit%8))
			}
		})
	}
}

// survives repairs the volume and proves that all files are there, or that it
// was not touched outside of the boot sectors.
func (l *lab) survives(t *testing.T, what string) {
	t.Helper()
	tx := dev.Begin(l.m)
	res := fsck(t, tx, voltest.Always)
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
		report(t, res)
	}
}
