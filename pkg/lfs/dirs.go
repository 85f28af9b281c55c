package lfs

import (
	"bytes"
	"slices"
)

// dirEntry is what is kept of an entry: enough to count links, to find equal
// names, and to find the entry again.
type dirEntry struct {
	dir      int32
	ino      uint32
	hash     uint32
	blk      uint32
	off      uint16 // of the entry's slot in its block, and its number
	kind     byte
	nameLen  byte
	nameHash uint64
}

// readDirs reads all blocks of directories.
func (w *walk) readDirs() error {
	refs := make([]blockRef, len(w.dirBlocks))
	for i, p := range w.dirBlocks {
		refs[i] = blockRef{p.addr, int32(i)}
	}
	w.done, w.total = 0, int64(len(refs))
	w.entries = slices.Grow(w.entries, len(w.inodes)) // most have one name
	return w.readBlocks(refs, func(at int32, b []byte) error {
		p := &w.dirBlocks[at]
		w.scanDentries(p.inode, p.addr, 0, newDentryBlock(b), p.page, false)
		return nil
	})
}

// scanDentries looks at the entries in a block of a directory, or in its inode.
func (w *walk) scanDentries(dir int32, blk uint32, base int64, d dentryBlock, page uint64, inline bool) {
	x := &w.inodes[dir]
	level, bucket, ok := levelOf(page, int(x.dirLevel))
	any := false
	for i := 0; i < d.slots; {
		if !d.used(i) {
			i++
			continue
		}
		any = true
		n := w.oneDentry(dir, blk, base, d, i)
		if n == 0 {
			// What follows may be the rest of its name, which has no entries.
			for i++; i < d.slots && d.used(i) && allZero(d.entry(i)); i++ {
			}
			continue
		}
		if e := d.entry(i); !inline {
			if !ok || e.hash()%uint32(dirBuckets(level, int(x.dirLevel))) != uint32(bucket) && !w.isDots(d, i) {
				w.dentryNote(dir, blk, base, d, i, "dentry-position", "bucket %d of level %d", bucket, level)
			}
		}
		i += n
	}
	if any && !inline {
		x.deepest = max(x.deepest, uint32(level)+1)
	}
}

func (w *walk) isDots(d dentryBlock, i int) bool {
	n := d.name(i, d.entry(i).nameLen())
	return string(n) == "." || string(n) == ".."
}

func (w *walk) dentryNote(dir int32, blk uint32, base int64, d dentryBlock, i int, slug, format string, args ...any) {
	e := d.entry(i)
	w.note(note{slug: slug, inode: dir, name: printable(d.name(i, e.nameLen())), blk: blk,
		off: base + int64(d.entries+dentryLen*i), len: dentryLen, detail: textf(format, args...)})
}

// oneDentry looks at the entry in slot i and returns how many slots it takes, 0
// where that cannot be told.
func (w *walk) oneDentry(dir int32, blk uint32, base int64, d dentryBlock, i int) int {
	e := d.entry(i)
	n := e.nameLen()
	slots := nameSlots(n)
	if n == 0 || n > maxNameLen || i+slots > d.slots {
		w.note(note{slug: "dentry-name-length", inode: dir, blk: blk, off: base + int64(d.entries+dentryLen*i), len: dentryLen, got: n})
		return 0
	}
	for k := i + 1; k < i+slots; k++ {
		if !d.used(k) {
			w.dentryNote(dir, blk, base, d, i, "dentry-bitmap", "slot %d", k)
			break
		}
	}
	name := d.name(i, n)
	if string(name) == "." || string(name) == ".." {
		w.dotDentry(dir, blk, base, d, i, len(name))
		return slots
	}
	w.checkDentryName(dir, blk, base, d, i, name)
	w.entries = append(w.entries, dirEntry{dir: dir, ino: e.ino(), hash: e.hash(), blk: blk, off: uint16(i), kind: e.fileType(), nameLen: byte(n), nameHash: w.hashName(name)})
	return slots
}

// checkDentryName looks at the name and at its hash. Of an encrypted name the
// bytes are opaque, and with case folded besides the hash is keyed; a hash of
// folded letters beyond ASCII depends on tables that the volume does not hold.
func (w *walk) checkDentryName(dir int32, blk uint32, base int64, d dentryBlock, i int, name []byte) {
	x := &w.inodes[dir]
	encrypted := x.advise&adviseEncrypted != 0
	if !encrypted && (bytes.IndexByte(name, '/') >= 0 || bytes.IndexByte(name, 0) >= 0) {
		w.dentryNote(dir, blk, base, d, i, "dentry-name", "")
	}
	want := nameHash(name)
	if x.casefold && w.g.Has(featCasefold) {
		if encrypted || !isASCII(name) {
			return
		}
		want = nameHash(bytes.ToLower(name))
	}
	if got := d.entry(i).hash(); got != want {
		w.dentryNote(dir, blk, base, d, i, "dentry-hash", "%#x, should be %#x", got, want)
	}
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// dotDentry is the entry . or ..
func (w *walk) dotDentry(dir int32, blk uint32, base int64, d dentryBlock, i, n int) {
	x := &w.inodes[dir]
	e := d.entry(i)
	slug := [2]string{"dot", "dotdot"}[n-1]
	if x.dots&byte(n) != 0 {
		w.dentryNote(dir, blk, base, d, i, slug, "a second one")
		return
	}
	x.dots |= byte(n)
	if e.fileType() != typeDir || e.hash() != 0 {
		w.dentryNote(dir, blk, base, d, i, slug, "type %d, hash %#x", e.fileType(), e.hash())
	}
	if n == 2 {
		x.up = e.ino()
	} else if e.ino() != x.nid {
		w.dentryNote(dir, blk, base, d, i, slug, "it leads to inode %d", e.ino())
	}
}

// printable is a name for people: what is no text is escaped.
func printable(b []byte) string {
	q := textf("%q", b)
	return q[1 : len(q)-1]
}
