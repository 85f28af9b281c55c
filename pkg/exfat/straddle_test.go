package exfat

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestCutWithinSet: where the chain of a directory breaks within an entry set nothing
// is said of that, and nothing of it mended, until the chain is.
func TestCutWithinSet(t *testing.T) {
	for name, mend := range map[string]bool{"left": false, "mended": true} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "512")
			cells := l.every(2, 2)
			l.dir("/CUT", cells, 0)
			for _, name := range []string{"A", "B", "C", "D", "E", "F"} { // of three slots each
				l.file("/CUT/"+name, l.run(1), noFat)
			}
			l.count()
			if !l.goesOnIn("/CUT", int(l.cluster/entryLen)) {
				t.Fatal("no set of the directory lies in two clusters")
			}
			l.setFAT(cells[0], 0)
			decide := vol.Decider(nil)
			if mend {
				decide = voltest.Always
			}
			for _, o := range fsck(t, l.m, decide).Outcomes {
				if o.Severity > vol.SevInfo && o.Slug != "chain-broken" && (mend || o.Slug != "lost-clusters") {
					t.Error(line(o))
				}
			}
			if mend {
				l.compare(t, l.files(), nil)
			}
		})
	}
}

// goesOnIn reports whether slot k of a directory is a secondary entry.
func (l *lab) goesOnIn(path string, k int) bool {
	slots := l.places(l.node(path))
	return k < len(slots) && entry(l.read(slots[k], entryLen)).isSecondary()
}
