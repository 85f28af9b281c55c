package exfat

import (
	"context"
	"fmt"
	"unicode/utf16"

	"github.com/fatkit/fatkit/pkg/space"
)

// filesPerFound is how many files go into one FOUND directory.
const filesPerFound = 65536

// rescue makes a file of each run of lost clusters: FOUND.000/FILE0000.CHK and
// so on. A run has no FAT chain that could be believed, so the files are
// contiguous, of any size.
func (c *checker) rescue(ctx context.Context, runs []space.Extent) error {
	for n := 0; len(runs) > 0; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := min(len(runs), filesPerFound)
		if err := c.foundDir(runs[:k]); err != nil {
			return err
		}
		runs = runs[k:]
	}
	return nil
}

// foundDir makes one FOUND directory with a file for each run.
func (c *checker) foundDir(runs []space.Extent) error {
	var buf []byte
	for i, e := range runs {
		length := uint64(e.Len) * uint64(c.g.ClusterSize)
		buf = append(buf, c.newSet(fmt.Sprintf("FILE%04d.CHK", i), attrArchive, e.Start, length, true)...)
	}
	need, _ := c.g.ClustersFor(uint64(len(buf)))
	es, err := c.takeRoom(max(1, need))
	if err != nil {
		return err
	}
	ns, err := c.nameSet(0)
	if err != nil {
		return err
	}
	name := ""
	for i := 0; name == ""; i++ {
		if n := fmt.Sprintf("FOUND.%03d", i); !ns.Has(utf16.Encode([]rune(n))) {
			name = n
			ns.Add(utf16.Encode([]rune(n)))
		}
	}
	if err := c.markAll(es, true); err != nil {
		return err
	}
	if err := c.tab.link(es); err != nil {
		return err
	}
	if err := c.writeExtents(es, buf); err != nil {
		return err
	}
	set := c.newSet(name, attrDirectory, es[0].Start, uint64(max(1, need))*uint64(c.g.ClusterSize), len(es) == 1)
	slot, err := c.rootSlots(int32(len(set) / entryLen))
	if err != nil {
		return err
	}
	return c.eachSlot(0, slot, int32(len(set)/entryLen), func(i int, e entry) { copy(e, set[i*entryLen:]) })
}

// newSet is an entry set that a repair makes. Its times are the first day
// there is: when it was made is not known, and a repair is to be the same
// whenever it is run.
func (c *checker) newSet(name string, attr uint16, first uint32, length uint64, noFat bool) []byte {
	const day1 = 1<<21 | 1<<16
	u := utf16.Encode([]rune(name))
	set := make([]byte, (2+int(need(len(u))))*entryLen)
	e := entry(set)
	e[0], e[offSecondaryCount] = typeFile, byte(1+need(len(u)))
	e.put16(offAttributes, attr)
	for _, off := range []int{offCreate, offModify, offAccess} {
		e.put32(off, day1)
	}
	e[offCreateUTC], e[offModifyUTC], e[offAccessUTC] = 0x80, 0x80, 0x80
	st := streamOf(set)
	st[0], st[offSecFlags] = typeStream, secAllocPossible
	if noFat {
		st[offSecFlags] |= secNoFatChain
	}
	st.put(first, length)
	st.put64(offValidLength, length)
	for k := 2; k*entryLen < len(set); k++ {
		set[k*entryLen] = typeName
	}
	putUnits(set, u)
	c.rehash(set)
	e.put16(offSetChecksum, setChecksum(set))
	return set
}
