package exfat

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// lab is a small volume with a known tree, to be damaged. All but the boot
// regions, the up-case table and the empty bitmap is written by the code here.
type lab struct {
	*reader
	t     testing.TB
	kind  string
	m     *dev.Mem
	next  uint32            // the cluster that is given out next
	known map[string]string // contents of all files by path, as reader.files has them
	table []uint32          // clusters of the bitmap
}

// Kinds of labs: clusters of 512 bytes, of 32 KiB, and of 4 KiB with sectors of
// 4096 bytes.
const allKinds = "512 32k 4k"

// newLab makes the volume and its tree.
func newLab(t testing.TB, kind string) *lab {
	t.Helper()
	l := &lab{t: t, kind: kind, known: map[string]string{}}
	label := func(o *vol.FormatOptions) { o.Label = "LABEL" }
	switch kind {
	case "512":
		l.m = formatted(t, 4<<20+3*512, 512, label)
	case "big":
		l.m = formatted(t, 320<<20, 32<<10, label)
	case "32k":
		l.m = formatted(t, 24<<20, 32<<10, label)
	case "4k":
		l.m = formatted(t, 8<<20, 4096, label, func(o *vol.FormatOptions) { o.SectorSize = 4096 })
	}
	r, err := newReader(l.m)
	must(t, err)
	l.reader = r
	for l.next = 2; l.marked(l.next); {
		l.next++
	}
	l.plant()
	return l
}

// plant makes the tree. The root takes three clusters that are apart, MANY four,
// and there is an unused slot here and there.
func (l *lab) plant() {
	root := append([]uint32{l.root}, l.next, l.next+2)
	l.next += 3
	l.chainUp(root)
	l.file("/HELLO.TXT", l.run(3), noFat)
	l.file("/A rather long name with ä.bin", l.every(5, 3), 0)
	l.pad("/")
	l.file("/EMPTY.DAT", nil, 0)
	l.sized("/ONE.BIN", l.run(1), noFat, 10, 10)
	l.file("/BIG.BIN", l.run(9), 0)
	l.dir("/SUB", l.run(1), noFat)
	l.pad("/")
	l.dir("/MANY", l.every(4, 2), 0)
	l.file("/LAST.BIN", []uint32{l.last() - 1, l.last()}, noFat)
	cs := l.run(4)
	l.sized("/PART.BIN", cs, noFat, uint64(4*l.cluster), uint64(l.cluster+5))
	l.dir("/SUB/DEEP", l.run(2), noFat)
	l.file("/SUB/LEAF.TXT", l.run(3), 0)
	l.vendor("/SUB/V.DAT")
	l.file("/SUB/DEEP/"+strings.Repeat("a 😀", 50)+".txt", l.run(2), noFat)
	l.file("/SUB/DEEP/X.BIN", l.every(3, 2), 0)
	for i := range 9 {
		if i%3 == 1 {
			l.pad("/MANY")
		}
		l.file("/MANY/"+string(rune('A'+i))+".DAT", l.run(1+i%3), noFat*byte(i%2))
	}
	l.count()
}

// noFat is the flag NoFatChain.
const noFat = byte(2)

// clone is a copy that can be damaged.
func (l *lab) clone(t testing.TB) *lab {
	t.Helper()
	c, r := *l, *l.reader
	c.t, c.reader, c.m = t, &r, voltest.Copied(t, l.m)
	c.d = c.m
	c.known = maps.Clone(l.known)
	return &c
}

// run is n clusters in a row, every n clusters with gaps between them.
func (l *lab) run(n int) []uint32 { return l.every(n, 1) }

func (l *lab) every(n int, step uint32) (cs []uint32) {
	for i := range uint32(n) {
		cs = append(cs, l.next+i*step)
	}
	l.next += uint32(n) * step
	return cs
}

// dataOf is what a file holds: it differs from file to file and from cluster
// to cluster.
func dataOf(path string, n uint64) []byte {
	h := fnv.New32a()
	h.Write([]byte(path))
	x := h.Sum32() | 1
	b := make([]byte, n)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x>>24) | 1
	}
	return b
}

