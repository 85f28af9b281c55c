package lfs

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkTables loads SIT and NAT.
func (c *checker) checkTables(ctx context.Context, r *vol.Report) error {
	bits, err := c.s.readNATBits(c.d)
	if err != nil {
		return err
	}
	c.s.natBits = bits
	t, stats, err := c.s.loadTables(ctx, c.d, 0)
	if err != nil {
		return err
	}
	c.sit = t.sit
	c.stats.BytesRead += stats.Bytes
	for _, f := range c.sit.bad {
		r.Found(c.cat.Found(f.slug, c.sitAt(f.segno, sitLen), vol.Detail("segment %d", f.segno), vol.GotWant(f.got, f.want)), c.segmentFix(f))
	}
	c.walk = newWalk(ctx, c.d, c.s, c.sit, c.sb.uuid())
	c.walk.workers = c.o.Workers
	c.reservedNodes(t.nodes)
	c.walk.index.nodes = c.takeNodes(t.nodes)
	c.checkNATBits(r, t.badBits)
	c.checkJournals(r)
	return c.checkEntries(r)
}

// sitAt is where the first n bytes of the SIT entry of a segment are.
func (c *checker) sitAt(segno uint32, n int64) vol.Location {
	index, slot := c.g.SITIndex(segno)
	off := c.g.BlockOff(c.g.SITAddr(index, testMSB(c.s.sitVersions, index))) + int64(slot)*sitLen
	return vol.Location{Range: dev.Range{Off: off, Len: n}, Same: textf("SIT %d", segno)}
}

// natAt is where the NAT entry of a node is.
func (c *checker) natAt(nid uint32) vol.Location {
	index, slot := c.g.NATIndex(nid)
	off := c.g.BlockOff(c.g.NATAddr(index, testMSB(c.s.natVersions, index))) + int64(slot)*natLen
	return vol.Location{Range: dev.Range{Off: off, Len: natLen}, Same: textf("NAT %d", nid)}
}

// takeNodes judges the entries of NAT, and leaves those of nodes. Mostly that is
// all but the first two, so nothing is moved before something else is left out.
func (c *checker) takeNodes(nodes []node) []node {
	for len(nodes) > 0 && !c.takeNAT(&nodes[0]) {
		nodes = nodes[1:]
	}
	if len(nodes) == 0 {
		return nil
	}
	kept := 1
	for i := 1; i < len(nodes); i++ {
		if !c.takeNAT(&nodes[i]) {
			continue
		}
		if kept < i {
			nodes[kept] = nodes[i]
		}
		kept++
	}
	return nodes[:kept]
}

// takeNAT judges one entry, and tells whether there is a node to be kept.
// Entries 1 and 2 stand for the node and meta address spaces and have the
// address 1.
func (c *checker) takeNAT(n *node) bool {
	bad := func(slug string) { c.entries = append(c.entries, natFault{*n, slug}) }
	switch {
	case n.nid == 0, n.nid < rootIno && (n.addr != 1 || n.ino != n.nid):
		bad("nat-reserved")
		return false
	case n.nid < rootIno, n.addr == nullAddr:
		return false // of one that is free the owner's number may stay
	case n.ino == 0 || n.ino >= c.g.NIDs():
		bad("nat-owner")
		return false
	case !c.g.ValidMain(n.addr):
		// A node that was made and never written has NEW_ADDR, in memory only.
		bad("nat-address")
	}
	return true
}

// checkJournals looks for entries of the journals that name nothing.
func (c *checker) checkJournals(r *vol.Report) {
	for _, nid := range slices.Sorted(maps.Keys(c.s.natOverrides())) {
		if nid == 0 || nid >= c.g.NIDs() {
			r.Found(c.cat.Found("journal-entry", c.journalAt(natPart), vol.Detail("NAT: node %d", nid)), c.journalFix(natPart))
		}
	}
	for _, segno := range slices.Sorted(maps.Keys(c.s.sitOverrides())) {
		if segno >= c.g.MainSegments {
			r.Found(c.cat.Found("journal-entry", c.journalAt(sitPart), vol.Detail("SIT: segment %d", segno)), c.journalFix(sitPart))
		}
	}
}

// checkNodes reads all nodes.
func (c *checker) checkNodes(_ context.Context, r *vol.Report) error {
	w := c.walk
	w.progress = r.Progress
	if err := w.run(); err != nil {
		return err
	}
	if err := c.checkFeatures(r); err != nil {
		c.stats.BytesRead += w.bytesRead
		return err
	}
	root, ok := w.inodeOf(rootIno)
	if !ok || !w.inodes[root].isDir() {
		if err := c.reportNotes(r); err != nil {
			return err
		}
		r.Found(c.cat.Found("root-lost", c.natAt(rootIno)), c.rootFix())
		c.stats.BytesRead += w.bytesRead
		return vol.ErrStop
	}
	c.stats.Files, c.stats.Directories = w.files, w.dirs-1
	return nil
}

