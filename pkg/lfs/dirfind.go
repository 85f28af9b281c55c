package lfs

import (
	"bytes"

	"github.com/fatkit/fatkit/pkg/vol"
)

// dirName is a name in a directory, and the hash that it is found by there.
type dirName struct {
	name   []byte
	hash   uint32
	folded bool // names that differ in case are the same
}

// nameIn makes the name for a directory. A directory that is encrypted has names
// that cannot be told without its key, and the hash of a folded one needs tables
// beyond ASCII.
func (h *handle) nameIn(name string) (dirName, error) {
	n := dirName{name: []byte(name), folded: h.b.flags()&flagCasefold != 0 && h.w.g.Has(featCasefold)}
	switch {
	case len(name) > maxNameLen:
		return n, vol.Refusef("%q: a name has at most %d bytes", name, maxNameLen)
	case bytes.IndexByte(n.name, 0) >= 0:
		return n, vol.Refusef("%q: a name has no zero byte", name)
	case h.has(adviseEncrypted):
		return n, vol.Refusef("%s: it is encrypted, and its names cannot be told without its key", h.path)
	case n.folded && !isASCII(n.name):
		return n, vol.Refusef("%s: it does not tell upper from lower case, and %q has letters beyond ASCII, which this version does not fold", h.path, name)
	case n.folded:
		n.hash = nameHash(bytes.ToLower(n.name))
	default:
		n.hash = nameHash(n.name)
	}
	return n, nil
}

// is tells whether an entry's name is this one.
func (n *dirName) is(name []byte) bool {
	return bytes.Equal(n.name, name) || n.folded && bytes.EqualFold(n.name, name) && isASCII(name)
}

// find looks for a name among entries; slot is -1 where it is not.
func (d dentryBlock) find(n *dirName) (slot int) {
	for i := 0; i < d.slots; {
		if !d.used(i) {
			i++
			continue
		}
		e := d.entry(i)
		if e.hash() == n.hash && e.nameLen() > 0 && e.nameLen() <= maxNameLen && n.is(d.name(i, e.nameLen())) {
			return i
		}
		i += max(1, nameSlots(min(e.nameLen(), maxNameLen)))
	}
	return -1
}

// lookup finds a name in a directory as the kernel does: by its hash, level by
// level. ino is 0 where it is not there.
func (h *handle) lookup(n *dirName) (ino uint32, kind byte, err error) {
	take := func(d dentryBlock) bool {
		i := d.find(n)
		if i < 0 {
			return false
		}
		ino, kind = d.entry(i).ino(), d.entry(i).fileType()
		return true
	}
	if h.b.inline()&inlineDentry != 0 {
		take(newDentryBlock(h.w.g.inlineArea(h.b)))
		return ino, kind, nil
	}
	for level := 0; level < int(min(h.b.depth(), maxDirDepth)); level++ {
		from, to := bucketPages(level, int(h.b.dirLevel()), n.hash)
		for page := from; page < to && page < h.w.g.pages(int64(min(h.b.size(), 1<<62))); page++ {
			b, err := h.readPage(page)
			if err != nil {
				return 0, 0, err
			}
			if b != nil && take(newDentryBlock(b)) {
				return ino, kind, nil
			}
		}
	}
	return 0, 0, nil
}

// bucketPages are the pages of the bucket that a hash belongs to on a level.
func bucketPages(level, dirLevel int, hash uint32) (from, to uint64) {
	for l := range level {
		from += dirBuckets(l, dirLevel) * blocksPerBucket(l)
	}
	n := blocksPerBucket(level)
	from += uint64(hash) % dirBuckets(level, dirLevel) * n
	return from, from + n
}
