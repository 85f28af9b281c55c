package exfat

import "fmt"

// entrySet is what describes a file or directory: adjacent slots that hold a
// File entry, its Stream Extension, its name, and whatever else belongs to it,
// [exFAT] §6.3 and §7.4. Changes are made in place and end with seal; slots
// behind the name are kept byte for byte, as §8.2 asks of those who do not
// know what they are.
type entrySet []byte

func (s entrySet) file() entry      { return entry(s[:entryLen]) }
func (s entrySet) stream() entry    { return streamOf(s) }
func (s entrySet) slots() int       { return len(s) / entryLen }
func (s entrySet) at(i int) entry   { return entry(s[i*entryLen : (i+1)*entryLen]) }
func (s entrySet) isDir() bool      { return s.file().isDirectory() }
func (s entrySet) nameLen() int     { return int(s.stream()[offNameLength]) }
func (s entrySet) sealed() bool     { return s.file().u16(offSetChecksum) == setChecksum(s) }
func (s entrySet) seal()            { s.file().put16(offSetChecksum, setChecksum(s)) }
func (s entrySet) behindNames() int { return 2 + int(nameEntries(s.nameLen())) }

// units appends the name to dst.
func (s entrySet) units(dst []uint16) []uint16 {
	left := s.nameLen()
	for i := 2; left > 0; i++ {
		e := s.at(i)
		for k := range min(left, nameUnits) {
			dst = append(dst, e.u16(offName+2*k))
		}
		left -= nameUnits
	}
	return dst
}

// name is what a user sees.
func (s entrySet) name() string { return decodeUnits(s.units(nil)) }

// setFields is what a new set says beside its name.
type setFields struct {
	attr          uint16
	first         uint32
	length, valid uint64
	noFat         bool
	at            stamp
}

// newEntrySet is a set for name, which must be 1 to 255 units, with its hash
// through the up-case table of the volume, and its checksum.
func newEntrySet(up *upcaseTable, name []uint16, f setFields) entrySet {
	names := int(nameEntries(len(name)))
	s := make(entrySet, (2+names)*entryLen)
	e := s.file()
	e[0], e[offSecondaryCount] = typeFile, byte(1+names)
	e.put16(offAttributes, f.attr)
	e.create(f.at)
	s.stream()[0] = typeStream
	for i := range names {
		s.at(2 + i)[0] = typeName
	}
	putUnits(s, name)
	s.stream().put16(offNameHash, up.hash(name))
	s.allocate(f.first, f.length, f.valid, f.noFat)
	s.seal()
	return s
}

// allocate sets where the contents lie and how long they are: [exFAT] §6.4.2
// and §7.6. AllocationPossible is 1 in every Stream Extension; without
// clusters there is no first one and no NoFatChain.
func (s entrySet) allocate(first uint32, length, valid uint64, noFat bool) {
	st := s.stream()
	st[offSecFlags] = st[offSecFlags]&^secNoFatChain | secAllocPossible
	if first != 0 && noFat {
		st[offSecFlags] |= secNoFatChain
	}
	st.put(first, length)
	st.put64(offValidLength, valid)
}

// archive marks a file as changed since the last backup.
func (s entrySet) archive() {
	e := s.file()
	e.put16(offAttributes, e.attributes()|attrArchive)
}

// flaw says why a set must not be changed before a check, or is "". One that
// no reader can find or believe is worse when it has grown.
func (s entrySet) flaw(up *upcaseTable) string {
	st := s.stream()
	hash := up.hash(s.units(nil))
	switch length, valid := st.length(), st.valid(); {
	case !s.sealed():
		return fmt.Sprintf("the checksum of its entries is %#04x, not %#04x", s.file().u16(offSetChecksum), setChecksum(s))
	case st.u16(offNameHash) != hash:
		return fmt.Sprintf("the hash of its name is %#04x, not %#04x", st.u16(offNameHash), hash)
	case valid > length:
		return fmt.Sprintf("%d of its %d bytes are said to be written", valid, length)
	case s.isDir() && valid != length:
		return fmt.Sprintf("%d of the directory's %d bytes are said to be written", valid, length)
	case length == 0 && st.first() != 0:
		return fmt.Sprintf("it is empty but has cluster %d", st.first())
	}
	return ""
}

// unknown is the type of a critical secondary entry behind the name, 0 for
// none: [exFAT] §8.2, whoever does not know it must leave the set alone.
func (s entrySet) unknown() byte {
	for i := s.behindNames(); i < s.slots(); i++ {
		if e := s.at(i); !e.isBenign() {
			return e.kind()
		}
	}
	return 0
}
