package exfat

import (
	"bytes"
	"encoding/binary"

	"github.com/google/uuid"
)

// rootEntries are the entries of a new root directory. The label comes first,
// in a slot that is kept for one where there is none, so that a label given
// later need not move anything: [exFAT] §7.3 allows a volume without one, and
// a type without the bit for "in use" is an unused slot (§6.2.1).
func (r *formatRequest) rootEntries(l *layout, table []byte) []byte {
	b := make([]byte, 0, 4*entryLen)
	add := func(kind byte) entry {
		b = b[:len(b)+entryLen]
		e := entry(b[len(b)-entryLen:])
		e[0] = kind
		return e
	}
	if len(r.label) > 0 {
		e := add(typeLabel)
		e[offLabelCount] = byte(len(r.label))
		for i, u := range r.label {
			e.put16(offLabel+2*i, u)
		}
	} else {
		add(typeLabel &^ typeInUse)
	}
	add(typeBitmap).put(firstCluster, uint64(l.BitmapBytes())) // BitmapFlags 0: the first, §7.1.2.1
	e := add(typeUpcase)
	e.put32(offTableChecksum, tableChecksum(table))
	e.put(l.upcaseStart(), uint64(len(table)))
	if r.guid != uuid.Nil {
		e := add(typeGUID) // without secondary entries and flags, §7.5.2 and §7.5.4
		id := swapGUID(r.guid)
		copy(e[offGUID:], id[:])
		e.put16(offSetChecksum, setChecksum(e))
	}
	return b
}

// chains are the FAT entries that a new volume has: the two that belong to no
// cluster, [exFAT] §4.1.1 and §4.1.2, and the chains of bitmap, up-case table
// and root directory, which the heap begins with.
func (l *layout) chains() []byte {
	b := make([]byte, 0, 4*(firstCluster+int64(l.used())))
	b = binary.LittleEndian.AppendUint32(b, fatMedia)
	b = binary.LittleEndian.AppendUint32(b, fatOnes)
	next := uint32(firstCluster)
	for _, n := range []uint32{l.bitmap, l.upcase, rootClusters} {
		for range n - 1 {
			next++
			b = binary.LittleEndian.AppendUint32(b, next)
		}
		next++
		b = binary.LittleEndian.AppendUint32(b, fatEOC)
	}
	return b
}

// usedBits is the head of the bitmap: the clusters that are in use are the
// first ones. All behind it is zero, also what lies behind the last cluster,
// [exFAT] §7.1.5.
func (l *layout) usedBits() []byte {
	n := l.used()
	b := bytes.Repeat([]byte{0xFF}, int(n/8))
	if n%8 != 0 {
		b = append(b, 1<<(n%8)-1)
	}
	return b
}
