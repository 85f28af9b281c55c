package lfs

import (
	"bytes"
	"iter"

	"github.com/fatkit/fatkit/pkg/vol"
)

// dirName is a name in a directory, and the hash that it is found by there.
type dirName struct {
	name   []byte
	folded []byte // in a directory in which names that fold alike are the same; else nil
	hash   uint32
	room   uint64 // a page in which lookup has seen room for it, plus 1; else 0
}

// nameIn makes the name for a directory. A directory that is encrypted has names
// that cannot be told without its key.
func (h *handle) nameIn(name string) (dirName, error) {
	n := dirName{name: []byte(name)}
	switch {
	case len(name) > maxNameLen:
		return n, vol.Refusef("%q: a name has at most %d bytes", name, maxNameLen)
	case bytes.IndexByte(n.name, 0) >= 0:
		return n, vol.Refusef("%q: a name has no zero byte", name)
	case h.has(adviseEncrypted):
		return n, vol.Refusef("%s: it is encrypted, and its names cannot be told without its key", h.path)
	}
	n.hash = nameHash(n.name)
	if h.b.flags()&flagCasefold != 0 && h.w.g.Has(featCasefold) {
		var ok bool
		if n.folded, ok = foldName(nil, n.name); !ok {
			return n, vol.Refusef("%s: it does not tell upper from lower case, and how %q folds is not known", h.path, name)
		}
		if _, able, _ := foldWhole(nil, n.name); !able && h.w.sb.u16(sbEncodingFlags)&encodingStrict != 0 {
			return n, vol.Refusef("%s: it takes only names in UTF-8 that can be folded, and %q is none or too long", h.path, name)
		}
		n.hash = nameHash(n.folded)
	}
	return n, nil
}

// is tells whether an entry's name is this one.
func (n *dirName) is(name []byte) bool {
	if n.folded == nil || bytes.Equal(n.name, name) {
		return bytes.Equal(n.name, name)
	}
	folded, ok := foldName(nil, name)
	return ok && bytes.Equal(n.folded, folded)
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
// level, whatever the size of the directory. ino is 0 where it is not there, and
// then the name knows where there is room for it.
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
	b := make([]byte, h.w.g.BlockSize)
	for _, page := range h.pagesFor(n.hash) {
		ok, err := h.readInto(page, b)
		if err != nil {
			return 0, 0, err
		}
		d := newDentryBlock(b)
		if ok && take(d) {
			return ino, kind, nil
		}
		if ok && n.room == 0 && d.room(nameSlots(len(n.name))) >= 0 {
			n.room = page + 1
		}
	}
	return 0, 0, nil
}

// names calls yield for the names in a directory, until it returns false or the
// directory cannot be read on: they are for a suggestion, and none is better than
// an error in place of another.
func (h *handle) names(yield func(string) bool) {
	if h.b.inline()&inlineDentry != 0 {
		newDentryBlock(h.w.g.inlineArea(h.b)).eachName(yield)
		return
	}
	b := make([]byte, h.w.g.BlockSize)
	pages := uint64(0)
	for level := range h.levels() {
		pages += dirBuckets(level, int(h.b.dirLevel())) * blocksPerBucket(level)
	}
	for page := range min(pages, maxNamedPages) {
		ok, err := h.readInto(page, b)
		if err != nil || ok && !newDentryBlock(b).eachName(yield) {
			return
		}
	}
}

// maxNamedPages bounds how many pages of a directory are looked at for a suggestion.
const maxNamedPages = 4096

// eachName calls yield for the names of entries, and reports whether it is to go on.
func (d dentryBlock) eachName(yield func(string) bool) bool {
	for _, name := range d.all() {
		if name != nil && !yield(string(name)) {
			return false
		}
	}
	return true
}

// levels is how many levels a directory says that it has.
func (h *handle) levels() int { return int(min(h.b.depth(), maxDirDepth)) }

// pagesFor are the pages of a directory that a hash may be in.
func (h *handle) pagesFor(hash uint32) iter.Seq2[int, uint64] {
	return bucketPages(h.levels(), int(h.b.dirLevel()), hash)
}
