package lfs

import "testing"

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
