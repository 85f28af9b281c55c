// Command fattree makes large FAT32 volumes for benchmarks, straight in a sparse
// image file: directories full of files whose data is left as holes, and chains
// that no entry leads to.
//
//	fattree -size 32G -dirs 2000 -files 100 tree.img      200 000 files
//	fattree -size 256G -dirs 0 -files 1 large.img         one file
//	fattree -size 8G -dirs 1 -files 65000 -short dir.img  one large directory
//	fattree -size 8G -dirs 10 -files 100 -orphans 10000 orphans.img
//
// The same arguments give the same bytes.
package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"unicode/utf16"

	"github.com/fatkit/fatkit/bench/gen"
	"github.com/fatkit/fatkit/pkg/fat"
	"github.com/fatkit/fatkit/pkg/vol"
)

func main() { gen.Main("fattree", run) }

func run() error {
	size := flag.String("size", "32G", "size of the volume, with M, G or T")
	cluster := flag.Int64("cluster", 4096, "bytes a cluster")
	dirs := flag.Int("dirs", 2000, "number of directories; 0 puts the files into the root")
	files := flag.Int("files", 100, "files in each directory")
	short := flag.Bool("short", false, "short names only, one slot a file")
	orphans := flag.Int("orphans", 0, "chains that no entry leads to")
	flag.Parse()
	d, err := gen.New(fat.Driver(), *size, vol.FormatOptions{Type: "fat32", ClusterSize: *cluster})
	if err != nil {
		return err
	}
	t := newTree(d, *cluster)
	t.short = *short
	err = errors.Join(t.fill(*dirs, *files, *orphans), d.Sync(), d.Close())
	if err == nil {
		fmt.Printf("%s: %d directories, %d files, %d of %d clusters used\n", flag.Arg(0), *dirs, t.files, t.next-2, t.clusters)
	}
	return err
}

const (
	slotLen  = gen.SlotLen
	endChain = 0x0FFFFFFF
	date     = 0x5A21 // 2025-01-01
	clock    = 0x6000 // 12:00
)

// tree is a volume being filled.
type tree struct {
	d        *gen.Volume
	cluster  int64
	fats     []int64 // where they start
	data     int64   // where cluster 2 starts
	clusters uint32
	table    []uint32 // the FAT, as far as it is used
	next     uint32   // the first cluster that is free
	short    bool
	files    int
	rnd      *rand.Rand
}

// newTree reads where everything is on d.
func newTree(d *gen.Volume, cluster int64) *tree {
	boot := d.Boot
	sector := int64(binary.LittleEndian.Uint16(boot[11:]))
	reserved := int64(binary.LittleEndian.Uint16(boot[14:]))
	length := int64(binary.LittleEndian.Uint32(boot[36:]))
	t := &tree{d: d, cluster: cluster, clusters: uint32(d.Plan.Clusters), next: 3, rnd: rand.New(rand.NewPCG(42, 42)),
		table: []uint32{0x0FFFFFF8, endChain, endChain}}
	for i := range int64(boot[16]) {
		t.fats = append(t.fats, (reserved+i*length)*sector)
	}
	t.data = (reserved + int64(boot[16])*length) * sector
	return t
}

// alloc makes a chain of n clusters, one after the other.
func (t *tree) alloc(n int) uint32 {
	first := t.next
	for range n {
		t.next++
		t.table = append(t.table, t.next)
	}
	t.table[t.next-1] = endChain
	return first
}

func (t *tree) fill(dirs, files, orphans int) error {
	var root []byte
	if dirs == 0 {
		root = t.entries(files)
	}
	for i := range dirs {
		body := append(make([]byte, 2*slotLen), t.entries(files)...)
		first := t.alloc(int((int64(len(body)) + t.cluster - 1) / t.cluster))
		copy(body, slot(".          ", 0x10, first, 0))
		copy(body[slotLen:], slot("..         ", 0x10, 0, 0))
		if _, err := t.d.WriteAt(body, t.at(first)); err != nil {
			return err
		}
		root = append(root, slot(fmt.Sprintf("DIR%05d   ", i), 0x10, first, 0)...)
	}
	for range orphans {
		t.alloc(1 + t.rnd.IntN(4))
	}
	if err := t.root(root); err != nil {
		return err
	}
	return t.finish()
}

