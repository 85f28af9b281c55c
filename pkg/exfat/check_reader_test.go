package exfat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/fatkit/fatkit/pkg/dev"
)

// reader is another implementation of exFAT, as plain as can be and sharing no
// code with the package, by which the tests of the check tell what is on a
// volume. Unlike plain it takes what it can get: it reads damaged volumes.
type reader struct {
	d       dev.Device
	sector  int64
	cluster int64
	fat0    int64
	heap    int64
	n       uint32 // clusters
	root    uint32
}

var errBroken = errors.New("broken")

func newReader(d dev.Device) (*reader, error) {
	b := make([]byte, 512)
	if _, err := d.ReadAt(b, 0); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	if b[108] < 9 || b[108] > 12 || b[109] > 11 {
		return nil, fmt.Errorf("%w boot sector", errBroken)
	}
	r := &reader{d: d, sector: 1 << b[108], cluster: 1 << (b[108] + b[109]), n: le.Uint32(b[92:]), root: le.Uint32(b[96:])}
	r.fat0, r.heap = int64(le.Uint32(b[80:]))*r.sector, int64(le.Uint32(b[88:]))*r.sector
	if !r.valid(r.root) || r.heap+int64(r.n)*r.cluster > d.Size() {
		return nil, fmt.Errorf("%w boot sector", errBroken)
	}
	return r, nil
}

func (r *reader) valid(c uint32) bool   { return c >= 2 && c-2 < r.n }
func (r *reader) last() uint32          { return r.n + 1 }
func (r *reader) offset(c uint32) int64 { return r.heap + int64(c-2)*r.cluster }
func (r *reader) link(c uint32) int64   { return r.fat0 + 4*int64(c) } // place of a FAT entry
func (r *reader) per() int              { return int(r.cluster / 32) }
func (r *reader) need(n uint64) uint64  { return (n + uint64(r.cluster) - 1) / uint64(r.cluster) }

// read is zeros where there is nothing to read.
func (r *reader) read(off, n int64) []byte {
	b := make([]byte, n)
	_, _ = r.d.ReadAt(b, off)
	return b
}

func (r *reader) get32(off int64) uint32 { return binary.LittleEndian.Uint32(r.read(off, 4)) }

// chain of clusters from start on.
func (r *reader) chain(start uint32) (out []uint32, err error) {
	seen := map[uint32]bool{}
	for c := start; ; {
		if !r.valid(c) || seen[c] {
			return out, fmt.Errorf("%w chain at %#x", errBroken, c)
		}
		seen[c] = true
		out = append(out, c)
		v := r.get32(r.link(c))
		if v == 0xFFFFFFFF {
			return out, nil
		}
		c = v
	}
}

// node is an entry set.
type node struct {
	name          string
	attr          uint16
	flags         byte
	start         uint32
	length, valid uint64
	slots         []int64 // places of its entries
}

func (n node) isDir() bool { return n.attr&0x10 != 0 }
func (n node) noFat() bool { return n.flags&2 != 0 }

// clusters of a node, as its flag says.
func (r *reader) clusters(n node) ([]uint32, error) {
	need := r.need(n.length)
	switch {
	case need == 0:
		return nil, nil
	case need > uint64(r.n):
		return nil, fmt.Errorf("%w length", errBroken)
	case !n.noFat():
		cs, err := r.chain(n.start)
		if err == nil && uint64(len(cs)) != need {
			err = fmt.Errorf("%w: %d clusters for %d bytes", errBroken, len(cs), n.length)
		}
		return cs, err
	}
	var cs []uint32
	for i := range uint32(need) {
		if !r.valid(n.start + i) {
			return cs, fmt.Errorf("%w run", errBroken)
		}
		cs = append(cs, n.start+i)
	}
	return cs, nil
}

// rootNode stands for the root directory.
func (r *reader) rootNode() node {
	cs, _ := r.chain(r.root)
	return node{attr: 0x10, start: r.root, length: uint64(len(cs)) * uint64(r.cluster)}
}

