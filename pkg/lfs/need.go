package lfs

import (
	"maps"
	"path"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// maxFileBytes is the size that every file can have, on the smallest blocks:
// what the nodes beside the inode lead to. [Linux] behaviour max_file_blocks().
func maxFileBytes() int64 {
	per := int64(blockSize(minBlock).nodeSlots())
	return (2*per + 2*per*per + per*per*per) * minBlock
}

// inlineBytes is the room for data or entries in an inode that is made on a
// volume with some features, and words how many that is with those kept back.
func inlineBytes(features uint32) (words, inline int) {
	words = blockSize(minBlock).inodeSlots() - defaultXattrWords - extraLen(features)/4
	return words, 4 * (words - inlineReserved)
}

// surelyInline is the size up to which a file has its contents in its inode,
// whatever the features.
func surelyInline() int64 {
	_, n := inlineBytes(featKnown)
	return int64(n)
}

// estimate counts the blocks that entries take, as Put takes them.
type estimate struct {
	g      *Geometry
	inline int // bytes of an inode for data and entries
	direct uint64
	per    uint64
	data   uint64
	nodes  uint64
	dirs   map[string]*estimatedDir
	ids    [quotaKinds]map[uint32]bool
}

// estimatedDir is how full a directory is: in its inode, or page by page.
type estimatedDir struct {
	slots int
	pages map[uint64]int
	first uint64 // pages that the format made
}

// need is Driver.Need.
func need(p *vol.Plan, _ vol.ReadOptions, entries []vol.Entry) (uint64, error) {
	g, owner, err := plannedGeometry(p)
	if err != nil {
		return 0, err
	}
	if g.BlockSize != minBlock {
		return 0, vol.Refusef("blocks have %d bytes: this version fills volumes with blocks of %d", g.BlockSize, minBlock)
	}
	c := &estimate{g: g, per: uint64(g.per().nodeSlots()), dirs: map[string]*estimatedDir{}}
	words, inline := inlineBytes(g.Features)
	c.direct, c.inline = uint64(words), inline
	root := &estimatedDir{pages: map[uint64]int{0: 2}, first: 1}
	if g.Has(featLostFound) {
		root.pages[0] += nameSlots(len(lostName))
	}
	c.dirs[""] = root
	for kind, id := range owner {
		c.ids[kind] = map[uint32]bool{id: true}
	}
	var last string
	dir := root
	for i := range entries {
		e := &entries[i]
		if err := c.entry(e); err != nil {
			return 0, vol.EntryError(e, "%w", err)
		}
		if e.Path == "" {
			continue
		}
		if parent := vol.Parent(e.Path); parent != last {
			last = parent
			if dir = c.dirs[parent]; dir == nil { // made on the way
				dir = &estimatedDir{slots: 2}
				c.dirs[parent] = dir
				c.nodes++
			}
		}
		c.name(dir, path.Base(e.Path))
	}
	for _, d := range c.dirs {
		c.directory(d)
	}
	c.quotas()
	if g.ReadOnly() {
		return c.sections(), nil
	}
	return c.data + c.nodes, nil
}

// sections is how many blocks must be free on a volume with two logs, each of
// which takes whole sections: beside what is counted there is what the format
// made and what is made anew of that, and a checkpoint must say where each log
// goes on.
func (c *estimate) sections() uint64 {
	inodes := uint64(c.g.newInodes())
	data := uint64(0)
	for ino := range c.g.QuotaInos {
		if c.g.QuotaInos[ino] != 0 {
			data += uint64(vol.DivUp(newQuotaBytes, c.g.BlockSize))
		}
	}
	data++ // of the root directory
	if c.g.Has(featLostFound) {
		data++
	}
	perSection := uint64(c.g.SegsPerSec) * segmentBlocks
	take := func(n uint64) uint64 { return (n/perSection + 1) * perSection }
	return take(c.data+2*data) + take(c.nodes+2*inodes) - data - inodes
}

// plannedGeometry is that of a planned volume, and whom its root belongs to.
func plannedGeometry(p *vol.Plan) (g *Geometry, owner [quotaKinds]uint32, err error) {
	for _, s := range p.Steps {
		if s.Phase == vol.Head && s.Off == 0 && len(s.Data) >= superOffset+superLen {
			var f *fault
			if g, f = parseSuperblock(s.Data[superOffset:][:superLen]); f != nil {
				return nil, owner, f
			}
		}
	}
	if g == nil {
		return nil, owner, vol.Usagef("the plan is of no F2FS volume")
	}
	for _, s := range p.Steps {
		if int64(len(s.Data)) >= g.BlockSize && s.Off >= g.BlockOff(g.Main) {
			if n := nodeBlock(s.Data[:g.BlockSize]); n.nid() == rootIno && n.isInode() {
				owner = n.ids()
			}
		}
	}
	return g, owner, nil
}

// entry counts what an entry takes beside its name.
func (c *estimate) entry(e *vol.Entry) error {
	if e.Same >= 0 && e.Path != "" {
		return nil
	}
	c.ids[userQuota][e.UID], c.ids[groupQuota][e.GID] = true, true
	if len(e.Xattrs) > 0 {
		list, err := xattrBytes(e.Kind, e.Xattrs)
		if err != nil {
			return err
		}
		inside := 4 * defaultXattrWords
		if e.Path == "" {
			inside = 0 // the inode that the format makes has no room for them
		}
		if most := inside + int(c.g.BlockSize) - footerLen; len(list) > most {
			return vol.Refusef("its extended attributes take %d bytes; F2FS has room for %d", len(list), most)
		}
		if len(list) > inside {
			c.nodes++
		}
	}
	if e.Path == "" {
		return nil
	}
	c.nodes++
	switch e.Kind {
	case vol.KindDir:
		if c.dirs[e.Path] == nil {
			c.dirs[e.Path] = &estimatedDir{slots: 2}
		}
	case vol.KindSymlink:
		if len(e.Link) > c.inline {
			c.data++
		}
	case vol.KindFile:
		if e.Size > int64(c.inline) {
			c.file(e)
		}
	}
	return nil
}

// file counts the blocks of a file and the nodes that lead to them.
func (c *estimate) file(e *vol.Entry) {
	bs := c.g.BlockSize
	t := pageTally{direct: c.direct, per: c.per}
	data := e.Data
	if data == nil {
		data = []dev.Range{{Len: e.Size}}
	}
	next := uint64(0)
	for _, r := range data {
		from, to := max(next, uint64(r.Off/bs)), uint64(vol.DivUp(r.End(), bs))
		if from < to && !r.Empty() {
			t.add(from, to)
			next = to
		}
	}
	c.add(&t, 0)
}

// add counts pages but for some that are there already, and their nodes.
func (c *estimate) add(t *pageTally, there uint64) {
	c.data += t.pages - there
	c.nodes += t.nodes()
}

// pageTally counts pages in rising order, and the nodes that lead to them.
type pageTally struct {
	direct, per uint64 // pages of the inode, and of a node
	pages       uint64
	leaves      uint64 // direct nodes
	inner       uint64
	last        uint64 // direct node that was counted last, and 1
	lastInner   uint64
}

func (t *pageTally) add(from, to uint64) {
	t.pages += to - from
	if to <= t.direct {
		return
	}
	first := (max(from, t.direct) - t.direct) / t.per
	end := (to-1-t.direct)/t.per + 1
	if first = max(first, t.last); first >= end {
		return
	}
	t.leaves += end - first
	t.last = end
	if end <= 2 {
		return
	}
	// Indirect nodes in their order: two, and those below the double one.
	firstInner, endInner := (max(first, 2)-2)/t.per, (end-3)/t.per+1
	if firstInner = max(firstInner, t.lastInner); firstInner < endInner {
		t.inner += endInner - firstInner
		t.lastInner = endInner
	}
}

func (t *pageTally) nodes() uint64 {
	n := t.leaves + t.inner
	if t.lastInner > 2 {
		n++
	}
	return n
}

// name counts an entry of a directory, as folder.add places it.
func (c *estimate) name(d *estimatedDir, name string) {
	b := []byte(name)
	n := nameSlots(min(len(b), maxNameLen))
	if d.pages == nil {
		if d.slots+n <= newDentryShape(c.inline).slots {
			d.slots += n
			return
		}
		d.pages = map[uint64]int{0: d.slots}
	}
	hash := nameHash(b)
	room := newDentryShape(int(c.g.BlockSize)).slots
	for _, page := range bucketPages(maxDirDepth, 0, hash) {
		if used := d.pages[page]; used+n <= room {
			d.pages[page] = used + n
			return
		}
	}
}

// directory counts the blocks of a directory, and the nodes that lead to them.
func (c *estimate) directory(d *estimatedDir) {
	if d.pages == nil {
		return
	}
	direct := c.direct
	if d.first > 0 {
		direct += defaultXattrWords // the format keeps no room for attributes there
	}
	t := pageTally{direct: direct, per: c.per}
	for _, page := range slices.Sorted(maps.Keys(d.pages)) {
		t.add(page, page+1)
	}
	c.add(&t, d.first)
}

// quotas counts what the quota files grow by: a record for each owner, and the
// blocks of the tree that lead to it.
func (c *estimate) quotas() {
	for kind, ino := range c.g.QuotaInos {
		if ino == 0 {
			continue
		}
		trees := map[uint64]bool{}
		for id := range c.ids[kind] {
			for level := 1; level < quotaDepth; level++ {
				trees[uint64(level)<<32|uint64(id>>(8*(quotaDepth-level)))] = true
			}
		}
		small := uint64(2+len(trees)) + (uint64(len(c.ids[kind]))+quotaLeafRecords-1)/quotaLeafRecords
		old := uint64(vol.DivUp(newQuotaBytes, c.g.BlockSize))
		if pages := c.g.pages(int64(small * quotaBlock)); pages > old {
			t := pageTally{direct: c.direct, per: c.per}
			t.add(0, pages)
			c.add(&t, old)
		}
	}
}
