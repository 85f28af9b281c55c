package fat

import (
	"github.com/fatkit/fatkit/pkg/vol"

	"slices"
	"strconv"
	"unicode/utf16"
)

// nameSet is all names of a directory, folded, with the number of entries that
// have each. It is made when the first rename in the directory needs it and
// kept up to date from there, so that many renames stay linear.
type nameSet struct {
	count map[string]int
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
	ns := &nameSet{count: map[string]int{}, next: map[string]int{}}
	var u []uint16
	for _, l := range s.live {
		u = shortUnits(s.slot(int(l.slot))[:11], u[:0])
		short, long := foldKey(u), ""
		if l.long != l.slot {
			u = s.longUnits(int(l.long), int(l.slot), u[:0])
			long = foldKey(u)
		}
		ns.add(short, long)
	}
	if c.sets == nil {
		c.sets = map[int32]*nameSet{}
	}
	c.sets[dir] = ns
	return ns, nil
}

// add an entry with these names, of which the second may be none or the same.
func (ns *nameSet) add(short, long string) {
	ns.count[short]++
	if long != "" && long != short {
		ns.count[long]++
	}
}

// swap the names of an entry.
func (ns *nameSet) swap(short, long, newShort, newLong string) {
	ns.count[short]--
	if long != "" && long != short {
		ns.count[long]--
	}
	ns.add(newShort, newLong)
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
	short, old := foldKey(shortUnits(e[:11], nil)), foldKey(u)
	change(u)
	key := foldKey(u)
	if others := ns.count[key]; others > 1 || others == 1 && key != old {
		u = ns.unique(u, int(n)*ldirChars)
	}
	ns.swap(short, old, short, foldKey(u))
	return c.putLong(dir, slot, n, u)
}

// unique is u with ~N before its extension, of at most limit units.
func (ns *nameSet) unique(u []uint16, limit int) []uint16 {
	key := foldKey(u)
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
		tail := utf16.Encode([]rune("~" + strconv.Itoa(ns.next[key])))
		stem := min(dot, limit-len(tail)-(len(u)-dot))
		v := slices.Concat(u[:stem], tail, u[dot:])
		if i := vol.LoneSurrogate(v); i >= 0 {
			v[i] = '_' // the cut went through a pair
		}
		if ns.count[foldKey(v)] == 0 {
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
	off := c.walk.slotOff(n.dir, int(slot))
	e := make([]byte, entryLen)
	if _, err := c.d.ReadAt(e, off); err != nil {
		return err
	}
	u, err := c.units(n.dir, long, slot-long)
	if err != nil {
		return err
	}
	old, longKey := foldKey(shortUnits(e[:11], nil)), foldKey(u)
	name := cleanShort(e[:11])
	key := foldKey(shortUnits(name[:], nil))
	if others := ns.count[key]; others > 1 || others == 1 && key != old && key != longKey {
		name = ns.uniqueShort(name)
		key = foldKey(shortUnits(name[:], nil))
	}
	ns.swap(old, longKey, key, longKey)
	if _, err := c.d.WriteAt(name[:], off); err != nil {
		return err
	}
	return c.eachSlot(n.dir, long, slot-long, func(_ int, b []byte) { b[offLdirChk] = nameSum(name[:]) })
}

// uniqueShort is name with a numeric tail, NAME~1 and so on. Unlike the names
// that are made for new files these count on from where the last one ended,
// so that a directory of nothing but equal names takes no search.
func (ns *nameSet) uniqueShort(name [11]byte) [11]byte {
	key := string(name[:])
	for {
		ns.next[key]++
		tail := "~" + strconv.Itoa(ns.next[key])
		v := name
		stem := min(trimSpaces(name[:8]), 8-len(tail))
		copy(v[stem:8], tail+"        ")
		if ns.count[foldKey(shortUnits(v[:], nil))] == 0 {
			return v
		}
	}
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
