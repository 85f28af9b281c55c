package exfat

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestDirLengthCannotBe: a directory whose length cannot be has its clusters up to
// the end mark, and no others are marked as used for it.
func TestDirLengthCannotBe(t *testing.T) {
	for name, decide := range map[string]vol.Decider{"-p": voltest.Lossless, "-y": voltest.Always} {
		for _, length := range []uint64{1<<64 - 1, 1 << 63, 1<<28 + 1, 1 << 40} {
			t.Run(name, func(t *testing.T) {
				l := newLab(t, "4k")
				used := func() (n int) {
					for c := uint32(2); c <= l.last(); c++ {
						if l.marked(c) {
							n++
						}
					}
					return n
				}
				before := used()
				l.redo("/SUB", func(b []byte) {
					entry(b[32:]).put64(offDataLength, length)
					entry(b[32:]).put64(offValidLength, length)
				})
				res := fsck(t, l.m, decide)
				if n := used(); n != before {
					t.Errorf("%d clusters are marked as used, %d were", n, before)
				}
				for _, o := range fsck(t, l.m, nil).Outcomes {
					if o.Severity > vol.SevInfo {
						t.Errorf("after the repair: %s", line(o))
					}
				}
				l.compare(t, l.files(), nil)
				if t.Failed() {
					report(t, res)
				}
			})
		}
	}
}