// checkDirs reads all directories and settles what follows from all entries.
func (c *checker) checkDirs(_ context.Context, r *vol.Report) error {
	w := c.walk
	w.progress = r.Progress
	if err := w.readDirs(); err != nil {
		return err
	}
	c.takeOrphans(r)
	w.tree()
	c.lostNodes()
	if err := c.reportNotes(r); err != nil {
		return err
	}
	c.reportOrphans(r)
	if err := c.checkQuotas(r); err != nil { // when all is counted that they count
		return err
	}
	c.stats.BytesRead += w.bytesRead
	return nil
}

// takeOrphans makes the inodes on the list of orphans roots of their own: they
// have no name, and no links.
func (c *checker) takeOrphans(r *vol.Report) {
	w := c.walk
	named := map[uint32]bool{} // of the list
	for _, ino := range c.orphans {
		named[ino] = false
	}
	for i := 0; i < len(w.entries) && len(named) > 0; i++ {
		if _, ok := named[w.entries[i].ino]; ok {
			named[w.entries[i].ino] = true
		}
	}
	for _, ino := range c.orphans {
		i, ok := w.inodeOf(ino)
		if !ok {
			if ino >= c.g.NIDs() || w.index.find(ino) < 0 {
				loc := c.cpAt(0, c.g.BlockSize)
				loc.Same = textf("orphan %d", ino)
				r.Found(c.cat.Found("orphan-invalid", loc, vol.GotWant(ino, nil)), c.dropOrphan(ino))
			}
			continue
		}
		if named[ino] || w.inodes[i].links > 0 {
			w.note(note{slug: "orphan-linked", inode: i, blk: w.index.nodes[w.inodes[i].node].addr, from: ino, detail: textf("inode %d", ino)})
			continue
		}
		w.inodes[i].reached = true
		c.pending = append(c.pending, ino)
		if w.inodes[i].isDir() {
			w.inodes[i].links = 2 + w.bodies[w.inodes[i].body].subdirs
		}
	}
}

// lostNodes reports nodes of NAT that nothing led to.
func (c *checker) lostNodes() {
	w := c.walk
	for i := range w.index.nodes {
		n := &w.index.nodes[i]
		if n.role == roleNone && w.g.ValidMain(n.addr) {
			w.note(note{slug: "node-lost", inode: -1, blk: n.addr, from: n.nid, detail: textf("node %d of inode %d", n.nid, n.ino)})
		}
	}
}

// reportNotes turns what the walk noted into findings.
func (c *checker) reportNotes(r *vol.Report) error {
	w := c.walk
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if err := c.settleLevels(); err != nil {
		return err
	}
	c.settleNotes()
	list := make([]ranked, 0, len(w.notes))
	for i := range w.notes {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		n := &w.notes[i]
		f := c.cat.Found(n.slug, c.noteAt(n))
		f.Detail, f.Got, f.Want = n.detail, n.got, n.want
		fix, offer := c.noteFix(n)
		if f.Offer = offer; fix == nil {
			f.Offer = nil
		}
		list = append(list, ranked{f, fix, rankOf(n, offer)})
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return a.rank - b.rank })
	for i := range list {
		r.Found(list[i].f, list[i].fix)
	}
	for _, slug := range slices.Sorted(maps.Keys(w.noted)) {
		for n := w.noted[slug]; n > maxNotes; n-- {
			if err := w.ctx.Err(); err != nil {
				return err
			}
			r.Found(c.cat.Found(slug, vol.Location{}), nil) // it is only counted
		}
	}
	w.notes, w.noted = nil, map[string]int{}
	return nil
}

// noteAt is the place of a note. Its bytes are in its block, or beyond any block
// where it stands in one of the tables.
func (c *checker) noteAt(n *note) vol.Location {
	loc := vol.Location{Cluster: n.blk, Range: c.g.BlockRange(n.blk, 1)}
	switch {
	case n.blk == 0:
		loc.Range.Off, loc.Range.Len = n.off, n.len
	case n.len > 0 && n.off < c.g.BlockSize:
		loc.Range.Off, loc.Range.Len = loc.Range.Off+n.off, n.len
	case n.len > 0:
		loc.Range.Off, loc.Range.Len = n.off, n.len
	}
	if n.inode < 0 {
		return loc
	}
	loc.Path = c.walk.path(n.inode)
	if n.name != "" {
		loc.Path = strings.TrimSuffix(loc.Path, "/") + "/" + n.name
	}
	return loc
}
