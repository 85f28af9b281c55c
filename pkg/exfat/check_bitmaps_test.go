package exfat

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestTwoBitmaps: of two entries the one that is not marked as that of the second
// FAT is taken, in whatever order they are, and of two such the one for which more
// speaks.
func TestTwoBitmaps(t *testing.T) {
	for name, flags := range map[string]byte{"second FAT's": 1, "one that fits less": 0} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "4k")
			at, label := l.special(0x81), l.special(0x83)
			if label > at {
				t.Fatal("the label does not stand before the bitmap")
			}
			cs := l.run(1)
			l.own(cs, 0)
			l.count()
			stale := l.read(l.offset(l.table[0]), l.cluster)
			if flags == 0 {
				clear(stale[8:])
			}
			l.put(l.offset(cs[0]), stale...)
			l.sized("/LATE.BIN", l.run(2), noFat, 20, 20)
			l.count()
			e := l.read(at, 32)
			e[1], e[20], e[21], e[22], e[23] = flags, byte(cs[0]), byte(cs[0]>>8), 0, 0
			l.put(label, e...)
			res := fsck(t, l.m, voltest.Always)
			if l.get(label) == 0x81 || l.get(at) != 0x81 {
				t.Error("the wrong one was removed")
			}
			for _, o := range res.Outcomes {
				if o.Severity > vol.SevInfo && o.Slug != "bitmap-twice" && o.Slug != "lost-clusters" && o.Slug != "percent-in-use" {
					t.Error(line(o))
				}
			}
			l.compare(t, l.files(), nil)
		})
	}
}
