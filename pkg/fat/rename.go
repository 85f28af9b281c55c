package fat

import (
	"strconv"
)

// nameSet is all names of a directory, folded. It is made when the first
// rename in the directory needs it and kept up to date from there, so that
// many renames stay linear.
type nameSet struct {
	have map[string]bool
	// next tail to try for a name cut to make room, so that thousands of equal
	// names do not each try all tails again.
	next map[string]int
}

func foldKey(u []uint16) string {
	b := make([]byte, 0, 2*len(u))
	for _, c := range u {
		f := foldUnit(c)
		b = append(b, byte(f), byte(f>>8))
	}
	return string(b)
}

// names of directory dir, as they are on the device by now.
func (c *checker) names(dir int32) (*nameSet, error) {
	if ns := c.sets[dir]; ns != nil {
		return ns, nil
	}
	w := *c.walk
	w.quiet = true
	s, err := w.scan(dir)
	if err != nil {
		return nil, err
	}
	ns := &nameSet{have: map[string]bool{}, next: map[string]int{}}
	var u []uint16
	for _, l := range s.live {
		u = shortUnits(s.slot(int(l.slot))[:11], u[:0])
		ns.have[foldKey(u)] = true
		if l.long != l.slot {
			u = s.longUnits(int(l.long), int(l.slot), u[:0])
			ns.have[foldKey(u)] = true
		}
	}
	if c.sets == nil {
		c.sets = map[int32]*nameSet{}
	}
	c.sets[dir] = ns
	return ns, nil
}

// units reads the long name that lies in n slots from slot on.
func (c *checker) units(dir, slot, n int32) ([]uint16, error) {
	b := make([]byte, n*entryLen)
	for i := int32(0); i < n; i++ {
		if _, err := c.d.ReadAt(b[i*entryLen:(i+1)*entryLen], c.walk.slotOff(dir, int(slot+i))); err != nil {
			return nil, err
		}
	}
	s := &dirScan{w: c.walk, buf: b}
	return s.longUnits(0, int(n), nil), nil
}

// putLong writes a name into the slots of an old one that took as many.
func (c *checker) putLong(dir, slot, n int32, u []uint16) error {
	return c.eachSlot(dir, slot, n, func(i int, b []byte) {
		part := u[min(len(u), (int(n)-1-i)*ldirChars):]
		for k := 0; k < ldirChars; k++ {
			v := uint16(0xFFFF)
			if k < len(part) {
				v = part[k]
			} else if k == len(part) {
				v = 0
			}
			o := ldirOffset(k)
			b[o], b[o+1] = byte(v), byte(v>>8)
		}
	})
}

// cleanLong replaces what a long name must not hold by an underscore.
func (c *checker) cleanLong(n *scanNote) error {
	u, err := c.units(n.dir, n.slot, n.n)
	if err != nil {
		return err
	}
	old := foldKey(u)
	for i, x := range u {
		if badLongUnit(x) {
			u[i] = '_'
		}
	}
	for i := loneSurrogate(u); i >= 0; i = loneSurrogate(u) {
		u[i] = '_'
	}
	for i := len(u) - 1; i >= 0 && (u[i] == '.' || u[i] == ' '); i-- {
		u[i] = '_'
	}
	return c.swapLong(n.dir, n.slot, n.n, u, old)
}

// renameLong gives an entry whose name another has a long name of its own.
func (c *checker) renameLong(n *scanNote) error {
	u, err := c.units(n.dir, n.slot, n.n-1)
	if err != nil {
		return err
	}
	return c.swapLong(n.dir, n.slot, n.n-1, u, "")
}

// swapLong writes u, made unique, into the n slots; old is the key of the name
// that goes, if nothing else has it.
func (c *checker) swapLong(dir, slot, n int32, u []uint16, old string) error {
	ns, err := c.names(dir)
	if err != nil {
		return err
	}
	delete(ns.have, old)
	u = ns.unique(u, int(n)*ldirChars)
	return c.putLong(dir, slot, n, u)
}

// unique is u, or u with ~N before its extension, of at most limit units.
func (ns *nameSet) unique(u []uint16, limit int) []uint16 {
	key := foldKey(u)
	if !ns.have[key] {
		ns.have[key] = true
		return u
	}
	limit = min(limit, maxLongUnits)
	dot := len(u)
	for i := len(u) - 1; i > 0; i-- {
		if u[i] == '.' {
			dot = i
			break
		}
	}
	if len(u)-dot > limit/2 {
		dot = len(u)
	}
	for {
		ns.next[key]++
		var tail []uint16
		for _, r := range "~" + strconv.Itoa(ns.next[key]) {
			tail = append(tail, uint16(r))
		}
		stem := min(dot, limit-len(tail)-(len(u)-dot))
		v := append(append(append([]uint16{}, u[:stem]...), tail...), u[dot:]...)
		if k := foldKey(v); !ns.have[k] {
			ns.have[k] = true
			return v
		}
	}
}

// renameShort gives the entry a short name that is allowed and its own. A long
// name stays: its slots get the checksum of the new short name.
func (c *checker) renameShort(n *scanNote) error {
	slot := n.slot + n.n - 1
	long := c.longBefore(n.dir, slot)
	ns, err := c.names(n.dir)
	if err != nil {
		return err
	}
	var name [11]byte
	err = c.patch(c.walk.slotOff(n.dir, int(slot)), entryLen, func(b []byte) {
		want := cleanShort(dirEntry(b).name())
		key := foldKey(shortUnits(want[:], nil))
		if want == [11]byte(b[:11]) || ns.have[key] && key != foldKey(shortUnits(b[:11], nil)) {
			want, err = shortAlias(shortUnits(want[:], nil), func(x [11]byte) bool { return ns.have[foldKey(shortUnits(x[:], nil))] })
		}
		name = want
		copy(b, want[:])
	})
	if err != nil {
		return err
	}
	ns.have[foldKey(shortUnits(name[:], nil))] = true
	return c.eachSlot(n.dir, long, slot-long, func(_ int, b []byte) { b[offLdirChk] = nameSum(name[:]) })
}

// cleanShort is name with everything replaced that a short name must not hold.
func cleanShort(name []byte) [11]byte {
	n := [11]byte(name)
	for i, b := range n {
		switch classifyShort(b, i) {
		case shortLower:
			n[i] = b - 'a' + 'A'
		case shortIllegal, shortLeading, shortLongOnly:
			n[i] = '_'
		}
	}
	return n
}

// longBefore is the first slot of the long name that belongs to the entry in
// slot, or slot.
func (c *checker) longBefore(dir, slot int32) int32 {
	e := make([]byte, entryLen)
	if _, err := c.d.ReadAt(e, c.walk.slotOff(dir, int(slot))); err != nil {
		return slot
	}
	sum := nameSum(e)
	for k := slot - 1; k >= 0 && slot-k <= maxLongSlots; k-- {
		if _, err := c.d.ReadAt(e, c.walk.slotOff(dir, int(k))); err != nil {
			return slot
		}
		l := longSlot(e)
		if !dirEntry(e).isLong() || dirEntry(e).isFree() || l.chksum() != sum || l.ord() != int(slot-k) {
			return slot
		}
		if l.isLast() {
			return k
		}
	}
	return slot
}
