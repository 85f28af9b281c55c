package lfs

import (
	"bytes"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
)

// dirEntry is what is kept of an entry: enough to count links, to find equal
// names, and to find the entry again.
type dirEntry struct {
	nameHash uint64
	dir      int32
	ino      uint32
	blk      uint32
	off      uint16 // of the entry's slot in its block
	kind     byte
	nameLen  byte
}

// chunk is the entries of one block of a directory, which follow one another in
// walk.entries.
type chunk struct {
	dir     int32
	from, n uint32
	deepest uint32 // level that it is of, plus 1; 0 for none
	folds   uint32 // where hashes of folded names begin, plus 1; 0 for none
}

// dot is an entry . or ..
type dot struct {
	which byte // 1 or 2
	kind  byte
	dir   int32
	ino   uint32
	hash  uint32
	blk   uint32
	off   int64
	away  bool // it is where none is looked for
}

// dirSource is where entries are: a block, or a part of an inode.
type dirSource struct {
	dir    int32
	f      *body
	advise byte
	blk    uint32
	base   int64 // where entries start in the block
}

// readDirs reads all blocks of directories.
func (w *walk) readDirs() error {
	w.linkAll()
	refs := make([]blockRef, len(w.dirBlocks))
	for i, p := range w.dirBlocks {
		refs[i] = blockRef{p.addr, int32(i)}
	}
	w.done, w.total = 0, int64(len(refs))
	w.entries = append(dev.MakeLarge[dirEntry](len(w.entries)+len(w.inodes)), w.entries...) // most have one name
	take := func(h *harvest, at int32, b []byte) {
		p := &w.dirBlocks[at]
		x := &w.inodes[p.inode]
		h.scanDentries(dirSource{p.inode, &w.bodies[x.body], x.advise, p.addr, 0}, newDentryBlock(b), p.page, false)
	}
	return w.sweep(refs, sweepPiece, take, func(h *harvest) error {
		w.gatherEntries(h, 0)
		w.linkAll()
		w.takeNotes(h, 0)
		return nil
	})
}

// gatherEntries takes over the entries of a piece.
func (w *walk) gatherEntries(h *harvest, base int32) {
	first, folds := uint32(len(w.entries)), uint32(len(w.folded))
	for _, c := range h.chunks {
		c.dir += base
		c.from += first
		if c.folds > 0 {
			c.folds += folds
		}
		f := &w.bodies[w.inodes[c.dir].body]
		f.deepest = max(f.deepest, c.deepest)
		w.chunks = append(w.chunks, c)
	}
	for i := range h.entries {
		h.entries[i].dir += base
	}
	w.entries = append(w.entries, h.entries...)
	w.folded = append(w.folded, h.folds...)
	for i := range h.dots {
		h.dots[i].dir += base
		w.takeDot(&h.dots[i])
	}
}

// scanDentries looks at the entries in a block of a directory, or in its inode.
func (h *harvest) scanDentries(s dirSource, d dentryBlock, page uint64, inline bool) {
	level, bucket, ok := levelOf(page, int(s.f.dirLevel))
	buckets := uint32(dirBuckets(level, int(s.f.dirLevel)))
	c := chunk{dir: s.dir, from: uint32(len(h.entries))}
	if h.w.folds(s) {
		c.folds = uint32(len(h.folds)) + 1
	}
	dots := len(h.dots)
	for i := 0; i < d.slots; {
		if !d.used(i) {
			i++
			continue
		}
		if !inline {
			c.deepest = uint32(level) + 1
		}
		n := h.oneDentry(s, d, i)
		if n == 0 {
			// What follows may be the rest of its name, which has no entries.
			for i++; i < d.slots && d.used(i) && dev.AllZero(d.entry(i)); i++ {
			}
			continue
		}
		if e := d.entry(i); !inline && (!ok || e.hash()%buckets != uint32(bucket)) && !isDots(d.name(i, e.nameLen())) {
			h.dentryNote(s, d, i, "dentry-position", "bucket %d of level %d", bucket, level)
		}
		i += n
	}
	for k := range h.dots[dots:] {
		h.dots[dots+k].away = page >= bucketBlocks
	}
	if c.n = uint32(len(h.entries)) - c.from; c.n > 0 || c.deepest > 0 {
		h.chunks = append(h.chunks, c)
	}
}

// folds tells whether a directory folds the case of names.
func (w *walk) folds(s dirSource) bool { return s.f.casefold && w.g.Has(featCasefold) }

func isDots(name []byte) bool { return string(name) == "." || string(name) == ".." }

func (h *harvest) dentryNote(s dirSource, d dentryBlock, i int, slug, format string, args ...any) {
	e := d.entry(i)
	h.note(note{slug: slug, inode: s.dir, name: nameText(d.name(i, e.nameLen())), blk: s.blk,
		off: s.base + int64(d.entries+dentryLen*i), len: dentryLen, detail: textf(format, args...)})
}