// places are those of all slots of a directory.
func (r *reader) places(n node) (out []int64) {
	cs, _ := r.clusters(n)
	out = make([]int64, 0, len(cs)*r.per())
	for _, c := range cs {
		for i := range r.per() {
			out = append(out, r.offset(c)+32*int64(i))
		}
	}
	return out
}

// list is a directory up to its end mark.
func (r *reader) list(dir node) (out []node) {
	places := r.places(dir)
	for i := 0; i < len(places); i++ {
		e := r.read(places[i], 32)
		if e[0] == 0 {
			break
		}
		if e[0] != 0x85 {
			continue
		}
		n := 1
		for n <= int(e[1]) && i+n < len(places) && r.read(places[i+n], 1)[0]&0xC0 == 0xC0 {
			n++
		}
		if x, ok := r.node(places[i : i+n]); ok {
			out = append(out, x)
		}
		i += n - 1
	}
	return out
}

func (r *reader) node(slots []int64) (n node, ok bool) {
	le := binary.LittleEndian
	if len(slots) < 3 {
		return n, false
	}
	f, s := r.read(slots[0], 32), r.read(slots[1], 32)
	if s[0] != 0xC0 {
		return n, false
	}
	n = node{attr: le.Uint16(f[4:]), flags: s[1], start: le.Uint32(s[20:]), length: le.Uint64(s[24:]), valid: le.Uint64(s[8:]), slots: slots}
	var u []uint16
	for i := 0; i < int(s[3]); i++ {
		if 2+i/15 >= len(slots) {
			return n, false
		}
		u = append(u, le.Uint16(r.read(slots[2+i/15]+2+int64(i%15)*2, 2)))
	}
	n.name = string(utf16.Decode(u))
	return n, len(u) > 0
}

// contents of a file: zeros behind what is valid.
func (r *reader) contents(n node) ([]byte, error) {
	cs, err := r.clusters(n)
	if err != nil {
		return nil, err
	}
	if n.length > 64<<20 {
		return nil, fmt.Errorf("%w: too long for a test", errBroken)
	}
	var b bytes.Buffer
	for _, c := range cs {
		b.Write(r.read(r.offset(c), r.cluster))
	}
	out := b.Bytes()
	clear(out[min(n.valid, uint64(len(out))):])
	return out[:n.length], nil
}

// files are the contents of all files that can be read, by path. Directories
// are in it with a slash at the end. A name that stands twice gets a # and a
// number.
func (r *reader) files() map[string]string {
	out := map[string]string{}
	seen := map[uint32]bool{}
	type dir struct {
		path string
		node
	}
	for todo := []dir{{"/", r.rootNode()}}; len(todo) > 0; todo = todo[1:] {
		for _, n := range r.list(todo[0].node) {
			path := todo[0].path + n.name
			for i := 2; ; i++ {
				if _, twice := out[path]; !twice {
					break
				}
				path = fmt.Sprintf("%s%s#%d", todo[0].path, n.name, i)
			}
			switch {
			case n.isDir() && (n.length == 0 || r.valid(n.start) && !seen[n.start]):
				seen[n.start] = true
				out[path+"/"] = ""
				todo = append(todo, dir{path + "/", n})
			case !n.isDir():
				if b, err := r.contents(n); err == nil {
					out[path] = string(b)
				}
			}
		}
	}
	return out
}

// find is the entry at a path; ok tells whether there is one.
func (r *reader) find(path string) (n node, ok bool) {
	dir := r.rootNode()
	for _, p := range strings.Split(strings.Trim(path, "/"), "/") {
		ns := r.list(dir)
		i := slices.IndexFunc(ns, func(n node) bool { return n.name == p })
		if i < 0 {
			return node{}, false
		}
		dir = ns[i]
	}
	return dir, true
}

// holds tells whether a file with just these contents is at a path. Of files
// with the same name any will do.
func (r *reader) holds(path, b string) bool {
	ns := r.list(r.rootNode())
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range parts {
		var next []node
		for _, n := range ns {
			switch {
			case n.name != p:
			case i+1 < len(parts) && n.isDir():
				next = append(next, r.list(n)...)
			case i+1 == len(parts):
				if got, err := r.contents(n); n.isDir() || err == nil && string(got) == b {
					return true
				}
			}
		}
		ns = next
	}
	return false
}
