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

// TestCutCount: where the chain of a directory breaks a set with a wrong count of
// entries does not swallow those behind it. Nothing that they lead to is lost, even
// if the chain is left as it is.
func TestCutCount(t *testing.T) {
	l := newLab(t, "512")
	cells := l.every(3, 2)
	l.dir("/CUT", cells, 0)
	for i := range 12 { // of three slots each: ten lie before the break
		l.file("/CUT/"+string(rune('A'+i)), l.run(1), noFat)
	}
	l.count()
	own := map[string]uint32{}
	for i := range 10 {
		path := "/CUT/" + string(rune('A'+i))
		own[path] = l.cells(path)[0]
	}
	l.setFAT(cells[1], 0)
	l.put(l.node("/CUT/B").slots[0]+1, 200)
	res := fsck(t, l.m, func(f *vol.Finding) int {
		if f.Slug == "chain-broken" {
			return -1
		}
		return 0
	})
	if !voltest.Mended(res, "lost-clusters", fixFree) || !voltest.Mended(res, "set-count", fixSet) {
		t.Error(res.Outcomes)
	}
	for path, c := range own {
		if !l.marked(c) {
			t.Errorf("cluster %d of %s was given back", c, path)
		}
	}
}
