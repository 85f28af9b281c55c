package lfs

import (
	"maps"
	"slices"

	"github.com/fatkit/fatkit/pkg/vol"
)

// dirDamages break directories.
func dirDamages() []damage {
	entry := func(slug, dir, name, more string, fn func(l *lab, d dentryBlock, i int)) damage {
		return damage{slug: slug, more: more, do: func(l *lab) vol.Location {
			x := l.root
			if dir != "" {
				x = l.at[dir]
			}
			off := x.editEntry(name, func(d dentryBlock, i int) { fn(l, d, i) })
			return at(off, dentryLen)
		}}
	}
	return []damage{
		entry("dentry-ino", "", "empty", "inode-unreachable", func(l *lab, d dentryBlock, i int) { setIno(d, i, 1<<31) }),
		entry("dentry-ino", "", "empty", "inode-unreachable", func(l *lab, d dentryBlock, i int) { setIno(d, i, l.at["direct"].nodes[1].nid) }),
		entry("dentry-ino", "dir", "inner", "inode-unreachable", func(l *lab, d dentryBlock, i int) { setIno(d, i, metaIno) }),
		entry("dentry-type", "", "empty", "", func(_ *lab, d dentryBlock, i int) { d.entry(i)[dentryType] = typeFIFO }),
		entry("dentry-type", "small", "small file", "", func(_ *lab, d dentryBlock, i int) { d.entry(i)[dentryType] = 99 }),
		entry("dentry-name-length", "", "empty", "", func(_ *lab, d dentryBlock, i int) { setNameLen(d, i, 0) }),
		entry("dentry-name-length", "", "empty", "", func(_ *lab, d dentryBlock, i int) { setNameLen(d, i, 1000) }),
		entry("dentry-name-length", "", "empty", "", func(_ *lab, d dentryBlock, i int) { setNameLen(d, i, 40) }),
		entry("dentry-name-length", "small", "small file", "", func(_ *lab, d dentryBlock, i int) { setNameLen(d, i, 0xFFFF) }),
		entry("dentry-name-length", "small", "small file", "inode-unreachable", func(_ *lab, d dentryBlock, i int) {
			setNameLen(d, i, 0)
			d.entry(i)[dentryHash] ^= 1
		}),
		{slug: "dentry-name", more: "inode-name", do: func(l *lab) vol.Location {
			return at(l.rename("empty", "em/ty"), dentryLen)
		}},
		{slug: "dentry-name", name: " zero", more: "inode-name", do: func(l *lab) vol.Location {
			return at(l.rename("empty", "em\x00ty"), dentryLen)
		}},
		entry("dentry-hash", "", "empty", "", func(_ *lab, d dentryBlock, i int) { d.entry(i)[dentryHash+3] ^= 1 }),
		entry("dentry-hash", "small", "small file", "", func(_ *lab, d dentryBlock, i int) { d.entry(i)[dentryHash] ^= 1 }),
		{slug: "dentry-hash", name: " folded", with: "all", do: func(l *lab) vol.Location {
			off := l.at["folded"].editEntry("README.TXT", func(d dentryBlock, i int) {
				d.entry(i).put(nameHash([]byte("README.TXT")), d.entry(i).ino(), 10, typeFile)
			})
			return at(off, dentryLen)
		}},
		{slug: "dentry-position", do: func(l *lab) vol.Location { return l.swapBuckets() }},
		{slug: "dentry-twice", more: "inode-name", do: func(l *lab) vol.Location { return at(l.rename("socket", "direct"), dentryLen) }},
		{slug: "dentry-twice", name: " folded", with: "all", do: func(l *lab) vol.Location { return at(l.enterTwin("README.TXT", "readme.txt"), dentryLen) }},
		{slug: "dentry-twice", name: " folded umlauts", with: "all", do: func(l *lab) vol.Location { return at(l.enterTwin("ÄÖÜ", "äöü"), dentryLen) }},
		entry("dentry-bitmap", "many", "a name that takes four slots 5", "", func(_ *lab, d dentryBlock, i int) { d.b[(i+1)/8] &^= 1 << ((i + 1) % 8) }),
		entry("dot", "dir", ".", "", func(l *lab, d dentryBlock, i int) { setIno(d, i, rootIno) }),
		entry("dot", "small", ".", "", func(l *lab, d dentryBlock, i int) { d.entry(i)[dentryType] = typeFile }),
		{slug: "dot", name: " missing", do: func(l *lab) vol.Location {
			l.at["dir"].editEntry(".", func(d dentryBlock, i int) { d.b[i/8] &^= 1 << (i % 8) })
			return l.at["dir"].in()
		}},
		{slug: "dot", name: ", an old one elsewhere", do: func(l *lab) vol.Location {
			// As in a block that another directory gave back.
			x := l.at["many"]
			addr := x.pages[slices.Max(slices.Collect(maps.Keys(x.pages)))]
			off := l.g.BlockOff(addr)
			l.edit(addr, func(b []byte) {
				d := newDentryBlock(b)
				off += int64(d.entries + dentryLen*d.add(".", 0, rootIno, typeDir))
			})
			return at(off, dentryLen)
		}},
		{slug: "dotdot", do: func(l *lab) vol.Location {
			l.at["dir"].editEntry("..", func(d dentryBlock, i int) { setIno(d, i, 77) })
			return l.at["dir"].in()
		}},
		{slug: "dotdot", name: " missing", do: func(l *lab) vol.Location {
			l.at["small"].editEntry("..", func(d dentryBlock, i int) { d.b[i/8] &^= 1 << (i % 8) })
			return l.at["small"].in()
		}},
		entry("dir-twice", "dir", "inner", "dentry-type inode-unreachable", func(l *lab, d dentryBlock, i int) { setIno(d, i, l.at["many"].ino) }),
		entry("dir-twice", "dir", "inner", "dentry-type inode-unreachable", func(l *lab, d dentryBlock, i int) { setIno(d, i, rootIno) }),
	}
}

// enterTwin makes l a volume with one more file in the directory that folds
// names, where there is one with the other name.
func (l *lab) enterTwin(old, name string) int64 {
	*l = *fill(newBuilder(l.t, 64<<20, vol.FormatOptions{Features: labFeatures}))
	x := l.at["folded"]
	x.entry(old)
	l.file(x, name, file{})
	l.finish()
	return x.editEntry(name, func(dentryBlock, int) {})
}

func setIno(d dentryBlock, i int, ino uint32) {
	e := d.entry(i)
	e.put(e.hash(), ino, e.nameLen(), e.fileType())
}

func setNameLen(d dentryBlock, i, n int) {
	e := d.entry(i)
	e.put(e.hash(), e.ino(), n, e.fileType())
}

// rename gives an entry of the root directory another name of the same length
// in slots, with its hash.
func (l *lab) rename(old, name string) int64 {
	return l.root.editEntry(old, func(d dentryBlock, i int) {
		e := d.entry(i)
		e.put(nameHash([]byte(name)), e.ino(), len(name), e.fileType())
		copy(d.b[d.names+nameSlotLen*i:], name)
	})
}

// swapBuckets exchanges the blocks of the first two buckets of level 1 of a
// directory, so that names stand in the wrong one, and names what is found
// first.
func (l *lab) swapBuckets() vol.Location {
	x := l.at["many"]
	a, b := x.pages[2], x.pages[4]
	one, two := l.read(a), l.read(b)
	l.write(a, two)
	l.write(b, one)
	return vol.Location{}
}