// file makes one that ends a little before its last cluster does.
func (l *lab) file(path string, cs []uint32, flags byte) {
	n := uint64(max(0, int64(len(cs))*l.cluster-7))
	l.sized(path, cs, flags, n, n)
}

// sized makes a file of size bytes, valid of which were written.
func (l *lab) sized(path string, cs []uint32, flags byte, size, valid uint64) {
	b := dataOf(path, size)
	for i, c := range cs {
		l.put(l.offset(c), b[min(len(b), i*int(l.cluster)):min(len(b), (i+1)*int(l.cluster))]...)
	}
	l.own(cs, flags)
	l.add(path, newSetOf(path, 0x20, flags, cs, size, valid))
	clear(b[valid:])
	l.known[path] = string(b)
}

// own marks clusters as used, and links them unless they need no links: then
// their FAT entries hold something left over.
func (l *lab) own(cs []uint32, flags byte) {
	if flags&noFat == 0 {
		l.chainUp(cs)
	}
	for i, c := range cs {
		l.bit(c, true)
		if flags&noFat != 0 {
			l.setFAT(c, []uint32{0, 0xFFFFFFFF, c + 7, 2}[i%4])
		}
	}
}

// dir makes an empty directory.
func (l *lab) dir(path string, cs []uint32, flags byte) {
	l.own(cs, flags)
	n := uint64(len(cs)) * uint64(l.cluster)
	l.add(path, newSetOf(path, 0x10, flags, cs, n, n))
	l.known[path+"/"] = ""
}

// vendor makes a file with a vendor extension and a vendor allocation.
func (l *lab) vendor(path string) {
	cs, own := l.run(2), l.run(2)
	b := dataOf(path, uint64(l.cluster)+9)
	l.put(l.offset(cs[0]), b...)
	l.own(cs, noFat)
	l.own(own, noFat)
	l.put(l.offset(own[0]), dataOf(path+" of the vendor", uint64(2*l.cluster))...)
	set := newSetOf(path, 0x20, noFat, cs, uint64(len(b)), uint64(len(b)))
	set = append(set, vendorEntry(0xE0, 0, 0, 0)...)
	set = append(set, vendorEntry(0xE1, 3, own[0], uint64(2*l.cluster))...)
	l.add(path, sealed(set))
	l.known[path] = string(b)
}

// vendorEntry is a secondary entry with a GUID.
func vendorEntry(kind, flags byte, start uint32, length uint64) []byte {
	b := make([]byte, 32)
	b[0], b[1] = kind, flags
	for i := range 16 {
		b[2+i] = byte(0x30 + i)
	}
	binary.LittleEndian.PutUint32(b[20:], start)
	binary.LittleEndian.PutUint64(b[24:], length)
	return b
}

// newSetOf is an entry set of a day in 2020 for the last part of path.
func newSetOf(path string, attr byte, flags byte, cs []uint32, length, valid uint64) []byte {
	le := binary.LittleEndian
	u := utf16.Encode([]rune(path[strings.LastIndex(path, "/")+1:]))
	n := (len(u) + 14) / 15
	b := make([]byte, 32*(2+n))
	b[0], b[4] = 0x85, attr
	const day = 40<<25 | 5<<21 | 17<<16
	for _, o := range []int{8, 12, 16} {
		le.PutUint32(b[o:], day)
	}
	b[22], b[23], b[24] = 0x80, 0x80, 0x80
	s := b[32:]
	s[0], s[1], s[3] = 0xC0, 1, byte(len(u))
	if len(cs) > 0 {
		s[1] |= flags
		le.PutUint32(s[20:], cs[0])
	}
	le.PutUint64(s[8:], valid)
	le.PutUint64(s[24:], length)
	for i := range n {
		b[64+32*i] = 0xC1
	}
	for i, c := range u {
		le.PutUint16(b[64+i/15*32+2+i%15*2:], c)
	}
	return sealed(b)
}

