package fat

import (
	"context"
	"fmt"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// filesPerFound is how many files go into one FOUND directory: what fits into
// 65536 slots beside the dot entries.
const filesPerFound = maxDirEntries - 2

// rescue makes a file of each lost chain: FOUND.000/FILE0000.CHK and so on, as
// Windows names them. Chains that run into another or come back to themselves
// are ended there.
func (c *checker) rescue(ctx context.Context, lost *lostChains) error {
	chains, err := c.lostFiles(ctx, lost)
	if err != nil {
		return err
	}
	p := &linkRepair{c: c}
	for n := 0; len(chains) > 0; n++ {
		k := min(len(chains), filesPerFound)
		if err := c.foundDir(p, chains[:k]); err != nil {
			return err
		}
		chains = chains[k:]
	}
	return nil
}

// lostFile is a chain to be made a file of.
type lostFile struct{ head, n uint32 }

// lostFiles walks the lost chains, heads first, then what is left: cycles,
// which have no head. Each cluster ends up in one chain.
func (c *checker) lostFiles(ctx context.Context, l *lostChains) ([]lostFile, error) {
	seen := space.NewMap(c.g.Clusters)
	var out []lostFile
	add := func(head uint32) error {
		f, err := c.lostFile(l, seen, head)
		if f.n > 0 {
			out = append(out, f)
		}
		return err
	}
	for _, h := range l.heads {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := add(h); err != nil {
			return nil, err
		}
	}
	err := l.each(func(cl uint32) error {
		if seen.Used(cl - firstCluster) {
			return nil
		}
		return add(cl)
	})
	return out, err
}

// lostFile claims the chain from head on for one file and ends it where it
// leaves the lost clusters or meets one that is taken.
func (c *checker) lostFile(l *lostChains, seen *space.Map, head uint32) (lostFile, error) {
	f := lostFile{head: head}
	last := uint32(0)
	for cl := head; ; {
		if !l.has(cl) || !seen.SetNew(cl-firstCluster) {
			break
		}
		v, err := c.walk.tab.get(cl)
		if err != nil {
			return f, err
		}
		f.n++
		last = cl
		if isEOC(v) {
			return f, nil
		}
		cl = v
	}
	if last == 0 {
		return f, nil
	}
	return f, c.walk.tab.set(last, entryLast)
}

// foundDir makes one FOUND directory with the files.
func (c *checker) foundDir(p *linkRepair, files []lostFile) error {
	slots := uint32(len(files) + 2)
	per := uint32(c.g.ClusterSize() / entryLen)
	es, err := p.allocator().Alloc(nil, space.Request{Units: (slots + per - 1) / per})
	if err != nil {
		return vol.ErrNotNow
	}
	start := es[0].Start + firstCluster
	if err := c.addToRoot(p, start); err != nil {
		return err
	}
	if err := c.walk.tab.setRuns(linkExtents(es)); err != nil {
		return err
	}
	buf := c.foundEntries(start, files)
	for _, e := range es {
		r := c.g.ClusterRange(e.Start+firstCluster, e.Len)
		part := make([]byte, r.Len)
		buf = buf[copy(part, buf):]
		if _, err := c.d.WriteAt(part, r.Off); err != nil {
			return err
		}
	}
	return nil
}

// foundEntries are the slots of a FOUND directory.
func (c *checker) foundEntries(start uint32, files []lostFile) []byte {
	buf := make([]byte, 0, (len(files)+2)*entryLen)
	buf = append(buf, repairEntry(c.g.Type, dotName, attrDirectory, start, 0)...)
	buf = append(buf, repairEntry(c.g.Type, dotdotName, attrDirectory, 0, 0)...)
	for i, f := range files {
		size := min(int64(f.n)*c.g.ClusterSize(), maxFileSize)
		name := fmt.Sprintf("FILE%04dCHK", i)
		if i > 9999 {
			name = fmt.Sprintf("FIL%05dCHK", i)
		}
		buf = append(buf, repairEntry(c.g.Type, name, attrArchive, f.head, uint32(size))...)
	}
	return buf
}

// repairEntry is an entry that a repair makes. Its times are the first day
// there is: when it was made is not known, and a repair is to be the same
// whenever it is run.
func repairEntry(t Type, name string, attr byte, start, size uint32) dirEntry {
	const day1 = 1<<5 | 1
	e := newEntry([11]byte([]byte(name)), 0, attr, stamp{date: day1})
	e.setStart(t, start)
	e.setSize(size)
	return e
}

// addToRoot enters FOUND.nnn, with the first number that is free, into the
// root directory, which grows by a cluster where it is full and can.
func (c *checker) addToRoot(p *linkRepair, start uint32) error {
	ns, err := c.names(0)
	if err != nil {
		return err
	}
	name := ""
	for i := 0; name == ""; i++ {
		if i > 999 {
			return vol.ErrNotNow
		}
		n := fmt.Sprintf("FOUND   %03d", i)
		if key := foldKey(shortUnits([]byte(n), nil)); !ns.have[key] {
			name, ns.have[key] = n, true
		}
	}
	buf, err := c.walk.read(0)
	if err != nil {
		return err
	}
	slot := 0
	for ; slot*entryLen < len(buf); slot++ {
		if e := dirEntry(buf[slot*entryLen:]); e.isEnd() || e.isFree() {
			break
		}
	}
	if slot*entryLen == len(buf) {
		if err := c.growDir(p, 0); err != nil {
			return err
		}
	}
	_, err = c.d.WriteAt(repairEntry(c.g.Type, name, attrDirectory, start, 0), c.walk.slotOff(0, slot))
	return err
}
