package lfs

import (
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

// damage breaks a lab in one way, and says where the check must say so: what is
// zero of the place is not compared.
type damage struct {
	slug string
	more string // rows that follow from it, in order of name
	with string // features; "all" stands for labFeatures
	name string // where a row has several
	left string // rows that nothing mends
	lost int    // files that a repair may change
	do   func(l *lab) vol.Location
}

// run damages a lab and compares.
func (c damage) run(t *testing.T) {
	features := c.with
	if features == "all" {
		features = labFeatures
	}
	l := newLab(t, features)
	before := holdings(t, l.d)
	want := c.do(l)
	res := l.check()
	l.mends(c, before)
	rows := append(strings.Fields(c.more), c.slug)
	slices.Sort(rows)
	if got := slugs(res); !slices.Equal(got, rows) {
		t.Errorf("found rows %q, should be %q: %q", got, rows, found(res))
	}
	for _, o := range res.Outcomes {
		if o.Slug == c.slug && samePlace(o.Loc, want) {
			if o.Repaired != nil {
				t.Errorf("%s is repaired", o.Slug)
			}
			return
		}
	}
	t.Errorf("%s is not found at %+v: %q", c.slug, want, found(res))
}

// samePlace compares what want has.
func samePlace(got, want vol.Location) bool {
	return (want.Path == "" || got.Path == want.Path) && (want.Cluster == 0 || got.Cluster == want.Cluster) &&
		(want.Range.Off == 0 || got.Range.Off == want.Range.Off) && (want.Range.Len == 0 || got.Range.Len == want.Range.Len)
}

// TestCorruptors: there is a way to reach every row of the catalogue, and each
// is found where it is, once it is the only thing that is wrong.
func TestCorruptors(t *testing.T) {
	cases := slices.Concat(superDamages(), packDamages(), tableDamages(), nodeDamages(), inodeDamages(), dirDamages())
	reached := map[string]bool{}
	for _, c := range cases {
		reached[c.slug] = true
		t.Run(c.slug+c.name, c.run)
	}
	for _, p := range Problems() {
		if !reached[p.Slug] {
			t.Errorf("%s %s has no corruptor", p.Code, p.Slug)
		}
	}
}

// at is a place in the metadata, bytes from the start of the volume.
func at(off int64, n int64) vol.Location { return vol.At(off, n) }

// editSupers changes both superblocks and makes their checksums right.
func (m *builder) editSupers(fn func(b superblock)) {
	for i := range int64(superBlocks) {
		m.editSuper(i, fn)
	}
}

func (m *builder) editSuper(i int64, fn func(b superblock)) {
	b := make(superblock, superLen)
	off := i*m.g.BlockSize + superOffset
	_, err := m.d.ReadAt(b, off)
	m.must(err)
	fn(b)
	if b.has(featSuperChecksum) {
		b.put32(sbChecksum, superSum(b))
	}
	_, err = m.d.WriteAt(b, off)
	m.must(err)
}

// editPack changes the blocks that the first pack starts and ends with, and
// makes their checksums right; the place is that of a field.
func (m *builder) editPack(fn func(c checkpoint), off, n int64) vol.Location {
	head := m.g.PackBlock(0)
	blocks := checkpoint(m.read(head)).blocks()
	for _, blk := range []uint32{head, head + blocks - 1} {
		m.edit(blk, func(b []byte) {
			fn(b)
			checkpoint(b).putSum()
		})
	}
	return at(m.g.BlockOff(head)+off, n)
}

// put32 has a pack say another number.
func (m *builder) put32(off int64, v uint32) vol.Location {
	return m.editPack(func(c checkpoint) { c.put32(int(off), v) }, off, 4)
}

// editSIT changes the entry of a segment that is not in the journal.
func (m *builder) editSIT(segno uint32, fn func(e sitEntry)) vol.Location {
	blk := m.g.SITBlock(segno, false)
	_, slot := m.g.SITIndex(segno)
	m.edit(blk, func(b []byte) { fn(sitEntry(b[slot*sitLen:][:sitLen])) })
	return at(m.g.BlockOff(blk)+int64(slot)*sitLen, 0)
}

// editNAT changes the entry of a node.
func (m *builder) editNAT(nid uint32, fn func(e natEntry)) vol.Location {
	blk := m.g.NATBlock(nid, false)
	_, slot := m.g.NATIndex(nid)
	m.edit(blk, func(b []byte) { fn(natEntry(b[slot*natLen:][:natLen])) })
	return at(m.g.BlockOff(blk)+int64(slot)*natLen, natLen)
}

// in is a finding in the block of a file's inode.
func (x *built) in() vol.Location {
	return vol.Location{Cluster: x.addr, Range: x.m.g.BlockRange(x.addr, 1), Path: x.path()}
}

func (x *built) path() string {
	s := ""
	for ; x.parent != nil; x = x.parent {
		s = "/" + x.name + s
	}
	if s == "" {
		return "/"
	}
	return s
}

// logSegment is the segment that a log of the lab writes to.
func (m *builder) logSegment(log int) uint32 { return m.g.SegmentOf(m.next[log]) }

// deep is a copy of a bit of a bitmap: how a segment's map is changed together
// with its count.
func flip(e sitEntry, i uint32) {
	e.validMap()[i/8] ^= 0x80 >> (i % 8)
	n := e.count() + 1
	if e.validMap()[i/8]&(0x80>>(i%8)) == 0 {
		n = e.count() - 1
	}
	e.put(e.kind(), n)
}

// allDamages are the corruptors of all rows.
func allDamages() []damage {
	return slices.Concat(superDamages(), packDamages(), tableDamages(), nodeDamages(), inodeDamages(), dirDamages())
}

// lab is a lab with the damage.
func (c damage) lab(t *testing.T) *lab {
	features := c.with
	if features == "all" {
		features = labFeatures
	}
	l := newLab(t, features)
	c.do(l)
	return l
}
