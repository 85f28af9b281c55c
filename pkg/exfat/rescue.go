package exfat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf16"

	"github.com/fatkit/fatkit/pkg/vol"
)

// filesPerFound is how many files go into one FOUND directory.
const filesPerFound = 65536

// rescue makes a file of each lost chain, and of each run of lost clusters that
// are in none: FOUND.000/FILE0000.CHK and so on, of any number and size. Lost
// directories become entries with all that they lead to.
func (c *checker) rescue(ctx context.Context) error {
	dirs, err := c.findLostDirs(ctx)
	if err != nil {
		return err
	}
	for done := false; ; {
		files, err := c.findLostFiles(ctx)
		if err != nil {
			return err
		}
		files, dirs = append(dirs, files...), nil
		if len(files) == 0 {
			return nil
		}
		for part := range slices.Chunk(files, filesPerFound) {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := c.foundDir(part)
			if done && errors.Is(err, vol.ErrNotNow) {
				return nil // there is no room for the rest: it is found again
			}
			if err != nil {
				return err
			}
			done = true
		}
	}
}

// foundDir makes one FOUND directory with a file for each of files. All the room
// that it takes is found before anything is written.
func (c *checker) foundDir(files []lostFile) error {
	var buf []byte
	for i, f := range files {
		name, attr := fmt.Sprintf("FILE%04d.CHK", i), uint16(attrArchive)
		if f.isDir {
			name, attr = fmt.Sprintf("DIR%05d", i), attrDirectory
		}
		length := uint64(f.n) * uint64(c.g.ClusterSize)
		buf = append(buf, c.newSet(name, attr, f.start, length, f.noFat)...)
	}
	need, _ := c.g.ClustersFor(uint64(len(buf)))
	es, err := c.takeRun(need)
	if err != nil {
		return err
	}
	name, err := c.foundName()
	if err != nil {
		return err
	}
	set := c.newSet(name, attrDirectory, es[0].Start, uint64(need)*uint64(c.g.ClusterSize), len(es) == 1)
	n := int32(len(set) / entryLen)
	slots, err := c.rootRoom(n)
	if err != nil {
		return err
	}
	if err := c.useRootRoom(slots); err != nil {
		return err
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
	for _, f := range files {
		if err := c.claimLost(f); err != nil {
			return err
		}
	}
	return c.eachSlot(0, slots.first, n, func(i int, e entry) { copy(e, set[i*entryLen:]) })
}

// foundName is a name for a FOUND directory that no other entry of the root has.
func (c *checker) foundName() (string, error) {
	ns, err := c.nameSet(0)
	if err != nil {
		return "", err
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("FOUND.%03d", i)
		if u := utf16.Encode([]rune(name)); !ns.Has(u) {
			ns.Add(u)
			return name, nil
		}
	}
}

// newSet is an entry set that a repair makes. Its times are the first day
// there is: when it was made is not known, and a repair is to be the same
// whenever it is run.
func (c *checker) newSet(name string, attr uint16, first uint32, length uint64, noFat bool) []byte {
	const day1 = 1<<21 | 1<<16
	return newEntrySet(c.upcase, utf16.Encode([]rune(name)), setFields{attr: attr, first: first, length: length, valid: length, noFat: noFat, at: stamp{when: day1}})
}
