package fat

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestManyBehindEnd: of thousands of entries behind an end mark that lead into one
// chain, among as many that cannot be entries, it is not gone through for each. The
// limit of the time is no measure: what it is there for takes minutes.
func TestManyBehindEnd(t *testing.T) {
	const entries, links = 30_000, 200_000
	for name, c := range map[string]struct {
		size uint32
		loop bool
	}{
		"a long chain":                  {size: links * 512},
		"a loop":                        {size: links * 512, loop: true},
		"a loop, and the largest files": {size: 0xFFFFFFFF, loop: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := bare(t, 256<<20, 512)
			cs := l.run(0, links)
			l.link(cs)
			if c.loop {
				l.set(cs[1], cs[0])
			}
			slots := [][]byte{make([]byte, 32)}
			for i := range entries {
				slots = append(slots, slot(fmt.Sprintf("G%07d   ", i), 0x20, cs[0], c.size))
			}
			for i := range entries + 1 {
				slots = append(slots, slot(fmt.Sprintf("B%07d   ", i), 0x20, 0xFFFFF00, 10))
			}
			l.sub("D          ", slots)
			l.count()
			start := time.Now()
			res, err := vol.Fsck(context.Background(), l.m, Driver(), vol.CheckOptions{}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("the check took %v", d)
			}
			if got := counts(res)["after-end"]; got != 1 {
				t.Errorf("%d directories have entries behind their ends", got)
			}
		})
	}
}

// TestManyRevealed: a repair ends that shows thousands of entries which lead into one
// chain, more than are looked at.
func TestManyRevealed(t *testing.T) {
	const entries, links = 3000, 20_000
	l := bare(t, 40<<20, 512)
	cs := l.run(0, links)
	l.link(cs)
	slots := [][]byte{make([]byte, 32)}
	for i := range entries {
		slots = append(slots, slot(fmt.Sprintf("G%07d   ", i), 0x20, cs[0], links*512))
	}
	for i := range entries + 1 {
		slots = append(slots, slot(fmt.Sprintf("B%07d   ", i), 0x20, 0xFFFFF00, 10))
	}
	l.sub("D          ", slots)
	l.count()
	if res := guarded(t, l.m, voltest.Always); !voltest.Mended(res, "after-end", fixReveal) {
		t.Errorf("found %v", counts(res))
	}
}

// TestEmptyBehindEnd: a directory of empty files in several clusters, with a slot of
// the first one zeroed, keeps those behind it, wherever they lie.
func TestEmptyBehindEnd(t *testing.T) {
	for _, kind := range []string{"12", "16", "32"} {
		t.Run(kind, func(t *testing.T) {
			l := newLab(t, kind)
			per := l.slotsPerCluster()
			l.dir("/CUT", l.every(3, 2))
			for i := range 3*per - 3 {
				l.file(fmt.Sprintf("/CUT/F%06d.DAT", i), nil)
			}
			l.count()
			fsckSilent(t, l.m)
			l.put(l.slotOf("/CUT", 3), make([]byte, 32)...)
			delete(l.known, "/CUT/F000001.DAT")
			res := fsckAll(t, l.m)
			if !voltest.Mended(res, "after-end", fixReveal) {
				voltest.Log(t, res)
				t.Error("what is behind the mark is not shown")
			}
			now, err := newReader(l.m)
			if err != nil {
				t.Fatal(err)
			}
			voltest.SameFiles(t, now.files(), l.known, nil)
		})
	}
}
