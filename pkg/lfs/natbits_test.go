package lfs

import (
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestOldNATBits: bits of another checkpoint say nothing, and bits that are
// right are no finding.
func TestOldNATBits(t *testing.T) {
	l := newLab(t, "")
	at := l.putNATBits(false, 0).Range
	l.edit(uint32(at.Off/l.g.BlockSize), func(b []byte) { b[0]++ })
	if res := l.check(); len(res.Outcomes) > 0 {
		t.Errorf("found %q", found(res))
	}
	if bits, err := stateOf(t, l.d).readNATBits(l.d); bits != nil || err != nil {
		t.Errorf("there are bits: %v", err)
	}
	l.putNATBits(false, l.g.NATBlocks()-1)
	if res := l.check(); len(res.Outcomes) > 0 {
		t.Errorf("found %q", found(res))
	}
	if bits, err := stateOf(t, l.d).readNATBits(l.d); bits == nil || err != nil {
		t.Errorf("there are no bits: %v", err)
	}
}

// TestCrowdedPack: where Linux sees no room for the bits of NAT in a pack they go, and
// nothing else does. It is none of the corruptors, as fsck.f2fs takes no such pack,
// with the mark or without.
func TestCrowdedPack(t *testing.T) {
	l := newLab(t, "")
	before := holdings(t, l.d)
	l.crowd()
	if got := slugs(l.check()); !slices.Equal(got, []string{"cp-layout"}) {
		t.Errorf("found %q", got)
	}
	l.mends(damage{}, before)
	txn := dev.Begin(l.d)
	defer txn.Rollback()
	if _, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Lossless, nil); err != nil {
		t.Fatal(err)
	}
	if s := scanned(t, txn, vol.ScanOptions{}); s.Mountable != "rw" || s.Dirty || stateOf(t, txn).cp.has(cpNatBits) {
		t.Errorf("then mount-scan says %+v", s)
	}
}
