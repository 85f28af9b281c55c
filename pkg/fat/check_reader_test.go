package fat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/fatkit/fatkit/pkg/dev"
)

// reader is another implementation of FAT, as plain as can be and sharing no
// code with the package, by which the tests tell what is on a volume.
type reader struct {
	d        dev.Device
	bits     int // 12, 16 or 32
	sector   int64
	cluster  int64 // bytes
	fat0     int64 // first FAT
	fatLen   int64 // bytes of one
	fats     int
	root     int64 // fixed root
	rootEnts int64
	rootClus uint32
	data     int64
	clusters int64
	active   int // the FAT that counts
}

var errBroken = errors.New("broken")

func newReader(d dev.Device) (*reader, error) {
	b := make([]byte, 512)
	if _, err := d.ReadAt(b, 0); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	r := &reader{d: d, sector: int64(le.Uint16(b[11:])), fats: int(b[16]), rootEnts: int64(le.Uint16(b[17:]))}
	r.cluster = r.sector * int64(b[13])
	r.fat0 = r.sector * int64(le.Uint16(b[14:]))
	fatSectors := int64(le.Uint16(b[22:]))
	fat32 := fatSectors == 0
	if fat32 {
		fatSectors, r.rootClus = int64(le.Uint32(b[36:])), le.Uint32(b[44:])
		if flags := le.Uint16(b[40:]); flags&0x80 != 0 && int(flags&15) < r.fats {
			r.active = int(flags & 15)
		}
	}
	total := int64(le.Uint16(b[19:]))
	if total == 0 {
		total = int64(le.Uint32(b[32:]))
	}
	r.fatLen = fatSectors * r.sector
	r.root = r.fat0 + int64(r.fats)*r.fatLen
	if r.sector == 0 || r.cluster == 0 || r.fatLen == 0 || total == 0 {
		return nil, fmt.Errorf("%w boot sector", errBroken)
	}
	r.data = r.root + (r.rootEnts*32+r.sector-1)/r.sector*r.sector
	r.clusters = (total*r.sector - r.data) / r.cluster
	switch {
	case fat32:
		r.bits = 32
	case r.clusters < 4085:
		r.bits = 12
	default:
		r.bits = 16
	}
	return r, nil
}

// mask of the bits of an entry that count.
func (r *reader) mask() uint32 { return map[int]uint32{12: 0xFFF, 16: 0xFFFF, 32: 0x0FFFFFFF}[r.bits] }
func (r *reader) eoc() uint32  { return r.mask() }
func (r *reader) bad() uint32  { return r.mask() - 8 }

// place of entry c in FAT k.
func (r *reader) place(k int, c uint32) int64 {
	return r.fat0 + int64(k)*r.fatLen + int64(c)*int64(r.bits)/8
}

// entry c of FAT k.
func (r *reader) entry(k int, c uint32) uint32 {
	b := make([]byte, 4)
	n := map[int]int{12: 2, 16: 2, 32: 4}[r.bits]
	if _, err := r.d.ReadAt(b[:n], r.place(k, c)); err != nil {
		return r.bad()
	}
	v := binary.LittleEndian.Uint32(b)
	if r.bits == 12 && c%2 == 1 {
		v >>= 4
	}
	return v & r.mask()
}

func (r *reader) valid(c uint32) bool   { return c >= 2 && int64(c) < r.clusters+2 }
func (r *reader) offset(c uint32) int64 { return r.data + int64(c-2)*r.cluster }
func (r *reader) need(size uint32) int  { return int((int64(size) + r.cluster - 1) / r.cluster) }
func (r *reader) last() uint32          { return uint32(r.clusters + 1) }
func (r *reader) isEnd(v uint32) bool   { return v >= r.mask()-7 }
func (r *reader) slotsPerCluster() int  { return int(r.cluster / 32) }

// read is nil where there is nothing to read.
func (r *reader) read(off, n int64) []byte {
	b := make([]byte, n)
	if _, err := r.d.ReadAt(b, off); err != nil {
		return nil
	}
	return b
}

// chain of clusters from start on in the FAT that counts.
func (r *reader) chain(start uint32) ([]uint32, error) {
	var out []uint32
	seen := map[uint32]bool{}
	for c := start; ; {
		if !r.valid(c) || seen[c] {
			return out, fmt.Errorf("%w chain at %#x", errBroken, c)
		}
		seen[c] = true
		v := r.entry(r.active, c)
		if v == 0 || v == r.bad() {
			return out, fmt.Errorf("%w chain: %d is free or bad", errBroken, c)
		}
		out = append(out, c)
		if r.isEnd(v) {
			return out, nil
		}
		c = v
	}
}

// node is an entry of a directory.
type node struct {
	name  string // the long one where there is one
	short string // the 11 bytes
	attr  byte
	start uint32
	size  uint32
	off   int64   // of its slot
	longs []int64 // of the slots of its long name, first on the disk first
}

func (n node) isDir() bool { return n.attr&0x10 != 0 }

// slots are the places of all slots of the directory that starts in cluster
// start, 0 for the root.
func (r *reader) slots(start uint32) ([]int64, error) {
	var out []int64
	if start == 0 && r.bits != 32 {
		for i := range r.rootEnts {
			out = append(out, r.root+32*i)
		}
		return out, nil
	}
	if start == 0 {
		start = r.rootClus
	}
	cs, err := r.chain(start)
	for _, c := range cs {
		for i := range r.cluster / 32 {
			out = append(out, r.offset(c)+32*i)
		}
	}
	return out, err
}

