package fat

import (
	"bytes"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkFatCount asks whether the FATs and the root directory lie where the
// number of FATs puts them. A wrong number moves the root and all data: every
// repair made on top of it would destroy. It is only doubted where a copy does
// not start as a FAT does, or where the root holds no directory.
func (c *checker) checkFatCount(r *vol.Report) error {
	root, err := c.rootLooks(c.g)
	if err != nil || root == rootDirectory || root == rootBlank && c.headsFit(c.g) {
		return err
	}
	field := at(offNumFATs, 1)
	for n := 1; n <= 2; n++ {
		b := bytes.Clone(c.boot)
		b[offNumFATs] = byte(n)
		g, f := parseGeometry(b)
		if n == c.g.Fats || f != nil || g.Type != c.g.Type || !c.headsFit(g) {
			continue
		}
		looks, err := c.rootLooks(g)
		if err != nil {
			return err
		}
		if looks == rootDirectory {
			r.Found(c.found("fat-count-wrong", field, gotWant(c.g.Fats, n)), always(func() error { return c.setField(offNumFATs, 1, uint32(n)) }))
			return vol.ErrStop
		}
	}
	if root == rootOther && c.headsFit(c.g) {
		return nil // the FATs are where they should be: the root is damaged, entry by entry
	}
	r.Found(c.found("fat-count-wrong", field, gotWant(c.g.Fats, nil), offer()), nil)
	return vol.ErrStop
}

// headsFit reports whether every FAT of g starts as one does.
func (c *checker) headsFit(g *Geometry) bool {
	for k := 0; k < g.Fats; k++ {
		one := *g
		one.Reserved += int64(k) * g.FatSectors
		if !fatHeadFits(c.d, &one) {
			return false
		}
	}
	return true
}

// rootKind is what lies in the place of the root directory.
type rootKind int

const (
	rootOther     rootKind = iota // no directory
	rootBlank                     // zeros: an empty root, or any unused place
	rootDirectory                 // entries
)

// rootLooks looks at the first sector of the root directory: up to the end mark
// all slots are free, part of a long name, or entries with names and clusters
// that can be.
func (c *checker) rootLooks(g *Geometry) (rootKind, error) {
	r := dev.Range{Off: g.RootOff(), Len: min(g.RootBytes(), bootSectorLen)}
	if g.Type == FAT32 {
		r = dev.Range{Off: g.ClusterOff(g.RootCluster), Len: bootSectorLen}
	}
	buf := make([]byte, r.Len)
	if err := dev.CheckRange("read", r, c.d.Size()); err != nil {
		return rootOther, nil
	}
	if _, err := c.d.ReadAt(buf, r.Off); err != nil {
		return rootOther, err
	}
	bad, n := 0, 0
	for k := 0; k < len(buf)/entryLen; k++ {
		e := dirEntry(buf[k*entryLen : (k+1)*entryLen])
		if e.isEnd() {
			break
		}
		if n++; !e.isFree() && !plausible(g, e) {
			bad++
		}
	}
	switch {
	case n == 0:
		return rootBlank, nil
	case bad*4 < n: // one odd entry among several is a damaged entry
		return rootDirectory, nil
	default:
		return rootOther, nil
	}
}

func plausible(g *Geometry, e dirEntry) bool {
	if e.isLong() {
		return longSlot(e).ordOK()
	}
	for i, b := range e.name() {
		if b < 0x20 && !(i == 0 && b == entryKanji) {
			return false
		}
	}
	st := e.start(g.Type)
	return st == 0 || g.Valid(st)
}

// checkFewClusters reports a FAT32 that by its cluster count would be a FAT16.
// Where the FAT has entries for more and the space behind the volume is there
// and blank, the volume was cut short by a wrong total, and can have it back.
func (c *checker) checkFewClusters(r *vol.Report) error {
	g := c.g
	fit := min(g.FatBytes()/4-firstCluster, (c.d.Size()-g.DataOff())/g.ClusterSize())
	offers, fix := []string{}, vol.Fix(nil)
	if fit >= maxFAT16 {
		end := g.DataOff() + fit*g.ClusterSize()
		blank, err := c.isBlank(dev.Range{Off: g.VolumeBytes(), Len: end - g.VolumeBytes()})
		if err != nil {
			return err
		}
		if blank {
			blank, err = c.isBlank(dev.Range{Off: g.FatOff(0) + g.entryBytes(), Len: fit*4 + 8 - g.entryBytes()})
		}
		if err != nil {
			return err
		}
		if blank {
			sectors := end / g.SectorSize
			offers, fix = []string{fixGrow}, always(func() error { return c.setTotal(sectors) })
		}
	}
	r.Found(c.found("few-clusters", at(offTotSec32, 4), gotWant(g.Clusters, "65525 or more"), offer(offers...)), fix)
	return nil
}

// isBlank reports whether r reads as zeros. Holes are not read.
func (c *checker) isBlank(r dev.Range) (bool, error) {
	buf := make([]byte, 64<<10)
	for off := r.Off; off < r.End(); {
		data := c.d.NextData(off)
		if data.Empty() || data.Off >= r.End() {
			return true, nil
		}
		off = max(off, data.Off)
		n := min(int64(len(buf)), r.End()-off, data.End()-off)
		if _, err := c.d.ReadAt(buf[:n], off); err != nil {
			return false, err
		}
		if !allZero(buf[:n]) {
			return false, nil
		}
		off += n
	}
	return true, nil
}

// allZero reports whether b holds zeros alone.
func allZero(b []byte) bool {
	return len(b) == 0 || b[0] == 0 && bytes.Equal(b[1:], b[:len(b)-1])
}
