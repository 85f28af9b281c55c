package exfat

import (
	"encoding/binary"
	"math/rand/v2"
)

// plainClaim is what the entry set of a file says of its clusters, where there is
// nothing else to say of the set. Nearly all sets of nearly all volumes are so,
// which is why they have a way of their own through the check.
type plainClaim struct {
	length, valid uint64
	start, need   uint32
	slot          int32
	n             uint8 // slots of the set; 0: it is none, and slot is an index of dirScan.streams
	noFat         bool
}

// stream is p as the slower way has it.
func (p *plainClaim) stream(dir int32) stream {
	return stream{ref: setRef{dir, p.slot, int32(p.n)}, at: p.slot + 1, start: p.start, length: p.length, valid: p.valid, need: p.need, noFat: p.noFat, sealed: true}
}

// unitTable has, for each unit of UTF-16, its upper case, and whether a name
// that holds it must be looked at more closely.
type unitTable [upcaseUnits]uint32

// unitOdd marks units that names may not hold, [exFAT] §7.7.3, and halves of
// surrogate pairs.
const unitOdd = 1 << 16

func newUnitTable(up *upcaseTable) *unitTable {
	t := new(unitTable)
	for u := range t {
		t[u] = uint32(up.to[u])
		if badUnit(uint16(u)) || u&0xF800 == 0xD800 {
			t[u] |= unitOdd
		}
	}
	return t
}

// plainSet takes the set of the File entry in slot k, and returns how many
// slots it has: 0, and nothing is taken, where it is not that of a file, or
// anything about it is not as it nearly always is. It asks for no less than
// fileSet does, which finds out what is wrong.
func (s *dirScan) plainSet(k int32) int32 {
	b := s.buf[int(k)*entryLen:]
	if len(b) < (1+minFileSets)*entryLen || s.w.c.thorough {
		return 0
	}
	e, st := entry(b[:entryLen]), entry(b[entryLen:2*entryLen])
	units := int(st[offNameLength])
	n := 2 + nameEntries(units)
	if units == 0 || int32(e[offSecondaryCount]) != n-1 || len(b) < int(n)*entryLen || st.kind() != typeStream {
		return 0
	}
	set := b[:int(n)*entryLen]
	if e.attributes()&(attrDirectory|attrReserved1|attrReserved2) != 0 || !timesOK(e) {
		return 0
	}
	p, ok := s.plainStream(st)
	if !ok {
		return 0
	}
	fold, ok := s.plainName(set, units)
	if !ok || s.checksum(k, n) != e.u16(offSetChecksum) {
		return 0
	}
	s.addSet(setRef{s.dir, k, n}, units, fold)
	s.files++
	s.sealed++
	if p.length > 0 {
		p.slot, p.n = k, uint8(n)
		s.plain = append(s.plain, p)
	}
	return n
}

// checksum is that of the n slots from k on. Names of a directory are mostly of
// like length, so that of the slots behind them is made with it.
func (s *dirScan) checksum(k, n int32) uint16 {
	if s.next.slot == k && s.next.n == n {
		return s.next.sum
	}
	set, size := s.buf[int(k)*entryLen:], int(n)*entryLen
	if len(set) < 2*size || set[size] != typeFile {
		return setChecksum(set[:size])
	}
	sum, next := setChecksums(set[:size], set[size:2*size])
	s.next = slotSum{k + n, n, next}
	return sum
}

// slotSum is the checksum of n slots.
type slotSum struct {
	slot, n int32
	sum     uint16
}

// plainStream is what a Stream Extension says, if all of it can be.
func (s *dirScan) plainStream(st entry) (p plainClaim, ok bool) {
	g := s.w.c.g
	p = plainClaim{length: st.length(), valid: st.valid(), start: st.first(), noFat: st.noFatChain()}
	if p.length == 0 {
		return p, p.start == 0 && p.valid == 0 && st[offSecFlags] == secAllocPossible
	}
	if p.valid > p.length || st[offSecFlags]&(secReserved|secAllocPossible) != secAllocPossible || !g.Valid(p.start) {
		return p, false
	}
	p.need, ok = g.ClustersFor(p.length)
	return p, ok && (!p.noFat || p.start-firstCluster <= g.Clusters-p.need)
}

// plainName looks at the name of a set in one go, and returns the hash that
// checkNames goes by. ok is false where it does not fit the NameHash, or is one
// of which there is something to say.
func (s *dirScan) plainName(set []byte, units int) (fold uint32, ok bool) {
	t := s.w.c.units
	hash, odd, last := uint16(0), uint32(0), uint32(0)
	f := s.w.c.fold
	left := units
	for at := 2 * entryLen; at < len(set); at += entryLen {
		e := set[at : at+entryLen : at+entryLen]
		if e[0] != typeName || e[offSecFlags] != 0 {
			return 0, false
		}
		i := offName
		for end := offName + 2*min(left, nameUnits); i < end; i += 2 {
			last = t[binary.LittleEndian.Uint16(e[i:])]
			odd |= last
			hash = hashUnit(hash, uint16(last))
			f = f.add(uint16(last))
		}
		left -= nameUnits
		for ; i < entryLen; i++ {
			if e[i] != 0 {
				return 0, false
			}
		}
	}
	return f.stirred(), odd&unitOdd == 0 && last != '.' && last != ' ' && hash == entry(set[entryLen:]).u16(offNameHash)
}

// foldHash is FNV-1a over the units of a name, upper case. The NameHash of the
// format has 16 bits, and names that differ in a number collide in it. Each
// check starts from another number, so that nobody can make a directory of names
// that all collide.
type foldHash uint32

func newFoldHash() foldHash { return foldHash(rand.Uint32()) }

func (f foldHash) add(unit uint16) foldHash { return (f ^ foldHash(unit)) * 16777619 }
func (f foldHash) stirred() uint32          { return uint32(f ^ f>>15) }