// sealed gives a set its count, its hash and its checksum.
func sealed(b []byte) []byte {
	b[1] = byte(len(b)/32 - 1)
	return summed(hashed(b))
}

func hashed(b []byte) []byte {
	var u []uint16
	for i := range int(b[35]) {
		u = append(u, binary.LittleEndian.Uint16(b[64+i/15*32+2+i%15*2:]))
	}
	binary.LittleEndian.PutUint16(b[36:], standardTable().hash(u))
	return b
}

// summed gives a set its checksum alone.
func summed(b []byte) []byte {
	var sum uint16
	for i, c := range b {
		if i != 2 && i != 3 {
			sum = sum>>1 + sum<<15 + uint16(c)
		}
	}
	binary.LittleEndian.PutUint16(b[2:], sum)
	return b
}

// dirOf is the directory that a path is in.
func (l *lab) dirOf(path string) node {
	if i := strings.LastIndex(path, "/"); i > 0 {
		return l.node(path[:i])
	}
	return l.rootNode()
}

// add puts a set into the directory of path.
func (l *lab) add(path string, set []byte) { l.append(l.dirOf(path), set) }

// append puts slots at the end of a directory.
func (l *lab) append(dir node, set []byte) (place int64) {
	l.t.Helper()
	places := l.places(dir)
	i := l.end(places)
	if i+len(set)/32 > len(places) {
		l.t.Fatalf("no room for %d slots", len(set)/32)
	}
	for k := 0; k < len(set); k += 32 {
		l.put(places[i+k/32], set[k:k+32]...)
	}
	return places[i]
}

func (l *lab) end(places []int64) int {
	for i, p := range places {
		if l.get(p) == 0 {
			return i
		}
	}
	return len(places)
}

// pad fills the cluster in which a directory ends with unused slots.
func (l *lab) pad(path string) {
	places := l.places(l.at(path))
	for i := l.end(places); i%l.per() != 0; i++ {
		l.put(places[i], 0x05)
	}
}

// chainUp makes a chain of cs.
func (l *lab) chainUp(cs []uint32) {
	for i, c := range cs {
		v := uint32(0xFFFFFFFF)
		if i+1 < len(cs) {
			v = cs[i+1]
		}
		l.setFAT(c, v)
		l.bit(c, true)
	}
}

func (l *lab) put(off int64, b ...byte) {
	l.t.Helper()
	_, err := l.m.WriteAt(b, off)
	must(l.t, err)
}

func (l *lab) get(off int64) byte        { return l.read(off, 1)[0] }
func (l *lab) get64(off int64) uint64    { return binary.LittleEndian.Uint64(l.read(off, 8)) }
func (l *lab) put16(off int64, v uint16) { l.put(off, byte(v), byte(v>>8)) }
func (l *lab) put32(off int64, v uint32) { l.put16(off, uint16(v)); l.put16(off+2, uint16(v>>16)) }
func (l *lab) put64(off int64, v uint64) { l.put32(off, uint32(v)); l.put32(off+4, uint32(v>>32)) }
func (l *lab) setFAT(c, v uint32)        { l.put32(l.link(c), v) }
func (l *lab) marked(c uint32) bool      { return l.get(l.bitPlace(c))>>((c-2)%8)&1 != 0 }
func (l *lab) special(kind byte) (off int64) {
	for _, p := range l.places(l.rootNode()) {
		if l.get(p) == kind {
			return p
		}
	}
	l.t.Fatalf("there is no entry of type %#x", kind)
	return 0
}

// bitPlace is the byte of the bitmap that has the bit of c.
func (l *lab) bitPlace(c uint32) int64 {
	if l.table == nil {
		cs, err := l.chain(l.get32(l.special(0x81) + 20))
		must(l.t, err)
		l.table = cs
	}
	pos := int64(c-2) / 8
	return l.offset(l.table[pos/l.cluster]) + pos%l.cluster
}

