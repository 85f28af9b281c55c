package lfs

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestPackEnds: where one end of the newer pack is damaged and the other one shows that
// it was finished, it counts, nothing that was written since the older one is lost, and
// no change is written over it. Where its last block is that of another checkpoint it
// was not finished, and the older one counts.
func TestPackEnds(t *testing.T) {
	flip := func(end uint32, off int) func(l *lab) {
		return func(l *lab) {
			newer := choosePack(packsOf(t, l.d, l.g))
			l.edit(newer.start+end*(newer.cp.blocks()-1), func(b []byte) { b[off] ^= 4 })
		}
	}
	for name, c := range map[string]struct {
		do   func(l *lab)
		slug string
		lost bool
	}{
		"head":             {flip(0, cpElapsed), "cp-checksum", false},
		"head, its length": {flip(0, cpBlocks), "cp-checksum", false},
		"head, place":      {flip(0, cpChecksumOffset), "cp-checksum", false},
		"tail":             {flip(1, cpElapsed), "cp-tail", false},
		"tail, its sum":    {flip(1, 4092), "cp-tail", false},
		"tail of another":  {flip(1, cpVersion), "cp-tail", true},
		"older head": {func(l *lab) {
			packs := packsOf(t, l.d, l.g)
			for i, p := range packs {
				if p != choosePack(packs) {
					l.edit(l.g.PackBlock(i), func(b []byte) { b[cpElapsed] ^= 4 })
				}
			}
		}, "cp-checksum", false},
	} {
		l := newLab(t, "")
		fillFile(t, l.d, "plain", []byte("written since"))
		before := holdings(t, l.d)
		c.do(l)
		if got := slugs(l.check()); len(got) != 1 || got[0] != c.slug {
			t.Errorf("%s: found %q", name, got)
		}
		head, tail := strings.HasPrefix(name, "head"), strings.HasPrefix(name, "tail") && !c.lost
		if _, err := open(t.Context(), l.d, vol.OpenOptions{}); errors.Is(err, vol.ErrDamaged) != head || errors.Is(err, vol.ErrDirty) != tail {
			t.Errorf("%s: opened for a change: %v", name, err)
		}
		if _, err := open(t.Context(), l.d, vol.OpenOptions{Force: true}); errors.Is(err, vol.ErrDamaged) != head || errors.Is(err, vol.ErrDirty) {
			t.Errorf("%s: opened by force: %v", name, err)
		}
		txn := dev.Begin(l.d)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Lossless, nil)
		if err != nil || res.Left(vol.SevWarning) {
			t.Errorf("%s: found %q, %v", name, found(res), err)
		}
		if maps.Equal(holdings(t, txn), before) == c.lost {
			t.Errorf("%s: something else is there", name)
		}
		mustBeClean(t, txn)
		for _, p := range packsOf(t, txn, l.g) {
			if p.fault != nil {
				t.Errorf("%s: %v is left", name, p.fault)
			}
		}
		txn.Rollback()
	}
}

func packsOf(t *testing.T, d dev.Device, g *Geometry) [packCount]*pack {
	t.Helper()
	packs, err := readPacks(d, g)
	if err != nil {
		t.Fatal(err)
	}
	return packs
}
