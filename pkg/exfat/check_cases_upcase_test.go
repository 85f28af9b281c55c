package exfat

import "encoding/binary"

// tableOf is the first n entries of the standard table, not compressed.
func tableOf(n int) (b []byte) {
	for _, u := range standardTable().to[:n] {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// setTable gives the volume another up-case table, in the clusters of the old one
// and as many more as it needs.
func (l *lab) setTable(b []byte) {
	e := l.special(0x82)
	cs, err := l.chain(l.get32(e + 20))
	must(l.t, err)
	n := int(l.need(uint64(len(b))))
	for i := 0; len(cs) < n; i++ {
		cs = append(cs, l.spare(i))
	}
	for _, c := range cs[n:] {
		l.setFAT(c, 0)
		l.bit(c, false)
	}
	l.chainUp(cs[:n])
	for i, c := range cs[:n] {
		l.put(l.offset(c), b[i*int(l.cluster):min(len(b), (i+1)*int(l.cluster))]...)
	}
	l.put32(e+4, sumOfTable(b))
	l.put64(e+24, uint64(len(b)))
}

// stored is the up-case table of the volume.
func (l *lab) stored() (b []byte) {
	e := l.special(0x82)
	cs, err := l.chain(l.get32(e + 20))
	must(l.t, err)
	for _, c := range cs {
		b = append(b, l.read(l.offset(c), l.cluster)...)
	}
	b = b[:l.get64(e+24)]
	if sum := l.get32(e + 4); sum != sumOfTable(b) {
		l.t.Errorf("the table's checksum is %#x", sum)
	}
	return b
}

// upcaseInjuries are tables that are right as far as they go.
func upcaseInjuries() []injury {
	const umlaut = "/A rather long name with ä.bin"
	short := func(name, fix string, entries func(l *lab) int) injury {
		tableFor := func(l *lab) *upcaseTable {
			t := standardTable()
			for u := entries(l); fix == fixSet && u < upcaseUnits; u++ {
				t.to[u] = uint16(u)
			}
			return t
		}
		return injury{slug: "upcase-short", name: name, fix: fix, peer: "it knows the standard table alone", hit: func(l *lab) spot {
			l.setTable(tableOf(entries(l)))
			l.redo(umlaut, func(b []byte) {
				hash := tableFor(l).hash(entrySet(b).units(nil))
				b[36], b[37] = byte(hash), byte(hash>>8)
			})
			return spot{path: "/", off: l.special(0x82)}
		}, then: func(l *lab, _ *reader) {
			got, err := parseUpcase(l.stored())
			must(l.t, err)
			if got.entries != upcaseUnits || got.to != tableFor(l).to {
				l.t.Errorf("the table has %d entries, or others than it should", got.entries)
			}
		}}
	}
	of := func(n int) func(*lab) int { return func(*lab) int { return n } }
	return []injury{
		short("128 entries", fixSet, of(128)),
		short("a cluster is full", fixSet, func(l *lab) int { return int(l.cluster) / 2 }),
		short("all but the last", fixSet, of(upcaseUnits-1)),
		short("all but two", fixSet, of(upcaseUnits-2)),
		short("names of the standard table", fixRestore, of(128)),
	}
}
