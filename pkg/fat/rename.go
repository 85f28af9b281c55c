package fat

import "github.com/fatkit/fatkit/pkg/vol"

// dirNames is the names of a directory, short and long, as repairs that rename
// leave them. It is made when the first of them in the directory needs it.
type dirNames struct {
	*vol.NameSet
	cp codepage
}

// names of directory dir, as they are on the device by now.
func (c *checker) names(dir int32) (dirNames, error) {
	if ns, ok := c.dirNames[dir]; ok {
		return ns, nil
	}
	w := *c.walk
	w.quiet = true
	s, err := w.scan(dir)
	if err != nil {
		return dirNames{}, err
	}
	ns := dirNames{vol.NewNameSet(foldUnit), c.cp}
	var short, long []uint16
	for _, l := range s.live {
		short, long = c.cp.units(s.slot(int(l.slot))[:11], short[:0]), nil
		if l.long != l.slot {
			long = s.longUnits(int(l.long), int(l.slot), nil)
		}
		ns.addEntry(short, long)
	}
	if c.dirNames == nil {
		c.dirNames = map[int32]dirNames{}
	}
	c.dirNames[dir] = ns
	return ns, nil
}

// addEntry enters an entry with these names. A long one that is none, or the
// same as the short one, is no second name.
func (ns dirNames) addEntry(short, long []uint16) {
	ns.Add(short)
	if len(long) > 0 && !ns.Same(short, long) {
		ns.Add(long)
	}
}

// dropEntry takes the names of an entry out.
func (ns dirNames) dropEntry(short, long []uint16) {
	ns.Drop(short)
	if len(long) > 0 && !ns.Same(short, long) {
		ns.Drop(long)
	}
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
	return c.changeLong(n.dir, n.slot, n.n, func(u []uint16) {
		for i, x := range u {
			if badLongUnit(x) {
				u[i] = '_'
			}
		}
		for i := vol.LoneSurrogate(u); i >= 0; i = vol.LoneSurrogate(u) {
			u[i] = '_'
		}
		for i := len(u) - 1; i >= 0 && (u[i] == '.' || u[i] == ' '); i-- {
			u[i] = '_'
		}
	})
}

// renameLong gives an entry whose name another has a long name of its own.
func (c *checker) renameLong(n *scanNote) error {
	return c.changeLong(n.dir, n.slot, n.n-1, func([]uint16) {})
}

// changeLong changes the long name in the n slots from slot on, and makes it
// unique. Another repair may have done that already.
func (c *checker) changeLong(dir, slot, n int32, change func(u []uint16)) error {
	u, err := c.units(dir, slot, n)
	if err != nil {
		return err
	}
	ns, err := c.names(dir)
	if err != nil {
		return err
	}
	e := make([]byte, entryLen)
	if _, err := c.d.ReadAt(e, c.walk.slotOff(dir, int(slot+n))); err != nil {
		return err
	}
	short := c.cp.units(e[:11], nil)
	ns.dropEntry(short, u)
	change(u)
	if ns.Has(u) {
		u = ns.Unique(u, min(int(n)*ldirChars, maxLongUnits))
		ns.Drop(u) // addEntry enters it
	}
	ns.addEntry(short, u)
	return c.putLong(dir, slot, n, u)
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
	off := c.walk.slotOff(n.dir, int(slot))
	e := make([]byte, entryLen)
	if _, err := c.d.ReadAt(e, off); err != nil {
		return err
	}
	u, err := c.units(n.dir, long, slot-long)
	if err != nil {
		return err
	}
	ns.dropEntry(c.cp.units(e[:11], nil), u)
	name := c.cp.cleanShort(e[:11])
	if ns.Has(c.cp.units(name[:], nil)) {
		name = ns.uniqueShort(name)
	}
	ns.addEntry(c.cp.units(name[:], nil), u)
	if _, err := c.d.WriteAt(name[:], off); err != nil {
		return err
	}
	return c.eachSlot(n.dir, long, slot-long, func(_ int, b []byte) { b[offLdirChk] = nameSum(name[:]) })
}

// uniqueShort is name with a numeric tail, NAME~1 and so on. Unlike the names
// that are made for new files these count on from where the last one ended,
// so that a directory of nothing but equal names takes no search.
func (ns dirNames) uniqueShort(name [11]byte) [11]byte {
	units := ns.cp.units(name[:], nil)
	for {
		tail := ns.Tail(units)
		v := name
		stem := ns.cp.cut(name[:trimSpaces(name[:8])], 8-len(tail))
		copy(v[stem:8], tail+"        ")
		if !ns.Has(ns.cp.units(v[:], nil)) {
			return v
		}
	}
}

// cleanShort is name with everything replaced that a short name must not hold.
func (cp codepage) cleanShort(name []byte) [11]byte {
	n := [11]byte(name)
	for i, b := range cp.lone(name) {
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
