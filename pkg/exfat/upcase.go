package exfat

import (
	"encoding/binary"
	"fmt"
)

const (
	upcaseUnits     = 1 << 16         // §7.2.5: a table is for all of UTF-16's units
	mandatoryUnits  = 128             // §7.2.5: the same in every table
	standardBytes   = 5836            // length of the table of §7.2.5.1
	standardSum     = 0xE619D30D      // §7.2.5.1: its TableChecksum
	identityRun     = 0xFFFF          // §7.2.5: a run of units that stay as they are; its length follows
	maxUpcaseBytes  = 4 * upcaseUnits // no table is longer: 4 bytes a unit is the worst way to write it
	leastStoredRuns = 512             // units; see compressUpcase
)

// upcaseTable is what a volume takes for the upper case of a character, [exFAT]
// §7.2. Names are compared and hashed through it, never through a locale.
type upcaseTable struct {
	to [upcaseUnits]uint16
	// entries is how many units the stored table was for; the others stay as
	// they are. §7.2.5.1 has a table be for all; [Linux] takes its own instead
	// of one that is not.
	entries int
}

// standardTable is Microsoft's recommended table, [exFAT] §7.2.5.1.
func standardTable() *upcaseTable {
	t := identityTable()
	t.entries = upcaseUnits
	for _, r := range upcaseRanges() {
		for u := int(r.first); u <= int(r.last); u += r.step {
			t.to[u] = uint16(u + r.by)
		}
	}
	return t
}

// standardUpcase is that table as it is stored on a new volume.
func standardUpcase() []byte { return compressUpcase(standardTable()) }

func identityTable() *upcaseTable {
	t := new(upcaseTable)
	for u := range t.to {
		t.to[u] = uint16(u)
	}
	return t
}

// compressUpcase stores t in the format of [exFAT] §7.2.5. The recommended
// table has a run only for the longest gaps between scripts, of 843 units and
// more, and writes out those of up to 337; the limit lies anywhere between.
func compressUpcase(t *upcaseTable) []byte {
	b := make([]byte, 0, standardBytes)
	for u := 0; u < upcaseUnits; {
		n := t.identities(u)
		if n >= leastStoredRuns {
			b = binary.LittleEndian.AppendUint16(b, identityRun)
			b = binary.LittleEndian.AppendUint16(b, uint16(n))
			u += n
			continue
		}
		for end := u + max(n, 1); u < end; u++ {
			b = binary.LittleEndian.AppendUint16(b, t.to[u])
		}
	}
	return b
}

// identities is how many units from u on stay as they are, up to what the
// length of a run can say.
func (t *upcaseTable) identities(u int) int {
	n := 0
	for u+n < upcaseUnits && n < identityRun && t.to[u+n] == uint16(u+n) {
		n++
	}
	return n
}

// parseUpcase expands a table as it is stored, compressed or not: [exFAT]
// §7.2.5 has readers take both. Units behind its end stay as they are. Whether
// it is the right table is another question: mandatoryOK.
func parseUpcase(stored []byte) (*upcaseTable, error) {
	switch n := len(stored); {
	case n == 0:
		return nil, fmt.Errorf("the up-case table is empty")
	case n%2 != 0:
		return nil, fmt.Errorf("the up-case table has %d bytes, an odd number", n)
	case n > maxUpcaseBytes:
		return nil, fmt.Errorf("the up-case table has %d bytes, more than %d", n, maxUpcaseBytes)
	}
	t := identityTable()
	u := 0
	for at := 0; at < len(stored); at += 2 {
		v := binary.LittleEndian.Uint16(stored[at:])
		// The last unit is its own upper case, and no run can start there:
		// its entry has the value of the mark and is none.
		if v != identityRun || u == upcaseUnits-1 {
			if u == upcaseUnits {
				return nil, fmt.Errorf("the up-case table goes on at byte %d, behind its last entry", at)
			}
			t.to[u] = v
			u++
			continue
		}
		if at += 2; at == len(stored) {
			return nil, fmt.Errorf("the up-case table ends within a run, at byte %d", at)
		}
		n := int(binary.LittleEndian.Uint16(stored[at:]))
		if n > upcaseUnits-u {
			return nil, fmt.Errorf("the up-case table has a run of %d at entry %d, beyond its last", n, u)
		}
		u += n
	}
	t.entries = u
	return t, nil
}

// fold is the upper case of u.
func (t *upcaseTable) fold(u uint16) uint16 { return t.to[u] }

// hash is the NameHash of a name, [exFAT] §7.6.4 Figure 4: over the bytes of
// its upper case, the low one of each unit first.
func (t *upcaseTable) hash(name []uint16) uint16 {
	var s uint16
	for _, u := range name {
		s = hashUnit(s, t.to[u])
	}
	return s
}

// hashUnit goes on with a NameHash over the upper case of a unit.
func hashUnit(s, u uint16) uint16 {
	s = rotate16(s) + u&0xFF
	return rotate16(s) + u>>8
}

// equalFold reports whether a and b are the same name to the volume.
func (t *upcaseTable) equalFold(a, b []uint16) bool {
	if len(a) != len(b) {
		return false
	}
	for i, u := range a {
		if t.to[u] != t.to[b[i]] {
			return false
		}
	}
	return true
}

// mandatoryOK reports whether the first 128 units map as [exFAT] §7.2.5
// says they must on every volume: the letters a to z, and nothing else.
func (t *upcaseTable) mandatoryOK() bool {
	for u := range uint16(mandatoryUnits) {
		want := u
		if u >= 'a' && u <= 'z' {
			want = u - 'a' + 'A'
		}
		if t.to[u] != want {
			return false
		}
	}
	return true
}