func (l *lab) bit(c uint32, used bool) {
	off := l.bitPlace(c)
	if b := l.get(off); used {
		l.put(off, b|1<<((c-2)%8))
	} else {
		l.put(off, b&^(1<<((c-2)%8)))
	}
}

// count writes the percentage in use.
func (l *lab) count() {
	used := uint64(0)
	for c := uint32(2); c <= l.last(); c++ {
		if l.marked(c) {
			used++
		}
	}
	l.put(112, byte(used*100/uint64(l.n)))
}

// at is the entry at a path, and the root for /; node is that of anything else.
func (l *lab) at(path string) node {
	l.t.Helper()
	if path == "/" {
		return l.rootNode()
	}
	return l.node(path)
}

func (l *lab) node(path string) node {
	l.t.Helper()
	n, ok := l.find(path)
	if !ok {
		l.t.Fatalf("there is no %s", path)
	}
	return n
}

// cells are the clusters of what is at a path.
func (l *lab) cells(path string) []uint32 {
	l.t.Helper()
	cs, err := l.clusters(l.at(path))
	must(l.t, err)
	return cs
}

// set is the whole set of what is at a path.
func (l *lab) set(n node) (b []byte) {
	for _, p := range n.slots {
		b = append(b, l.read(p, 32)...)
	}
	return b
}

// edit changes the set of what is at a path, and leaves its checksum wrong.
func (l *lab) edit(path string, change func(b []byte)) node {
	l.t.Helper()
	n := l.node(path)
	b := l.set(n)
	change(b)
	for i, p := range n.slots {
		l.put(p, b[32*i:32*i+32]...)
	}
	return n
}

// redo changes it, and gives it the right checksum.
func (l *lab) redo(path string, change func(b []byte)) node {
	l.t.Helper()
	return l.edit(path, func(b []byte) {
		change(b)
		summed(b[:min(len(b), 32*(1+int(b[1])))])
	})
}

// spare is a free cluster, the i-th from the middle of the volume on.
func (l *lab) spare(i int) uint32 { return l.n/2 + uint32(i) }

// region changes both boot regions, and gives them the right checksum.
func (l *lab) region(off int64, b ...byte) {
	l.put(off, b...)
	l.put(12*l.sector+off, b...)
	resealed(l.t, l.m, l.sector)
}

// forPeer is a copy without what fsck.exfat 1.2.0 does not know: vendor entries.
func (l *lab) forPeer(t testing.TB) *lab {
	c := l.clone(t)
	c.eachNode(c.rootNode(), c.dropVendors)
	return c
}

// eachNode calls fn for all that is in a directory, and below it.
func (l *lab) eachNode(dir node, fn func(n node)) {
	for _, n := range l.list(dir) {
		fn(n)
		if n.isDir() {
			l.eachNode(n, fn)
		}
	}
}

// dropVendors takes what stands behind the name out of a set, and gives its
// clusters back.
func (l *lab) dropVendors(n node) {
	keep := 2 + (len(utf16.Encode([]rune(n.name)))+14)/15
	if len(n.slots) <= keep {
		return
	}
	for _, p := range n.slots[keep:] {
		e := l.read(p, 32)
		if e[0]&0xE0 == 0xE0 && e[0] != 0xE0 && e[1]&1 == 1 {
			start := binary.LittleEndian.Uint32(e[20:])
			cs := []uint32{start}
			if e[1]&noFat == 0 {
				cs, _ = l.chain(start)
			}
			for k := uint32(1); e[1]&noFat != 0 && k < uint32(l.need(binary.LittleEndian.Uint64(e[24:]))); k++ {
				cs = append(cs, start+k)
			}
			for _, c := range cs {
				l.bit(c, false)
			}
		}
		l.put(p, e[0]&0x7F)
	}
	b := l.set(n)[:32*keep]
	b[1] = byte(keep - 1)
	for i, p := range n.slots[:keep] {
		l.put(p, summed(b)[32*i:32*i+32]...)
	}
}