// oneDentry looks at the entry in slot i and returns how many slots it takes, 0
// where that cannot be told.
func (h *harvest) oneDentry(s dirSource, d dentryBlock, i int) int {
	e := d.entry(i)
	n := e.nameLen()
	slots := nameSlots(n)
	valid := n > 0 && n <= maxNameLen && i+slots <= d.slots
	if real := h.lengthByHash(s, d, i, valid); real > 0 {
		h.note(note{slug: "dentry-name-length", inode: s.dir, name: nameText(d.name(i, real)), blk: s.blk, off: s.base + int64(d.entries+dentryLen*i), len: dentryLen, got: n, want: real, word: int32(real)})
		n, slots, valid = real, nameSlots(real), true
	}
	if !valid {
		h.note(note{slug: "dentry-name-length", inode: s.dir, blk: s.blk, off: s.base + int64(d.entries+dentryLen*i), len: dentryLen, got: n})
		return 0
	}
	for k := i + 1; k < i+slots; k++ {
		if !d.used(k) {
			h.dentryNote(s, d, i, "dentry-bitmap", "slot %d", k)
			break
		}
	}
	name := d.name(i, n)
	if isDots(name) {
		h.dots = append(h.dots, dot{which: byte(n), kind: e.fileType(), dir: s.dir, ino: e.ino(), hash: e.hash(), blk: s.blk, off: s.base + int64(d.entries+dentryLen*i)})
		return slots
	}
	h.checkDentryName(s, d, i, name)
	h.entries = append(h.entries, dirEntry{dir: s.dir, ino: e.ino(), blk: s.blk, off: uint16(i), kind: e.fileType(), nameLen: byte(n), nameHash: h.w.hashName(name)})
	return slots
}

// maxLengths bounds for how many entries of a piece another length is looked for.
const maxLengths = 1 << 12

// lengthByHash is how long the name in slot i is by its hash, where that is not what
// the entry says; 0 where it is, or nothing tells. A length that is too long would
// take the entries behind it for a part of the name.
func (h *harvest) lengthByHash(s dirSource, d dentryBlock, i int, valid bool) int {
	e := d.entry(i)
	if e.hash() == 0 { // as . and .. have it
		name, _, _ := bytes.Cut(d.name(i, nameSlotLen), []byte{0})
		if isDots(name) && len(name) != e.nameLen() {
			return len(name)
		}
		return 0
	}
	if s.advise&adviseEncrypted != 0 || h.w.folds(s) || valid && nameHash(d.name(i, e.nameLen())) == e.hash() {
		return 0
	}
	if h.lengths++; h.lengths > maxLengths {
		return 0
	}
	name := d.name(i, maxNameLen)
	for n := 1; n <= len(name) && name[n-1] != 0 && name[n-1] != '/'; n++ {
		if nameHash(name[:n]) == e.hash() {
			return n
		}
	}
	return 0
}

// checkDentryName looks at the name and at its hash. Of an encrypted name the
// bytes are opaque, and with case folded besides the hash is keyed.
func (h *harvest) checkDentryName(s dirSource, d dentryBlock, i int, name []byte) {
	encrypted := s.advise&adviseEncrypted != 0
	if !encrypted && (bytes.IndexByte(name, '/') >= 0 || bytes.IndexByte(name, 0) >= 0) {
		h.dentryNote(s, d, i, "dentry-name", "")
	}
	if h.w.folds(s) {
		folded, ok := []byte(nil), false
		if !encrypted {
			folded, ok = foldName(h.foldBuf[:0], name)
		}
		if !ok {
			h.folds = append(h.folds, h.w.hashName(name))
			return
		}
		name = folded
		h.folds = append(h.folds, h.w.hashName(name))
	}
	if got, want := d.entry(i).hash(), nameHash(name); got != want {
		h.dentryNote(s, d, i, "dentry-hash", "%#x, should be %#x", got, want)
	}
}

// takeDot takes the entry . or .. of a directory. They are made in its first block,
// [Linux] behaviour make_empty_dir(), and others than in the first bucket are of another
// directory, whose old block is taken for one of this.
func (w *walk) takeDot(d *dot) {
	x := &w.inodes[d.dir]
	f := &w.bodies[x.body]
	note := func(detail string, second int32) {
		w.note(note{slug: [2]string{"dot", "dotdot"}[d.which-1], inode: d.dir, name: "..."[:d.which], blk: d.blk, off: d.off, len: dentryLen, detail: detail, word: second})
	}
	switch {
	case d.away:
		note("one where none is looked for", 1)
		return
	case f.dots&d.which != 0:
		note("a second one", 1)
		return
	}
	f.dots |= d.which
	if d.kind != typeDir || d.hash != 0 {
		note(textf("type %d, hash %#x", d.kind, d.hash), 0)
	}
	if d.which == 2 {
		f.up = d.ino
	} else if d.ino != x.nid {
		note(textf("it leads to inode %d", d.ino), 0)
	}
}

// nameText is a name for people: what is no text is escaped, and so is what would
// look like two names, as it is found in encrypted ones.
func nameText(b []byte) string { return strings.ReplaceAll(printable(b), "/", `\x2f`) }

// printable is text for people: what cannot be seen is escaped.
func printable(b []byte) string {
	q := textf("%q", b)
	return q[1 : len(q)-1]
}
