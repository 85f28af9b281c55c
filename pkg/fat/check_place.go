package fat

import (
	"bytes"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkPlace asks whether the FATs, the root directory and what it leads to lie
// where the boot sector says. Every repair made on top of a wrong boot sector
// would destroy; so this comes before all others, and where nothing is in its
// place it ends the check.
func (c *checker) checkPlace(r *vol.Report) error {
	g := c.g
	if first := g.DataOff(); first > c.d.Size() {
		r.Found(c.cat.Found("fat-beyond-device", vol.At(offTotSec32, 4),
			vol.Detail("the data area starts at byte %d of a volume of %d, but there are only %d bytes", first, g.VolumeBytes(), c.d.Size())), nil)
		return vol.ErrStop
	}
	root, err := c.rootLooks(g)
	if err != nil {
		return err
	}
	if root == rootDirectory {
		good, bad, err := c.subdirectories(g)
		if err != nil {
			return err
		}
		if good > 0 {
			return nil
		}
		if n, err := c.otherRootCount(g); err != nil {
			return err
		} else if n > 0 {
			r.Found(c.cat.Found("root-count-wrong", vol.At(offRootEntCnt, 2), vol.GotWant(g.RootEntries, n)),
				vol.Always(func() error { return c.setField(offRootEntCnt, 2, uint32(n)) }))
			return vol.ErrStop
		}
		if bad > 1 || bad == 1 && g.claimed > int64(g.Clusters) {
			return c.doubtful(r, "none of the directories in the root is there")
		}
		return nil
	}
	heads := c.headsFit(g)
	if root == rootBlank && heads {
		return nil
	}
	if n, err := c.otherFatCount(c.boot); err != nil {
		return err
	} else if n > 0 {
		c.wrongFatCount(r, int(c.boot.u8(offNumFATs)), n)
		return vol.ErrStop
	}
	if heads {
		return nil // the FATs are in place: the root is damaged, which the walk will judge
	}
	return c.doubtful(r, "neither the FATs nor the root directory are there")
}

func (c *checker) doubtful(r *vol.Report, why string) error {
	r.Found(c.cat.Found("layout-doubtful", vol.At(0, bootSectorLen), vol.Detail("%s", why)), nil)
	return vol.ErrStop
}

func (c *checker) wrongFatCount(r *vol.Report, got, want int) {
	r.Found(c.cat.Found("fat-count-wrong", vol.At(offNumFATs, 1), vol.GotWant(got, want)),
		vol.Always(func() error { return c.setField(offNumFATs, 1, uint32(want)) }))
}

// otherFatCount is another number of FATs with which they and the root are in
// place, or 0. A wrong number moves the root and all data.
func (c *checker) otherFatCount(boot bootSector) (int, error) {
	for n := 1; n <= 2; n++ {
		b := bytes.Clone(boot)
		b[offNumFATs] = byte(n)
		g, f := parseGeometry(b)
		if byte(n) == boot[offNumFATs] || f != nil || c.g != nil && g.Type != c.g.Type || !c.headsFit(g) {
			continue
		}
		looks, err := c.rootLooks(g)
		if err != nil || looks == rootDirectory {
			return n, err
		}
	}
	return 0, nil
}

// same reports whether all lies in the same places with o.
func (g *Geometry) same(o *Geometry) bool {
	return g.Type == o.Type && g.SectorSize == o.SectorSize && g.SectorsPerCluster == o.SectorsPerCluster &&
		g.Reserved == o.Reserved && g.Fats == o.Fats && g.FatSectors == o.FatSectors &&
		g.RootCluster == o.RootCluster && g.TotalSectors == o.TotalSectors
}

// better reports whether more is in place with the geometry a than with b.
func (c *checker) better(a, b *Geometry) (bool, error) {
	x, err := c.inPlace(a)
	if err != nil {
		return false, err
	}
	y, err := c.inPlace(b)
	return x > y, err
}

// inPlace weighs what is where g says.
func (c *checker) inPlace(g *Geometry) (n int, err error) {
	if g.DataOff() > c.d.Size() {
		return 0, nil
	}
	root, err := c.rootLooks(g)
	if err != nil {
		return 0, err
	}
	n += int(root)
	if c.headsFit(g) {
		n += 4
	}
	if g.VolumeBytes() <= c.d.Size() {
		n++
	}
	if g.claimed <= int64(g.Clusters) {
		n++
	}
	tail, err := c.tailEntry(g, g.ActiveFat)
	if err != nil || tail < 0 {
		n++
	}
	good, bad, err := c.subdirectories(g)
	return n + min(good, 4) - min(bad, 4), err
}

// headsFit reports whether every FAT of g is in its place: it starts as one does,
// or as another of them does that is.
func (c *checker) headsFit(g *Geometry) bool {
	good := -1
	for k := range g.Fats {
		if c.headFits(g, k) {
			good = k
			break
		}
	}
	if good < 0 {
		return false
	}
	for k := range g.Fats {
		if k != good && !c.headFits(g, k) && !c.fatsAlike(g, good, k) {
			return false
		}
	}
	return true
}

// headFits reports whether FAT k of g starts with the media byte, or with
// another that can be and a byte of ones.
func (c *checker) headFits(g *Geometry, k int) bool {
	var head [2]byte
	if _, err := c.d.ReadAt(head[:], g.FatOff(k)); err != nil {
		return false
	}
	return mediaOK(head[0]) && (head[0] == g.Media || head[1] == 0xFF)
}

// fatsAlike reports whether the first sectors of two FATs hold mostly the same:
// then the damage is in one of them, and not in where they are looked for. Of a
// copy that is in another place hardly an entry would agree.
func (c *checker) fatsAlike(g *Geometry, a, b int) bool {
	x, y := make([]byte, bootSectorLen), make([]byte, bootSectorLen)
	if _, err := c.d.ReadAt(x, g.FatOff(a)); err != nil {
		return false
	}
	if _, err := c.d.ReadAt(y, g.FatOff(b)); err != nil {
		return false
	}
	same, used := 0, 0
	for i := range x {
		if x[i]|y[i] != 0 {
			used++
			if x[i] == y[i] {
				same++
			}
		}
	}
	return same*2 > used
}

// mediaOK: [FAT] BPB_Media.
func mediaOK(m byte) bool { return m == 0xF0 || m >= 0xF8 }

// rootKind is what lies in the place of a directory.
type rootKind int

const (
	rootOther     rootKind = iota // no directory
	rootBlank                     // zeros: an empty root, or any unused place
	rootDirectory                 // entries
)

// rootPlace is where the root directory begins, and how long that piece is.
func (g *Geometry) rootPlace() dev.Range {
	if g.Type == FAT32 {
		return g.ClusterRange(g.RootCluster, 1)
	}
	return dev.Range{Off: g.RootOff(), Len: g.RootBytes()}
}

// rootLooks looks at the first sector of the root directory. One that starts
// with a dot entry is another directory.
func (c *checker) rootLooks(g *Geometry) (rootKind, error) {
	buf, err := c.readSome(g.rootPlace(), bootSectorLen)
	if err != nil || buf == nil {
		return rootOther, err
	}
	if string(dirEntry(buf).name()) == dotName {
		return rootOther, nil
	}
	return looksLike(g, c.cp, buf), nil
}

// readSome reads the first bytes of r, at most n; nil where they are not there.
func (c *checker) readSome(r dev.Range, n int64) ([]byte, error) {
	r.Len = min(r.Len, n)
	if dev.CheckRange("read", r, c.d.Size()) != nil || r.Len < entryLen {
		return nil, nil
	}
	buf := make([]byte, r.Len)
	_, err := c.d.ReadAt(buf, r.Off)
	return buf, err
}

// looksLike judges slots: up to the end mark all are free, part of a long name,
// or entries with names and clusters that can be.
func looksLike(g *Geometry, cp codepage, buf []byte) rootKind {
	n, bad := tally(g, cp, buf)
	switch {
	case n == 0:
		return rootBlank
	case bad*4 < n: // one odd entry among several is a damaged entry
		return rootDirectory
	default:
		return rootOther
	}
}

// tally counts the slots up to the end mark, and those of them that cannot be.
func tally(g *Geometry, cp codepage, buf []byte) (n, bad int) {
	for k := range len(buf) / entryLen {
		e := dirEntry(buf[k*entryLen : (k+1)*entryLen])
		if e.isEnd() {
			break
		}
		if n++; !e.isFree() && (e.isLong() && !longSlot(e).ordOK() || !e.isLong() && odd(g, cp, e, plainShort(e.name()))) {
			bad++
		}
	}
	return n, bad
}

// rootDirs are the first clusters of some directories in the root.
func (c *checker) rootDirs(g *Geometry) ([]uint32, error) {
	const (
		most  = 16
		slots = 4096 / entryLen
	)
	root, err := c.readSome(g.rootPlace(), slots*entryLen)
	if err != nil {
		return nil, err
	}
	var out []uint32
	for k := 0; k < len(root)/entryLen && len(out) < most; k++ {
		e := dirEntry(root[k*entryLen : (k+1)*entryLen])
		if e.isEnd() {
			break
		}
		if st := e.start(g.Type); !e.isFree() && e.isDir() && e[0] != '.' && g.Valid(st) {
			out = append(out, st)
		}
	}
	return out, nil
}

// subdirectories looks at some directories in the root: good ones name their
// own cluster in their first slot, bad ones name another or hold no entries, not
// even blank ones. Directories without dot entries exist, and say nothing.
func (c *checker) subdirectories(g *Geometry) (good, bad int, err error) {
	dirs, err := c.rootDirs(g)
	if err != nil {
		return 0, 0, err
	}
	for _, st := range dirs {
		buf, err := c.readSome(g.ClusterRange(st, 1), bootSectorLen)
		if err != nil {
			return 0, 0, err
		}
		switch {
		case buf == nil:
			bad++
		case namesItself(g, buf, st):
			good++
		case string(dirEntry(buf).name()) == dotName || looksLike(g, c.cp, buf) != rootDirectory:
			bad++
		}
	}
	return good, bad, nil
}

// namesItself reports whether slots are those of a directory in cluster st.
func namesItself(g *Geometry, slots []byte, st uint32) bool {
	e := dirEntry(slots)
	return string(e.name()) == dotName && e.isDir() && e.start(g.Type) == st
}

// otherRootCount is another number of entries of a fixed root with which most
// directories in it are in place, at least half of them, or 0: a wrong number
// moves all data. It fills whole sectors, as [FAT] BPB_RootEntCnt asks for.
func (c *checker) otherRootCount(g *Geometry) (int64, error) {
	if g.Type == FAT32 {
		return 0, nil
	}
	dirs, err := c.rootDirs(g)
	if err != nil || len(dirs) == 0 {
		return 0, err
	}
	other := *g
	best, most := int64(0), 0
	for other.RootEntries = g.SectorSize / entryLen; other.RootEntries <= 0xFFFF; other.RootEntries += g.SectorSize / entryLen {
		fits := 0
		for _, st := range dirs {
			buf, err := c.readSome(other.ClusterRange(st, 1), entryLen)
			if err != nil {
				return 0, err
			}
			if buf != nil && namesItself(g, buf, st) {
				fits++
			}
		}
		if fits*2 >= len(dirs) && fits > most {
			best, most = other.RootEntries, fits
		}
	}
	return best, nil
}
