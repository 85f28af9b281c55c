package fat

import (
	"encoding/binary"
	"fmt"
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
// sector and the empty FATs is written by the code here.
type lab struct {
	*reader
	t     testing.TB
	kind  string
	m     *dev.Mem
	next  uint32            // the cluster that is given out next
	known map[string]string // contents of all files by path, as reader.files has them
}

// Kinds of labs: FAT12 and FAT16 with clusters of 512 bytes, FAT32 likewise
// and with sectors of 4096 bytes.
const allKinds = "12 16 32 4k"

// newLab makes the volume and its tree.
func newLab(t testing.TB, kind string) *lab {
	t.Helper()
	label := func(o *vol.FormatOptions) { o.Label = "LABEL" }
	l := &lab{t: t, kind: kind, next: 3, known: map[string]string{}}
	switch kind {
	case "12":
		l.m = formatted(t, "fat12", 1<<20, 512, label)
	case "16":
		l.m = formatted(t, "fat16", 4<<20, 512, label)
	case "32":
		l.m = formatted(t, "fat32", 35<<20, 512, label)
	case "4k":
		l.m = formatted(t, "fat32", 272<<20, 4096, label, func(o *vol.FormatOptions) { o.SectorSize = 4096 })
	}
	r, err := newReader(l.m)
	if err != nil {
		t.Fatal(err)
	}
	l.reader = r
	l.plant()
	return l
}

// plant makes the tree. HELLO.TXT lies where an entry of a FAT12 crosses two
// sectors, LAST.BIN ends in the last cluster there is.
func (l *lab) plant() {
	if l.bits == 32 {
		l.link([]uint32{2, 3, 4})
		l.next = 5
	}
	l.file("/HELLO.TXT", l.run(340, 3))
	l.file("/A rather long name.bin", l.every(5, 3))
	l.file("/EMPTY.DAT", nil)
	l.small("/ONE.BIN", l.run(0, 1), 10)
	l.file("/BIG.BIN", l.run(0, 9))
	l.dir("/SUB", l.run(0, 1))
	l.dir("/MANY", l.run(0, 3))
	l.file("/LAST.BIN", l.run(l.last()-1, 2))
	l.dir("/SUB/DEEP", l.run(0, 1))
	l.file("/SUB/LEAF.TXT", l.run(0, 3))
	l.file("/SUB/DEEP/leaf with ä long name 😀.txt", l.run(0, 2))
	l.file("/SUB/DEEP/X.BIN", l.every(3, 2))
	for i := range 40 {
		l.file(fmt.Sprintf("/MANY/F%02d.DAT", i), l.run(0, 1+i%2))
	}
	l.count()
}

// clone is a copy that can be damaged.
func (l *lab) clone(t testing.TB) *lab {
	t.Helper()
	c, r := *l, *l.reader
	c.t, c.reader = t, &r
	c.m = voltest.Resized(t, l.m, l.m.Size())
	c.d = c.m
	c.known = maps.Clone(l.known)
	return &c
}

// run is n clusters in a row from c on, or from where the last one ended.
func (l *lab) run(c uint32, n int) []uint32 {
	if c == 0 {
		c = l.next
		l.next += uint32(n)
	}
	var cs []uint32
	for i := range uint32(n) {
		cs = append(cs, c+i)
	}
	return cs
}

// every is n clusters with gaps between them.
func (l *lab) every(n int, step uint32) []uint32 {
	var cs []uint32
	for i := range uint32(n) {
		cs = append(cs, l.next+i*step)
	}
	l.next += uint32(n) * step
	return cs
}

// data that differs from file to file and from cluster to cluster.
func data(path string, n int64) []byte {
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
func (l *lab) file(path string, cs []uint32) { l.small(path, cs, max(0, int64(len(cs))*l.cluster-7)) }

// small makes a file of size bytes.
func (l *lab) small(path string, cs []uint32, size int64) {
	b := data(path, size)
	for i, c := range cs {
		l.put(l.offset(c), b[min(len(b), i*int(l.cluster)):min(len(b), (i+1)*int(l.cluster))]...)
	}
	l.link(cs)
	l.enter(path, 0x20, first(cs), uint32(size))
	l.known[path] = string(b)
}

// dir makes a directory with its dot entries.
func (l *lab) dir(path string, cs []uint32) {
	l.link(cs)
	up := uint32(0)
	if i := strings.LastIndex(path, "/"); i > 0 {
		up = l.node(path[:i]).start
	}
	l.put(l.offset(cs[0]), slot(".          ", 0x10, cs[0], 0)...)
	l.put(l.offset(cs[0])+32, slot("..         ", 0x10, up, 0)...)
	l.enter(path, 0x10, cs[0], 0)
	l.known[path+"/"] = ""
}

func first(cs []uint32) uint32 {
	if len(cs) == 0 {
		return 0
	}
	return cs[0]
}

// link makes a chain of cs in all FATs.
func (l *lab) link(cs []uint32) {
	for i, c := range cs {
		v := l.eoc()
		if i+1 < len(cs) {
			v = cs[i+1]
		}
		l.set(c, v)
	}
}

// slot is a short entry of a day in 2020.
func slot(name string, attr byte, start, size uint32) []byte {
	b := make([]byte, 32)
	copy(b, name)
	b[11] = attr
	const date = 40<<9 | 5<<5 | 17
	for _, o := range []int{16, 18, 24} {
		binary.LittleEndian.PutUint16(b[o:], date)
	}
	binary.LittleEndian.PutUint16(b[20:], uint16(start>>16))
	binary.LittleEndian.PutUint16(b[26:], uint16(start))
	binary.LittleEndian.PutUint32(b[28:], size)
	return b
}

// sum is the checksum of a short name.
func sum(short string) byte {
	var s byte
	for _, c := range []byte(short) {
		s = s<<7 + s>>1 + c
	}
	return s
}

// longSlotsOf are the slots of a long name, in the order on the disk.
func longSlotsOf(name, short string) [][]byte {
	u := utf16.Encode([]rune(name))
	n := (len(u) + 12) / 13
	if len(u)%13 != 0 {
		u = append(u, 0)
	}
	var out [][]byte
	for k := n; k >= 1; k-- {
		b := make([]byte, 32)
		b[0], b[11], b[13] = byte(k), 0x0F, sum(short)
		if k == n {
			b[0] |= 0x40
		}
		for i, o := range []int{1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30} {
			c := uint16(0xFFFF)
			if at := (k-1)*13 + i; at < len(u) {
				c = u[at]
			}
			binary.LittleEndian.PutUint16(b[o:], c)
		}
		out = append(out, b)
	}
	return out
}

// enter adds an entry, with a long name where the name is no short one.
func (l *lab) enter(path string, attr byte, start, size uint32) {
	i := strings.LastIndex(path, "/")
	name := path[i+1:]
	dir := uint32(0)
	if i > 0 {
		dir = l.node(path[:i]).start
	}
	base, ext, _ := strings.Cut(name, ".")
	var slots [][]byte
	short := fmt.Sprintf("%-8s%-3s", base, ext)
	if len(short) != 11 || short != strings.ToUpper(short) || strings.Contains(base, " ") {
		short = fmt.Sprintf("%-6s~1%-3.3s", strings.ToUpper(strings.ReplaceAll(base, " ", ""))[:6], strings.ToUpper(ext))
		slots = longSlotsOf(name, short)
	}
	l.append(dir, append(slots, slot(short, attr, start, size))...)
}

// append puts slots at the end of a directory.
func (l *lab) append(dir uint32, slots ...[]byte) {
	l.t.Helper()
	places, _ := l.slots(dir)
	i := 0
	for i < len(places) && l.get(places[i]) != 0 {
		i++
	}
	if i+len(slots) > len(places) {
		l.t.Fatalf("no room for %d slots", len(slots))
	}
	for k, s := range slots {
		l.put(places[i+k], s...)
	}
}

func (l *lab) put(off int64, b ...byte) {
	l.t.Helper()
	if _, err := l.m.WriteAt(b, off); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) get(off int64) byte { return l.read(off, 1)[0] }

func (l *lab) put16(off int64, v uint16) { l.put(off, byte(v), byte(v>>8)) }
func (l *lab) put32(off int64, v uint32) { l.put16(off, uint16(v)); l.put16(off+2, uint16(v>>16)) }
func (l *lab) get32(off int64) uint32    { return binary.LittleEndian.Uint32(l.read(off, 4)) }
func (l *lab) get16(off int64) uint16    { return binary.LittleEndian.Uint16(l.read(off, 2)) }

// boot writes to the boot sector, and to its backup where there is one.
func (l *lab) boot(off int64, b ...byte) {
	l.put(off, b...)
	if l.bits == 32 {
		l.put(6*l.sector+off, b...)
	}
}

// extSignature is where BS_BootSig is.
func (l *lab) extSignature() int64 {
	if l.bits == 32 {
		return 66
	}
	return 38
}

func (l *lab) boot16(off int64, v uint16) { l.boot(off, byte(v), byte(v>>8)) }
func (l *lab) boot32(off int64, v uint32) {
	l.boot16(off, uint16(v))
	l.boot16(off+2, uint16(v>>16))
}

// set entry c in all FATs; setIn in one.
func (l *lab) set(c, v uint32) {
	for k := range l.fats {
		l.setIn(k, c, v)
	}
}

func (l *lab) setIn(k int, c, v uint32) {
	off := l.place(k, c)
	switch {
	case l.bits == 32:
		l.put32(off, v)
	case l.bits == 16:
		l.put16(off, uint16(v))
	case c%2 == 1:
		l.put16(off, l.get16(off)&0x000F|uint16(v)<<4)
	default:
		l.put16(off, l.get16(off)&0xF000|uint16(v)&0xFFF)
	}
}

// count writes the count of free clusters into FSInfo.
func (l *lab) count() {
	if l.bits == 32 {
		l.put32(l.sector+488, l.free())
	}
}

// node is the entry at a path, which must be there.
func (l *lab) node(path string) node {
	l.t.Helper()
	n, ok := l.find(path)
	if !ok {
		l.t.Fatalf("there is no %s", path)
	}
	return n
}

// cells is the chain of what is at a path.
func (l *lab) cells(path string) []uint32 {
	l.t.Helper()
	cs, err := l.chain(l.node(path).start)
	if err != nil {
		l.t.Fatal(err)
	}
	return cs
}

// start sets the first cluster of an entry.
func (l *lab) start(n node, c uint32) {
	l.put16(n.off+26, uint16(c))
	if l.bits == 32 {
		l.put16(n.off+20, uint16(c>>16))
	}
}

// spare is a free cluster, the i-th from the middle of the volume on.
func (l *lab) spare(i int) uint32 { return uint32(l.clusters/2) + uint32(i) }

// places are those of all slots of a directory.
func (l *lab) places(path string) []int64 {
	start := uint32(0)
	if path != "/" {
		start = l.node(path).start
	}
	ss, _ := l.slots(start)
	return ss
}

// slotOf is the place of slot i of a directory.
func (l *lab) slotOf(path string, i int) int64 { return l.places(path)[i] }

// insert puts a slot before slot i of a directory, and moves the others on.
func (l *lab) insert(path string, i int, b []byte) {
	for _, off := range l.places(path)[i:] {
		old := l.read(off, 32)
		l.put(off, b...)
		b = old
	}
}

// The tree as it is planted has nothing wrong, for us and for fsck.fat, and
// the reader of the tests sees what was planted.
func TestLabIsSound(t *testing.T) {
	for _, kind := range []string{"12", "16", "32", "4k"} {
		t.Run(kind, func(t *testing.T) {
			l := newLab(t, kind)
			sound(t, l.m)
			got := l.files()
			for path, want := range l.known {
				if b, ok := got[path]; !ok || b != want {
					t.Errorf("%s: is there: %v; its contents differ", path, ok)
				}
			}
			if len(got) != len(l.known) {
				t.Errorf("%d files, planted %d", len(got), len(l.known))
			}
			fsckSilent(t, l.m)
		})
	}
}