// entries are files with names, sizes and clusters, but without contents.
func (t *tree) entries(n int) []byte {
	var b []byte
	for range n {
		size, first := int64(0), uint32(0)
		if k := t.rnd.IntN(16); k > 0 {
			size = int64(k)*t.cluster - t.rnd.Int64N(t.cluster)
			first = t.alloc(k)
		}
		name := fmt.Sprintf("S%07dDAT", t.files)
		if !t.short {
			b = append(b, long(fmt.Sprintf("some-long-file-name-%06d.dat", t.files), name)...)
		}
		b = append(b, slot(name, 0x20, first, uint32(size))...)
		t.files++
	}
	return b
}

// root writes the root directory: cluster 2, and more at the end.
func (t *tree) root(b []byte) error {
	head := b[:min(int64(len(b)), t.cluster)]
	if _, err := t.d.WriteAt(head, t.at(2)); err != nil {
		return err
	}
	rest := b[len(head):]
	if len(rest) == 0 {
		return nil
	}
	first := t.alloc(int((int64(len(rest)) + t.cluster - 1) / t.cluster))
	t.table[2] = first
	_, err := t.d.WriteAt(rest, t.at(first))
	return err
}

// finish writes the FATs and the counts.
func (t *tree) finish() error {
	if t.next > t.clusters+2 {
		return fmt.Errorf("%d clusters are needed, the volume has %d", t.next-2, t.clusters)
	}
	b := make([]byte, 4*len(t.table))
	for i, v := range t.table {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
	for _, at := range t.fats {
		if _, err := t.d.WriteAt(b, at); err != nil {
			return err
		}
	}
	var counts [8]byte
	binary.LittleEndian.PutUint32(counts[:], t.clusters-(t.next-2))
	binary.LittleEndian.PutUint32(counts[4:], t.next-1)
	for _, sector := range []int64{1, 7} {
		if _, err := t.d.WriteAt(counts[:], sector*512+488); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) at(c uint32) int64 { return t.data + int64(c-2)*t.cluster }

// slot is a directory entry.
func slot(name string, attr byte, first, size uint32) []byte {
	b := make([]byte, slotLen)
	copy(b, name)
	b[11] = attr
	for _, at := range []int{14, 22} {
		binary.LittleEndian.PutUint16(b[at:], clock)
		binary.LittleEndian.PutUint16(b[at+2:], date)
	}
	binary.LittleEndian.PutUint16(b[18:], date)
	binary.LittleEndian.PutUint16(b[20:], uint16(first>>16))
	binary.LittleEndian.PutUint16(b[26:], uint16(first))
	binary.LittleEndian.PutUint32(b[28:], size)
	return b
}

// long are the slots of a long name that stand before the entry short.
func long(name, short string) []byte {
	const per = 13
	sum := byte(0)
	for _, c := range []byte(short) {
		sum = sum>>1 | sum<<7
		sum += c
	}
	units := utf16.Encode([]rune(name))
	n := (len(units) + per - 1) / per
	if len(units)%per != 0 {
		units = append(units, 0)
	}
	for len(units) < n*per {
		units = append(units, 0xFFFF)
	}
	var out []byte
	for i := n; i > 0; i-- {
		b := make([]byte, slotLen)
		b[0], b[11], b[13] = byte(i), 0x0F, sum
		if i == n {
			b[0] |= 0x40
		}
		for k, u := range units[(i-1)*per : i*per] {
			binary.LittleEndian.PutUint16(b[place(k):], u)
		}
		out = append(out, b...)
	}
	return out
}

// place is where unit k of a long name stands in its slot.
func place(k int) int {
	switch {
	case k < 5:
		return 1 + 2*k
	case k < 11:
		return 14 + 2*(k-5)
	}
	return 28 + 2*(k-11)
}