// list is a directory up to its end mark.
func (r *reader) list(start uint32) ([]node, error) {
	slots, err := r.slots(start)
	var out []node
	var longs []int64
	for _, off := range slots {
		e := r.read(off, 32)
		if e == nil || e[0] == 0 {
			break
		}
		if e[0] == 0xE5 {
			longs = nil
			continue
		}
		if e[11]&0x3F == 0x0F {
			if e[0]&0x40 != 0 {
				longs = nil
			}
			longs = append(longs, off)
			continue
		}
		n := node{short: string(e[:11]), attr: e[11], size: binary.LittleEndian.Uint32(e[28:]), off: off}
		n.start = uint32(binary.LittleEndian.Uint16(e[26:]))
		if r.bits == 32 {
			n.start |= uint32(binary.LittleEndian.Uint16(e[20:])) << 16
		}
		n.name = plainName(e[:11])
		if name, ok := r.longName(longs, n.short); ok {
			n.name, n.longs = name, longs
		}
		longs = nil
		out = append(out, n)
	}
	return out, err
}

// longName is the name in the slots before an entry, if it belongs to it.
func (r *reader) longName(longs []int64, short string) (string, bool) {
	var u []uint16
	for i := len(longs) - 1; i >= 0; i-- {
		e := r.read(longs[i], 32)
		want := byte(len(longs) - i)
		if i == 0 {
			want |= 0x40
		}
		if e[0] != want || e[13] != sum(short) {
			return "", false
		}
		for _, o := range []int{1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30} {
			u = append(u, binary.LittleEndian.Uint16(e[o:]))
		}
	}
	for i, c := range u {
		if c == 0 {
			u = u[:i]
			break
		}
	}
	return string(utf16.Decode(u)), len(u) > 0
}

func plainName(b []byte) string {
	s := strings.TrimRight(string(b[:8]), " ")
	if ext := strings.TrimRight(string(b[8:]), " "); ext != "" {
		s += "." + ext
	}
	return s
}

// contents of a file.
func (r *reader) contents(n node) ([]byte, error) {
	if n.size == 0 {
		return []byte{}, nil
	}
	cs, err := r.chain(n.start)
	if err != nil {
		return nil, err
	}
	if len(cs) != r.need(n.size) {
		return nil, fmt.Errorf("%w: %d clusters for %d bytes", errBroken, len(cs), n.size)
	}
	var b bytes.Buffer
	for _, c := range cs {
		b.Write(r.read(r.offset(c), r.cluster))
	}
	if b.Len() < int(n.size) {
		return nil, fmt.Errorf("%w: it lies beyond the device", errBroken)
	}
	return b.Bytes()[:n.size], nil
}

// files are the contents of all files that can be read, by path. Directories
// are in it with a slash at the end. A name that stands twice gets a # and a
// number.
func (r *reader) files() map[string]string {
	out := map[string]string{}
	seen := map[uint32]bool{}
	type dir struct {
		path  string
		start uint32
	}
	for todo := []dir{{"/", 0}}; len(todo) > 0; todo = todo[1:] {
		ns, _ := r.list(todo[0].start)
		for _, n := range ns {
			path := todo[0].path + n.name
			for i := 2; ; i++ {
				if _, twice := out[path]; !twice {
					break
				}
				path = fmt.Sprintf("%s%s#%d", todo[0].path, n.name, i)
			}
			switch {
			case n.attr&8 != 0 || n.name == "." || n.name == "..":
			case n.isDir() && r.valid(n.start) && !seen[n.start]:
				seen[n.start] = true
				out[path+"/"] = ""
				todo = append(todo, dir{path + "/", n.start})
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
	parts := strings.Split(strings.Trim(path, "/"), "/")
	start := uint32(0)
	for i, p := range parts {
		ns, _ := r.list(start)
		ok = false
		for _, n = range ns {
			if strings.EqualFold(n.name, p) || strings.EqualFold(plainName([]byte(n.short)), p) {
				ok = true
				break
			}
		}
		if !ok || i+1 < len(parts) && !n.isDir() {
			return node{}, false
		}
		start = n.start
	}
	return n, ok
}

// holds tells whether a file is at a path, by its long or its short name, that
// begins with b. Of files with the same name any will do.
func (r *reader) holds(path, b string) bool {
	ns, _ := r.list(0)
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range parts {
		var next []node
		for _, n := range ns {
			if !strings.EqualFold(n.name, p) && !strings.EqualFold(plainName([]byte(n.short)), p) {
				continue
			}
			if i+1 == len(parts) {
				if got, err := r.contents(n); n.isDir() || err == nil && strings.HasPrefix(string(got), b) {
					return true
				}
			} else if n.isDir() {
				more, _ := r.list(n.start)
				next = append(next, more...)
			}
		}
		ns = next
	}
	return false
}

// free counts the free clusters.
func (r *reader) free() (n uint32) {
	for c := uint32(2); c <= r.last(); c++ {
		if r.entry(r.active, c) == 0 {
			n++
		}
	}
	return n
}
