// Command exfattree makes large exFAT volumes for benchmarks, straight in a
// sparse image file: directories full of files whose data is left as holes.
//
//	exfattree -size 4G -mode nofat tree.img     198 000 files of 1 to 4 clusters, NoFatChain
//	exfattree -size 10G -mode fat tree.img      as many, FAT chains of 8 clusters in a row
//	exfattree -size 12G -mode frag tree.img     as many, FAT chains of 4 clusters that are apart
//	exfattree -size 1G -mode empty -tops 0 -dirs 1 -files 50000 -name IMG_%06d.JPG dir.img
//	exfattree -size 4T -cluster 2048 -tops 0 -dirs 0 -solid big.img     the bitmap written out
//
// The same arguments give the same bytes. It prints where the metadata lies, as
// lines of a name, an offset and a length in bytes.
package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/fatkit/fatkit/bench/gen"
	"github.com/fatkit/fatkit/pkg/exfat"
	"github.com/fatkit/fatkit/pkg/vol"
)

func main() { gen.Main("exfattree", run) }

func run() error {
	size := flag.String("size", "4G", "size of the volume, with M, G or T")
	cluster := flag.Int64("cluster", 4096, "bytes a cluster")
	tops := flag.Int("tops", 20, "directories of the root, among which the others are dealt out; 0 for none")
	dirs := flag.Int("dirs", 1980, "directories with files")
	files := flag.Int("files", 100, "files in each of them")
	name := flag.String("name", "IMG_%06d_file.jpg", "name of a file, by its number")
	mode := flag.String("mode", "nofat", "nofat, fat, frag or empty: what the files are")
	solid := flag.Bool("solid", false, "write all of the bitmap, also its zeros")
	flag.Parse()
	d, err := gen.New(exfat.Driver(), *size, vol.FormatOptions{Type: "exfat", ClusterSize: *cluster})
	if err != nil {
		return err
	}
	t, err := newTree(d, *cluster)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	t.mode, t.name = *mode, *name
	err = errors.Join(t.fill(*tops, *dirs, *files, *solid), d.Sync(), d.Close())
	if err == nil {
		fmt.Fprintf(os.Stderr, "%s: %d directories, %d files, %d of %d clusters used\n", flag.Arg(0), *tops+*dirs, t.files, t.used, t.clusters)
		fmt.Printf("fat %d %d\n", t.fat, 4*int64(len(t.links)))
		fmt.Printf("bitmap %d %d\n", t.bits, len(t.bitmap))
		fmt.Printf("directories %d %d\n", t.at(t.first), int64(t.next-t.first)*t.cluster)
	}
	return err
}

const (
	slotLen  = gen.SlotLen
	endChain = 0xFFFFFFFF
	stamp    = 0x5C210000 // 2026-01-01
)

// tree is a volume being filled.
type tree struct {
	d        *gen.Volume
	sector   int64
	cluster  int64
	fat      int64 // where it starts
	heap     int64 // where cluster 2 starts
	clusters uint32
	root     uint32
	bitmap   []byte
	bits     int64 // where the bitmap starts
	links    []uint32
	next     uint32 // the first cluster that is free
	used     uint32
	first    uint32 // of the directories but the root
	mode     string
	name     string
	files    int
}

// newTree reads where everything is on d.
func newTree(d *gen.Volume, cluster int64) (*tree, error) {
	boot := d.Boot
	field := func(at int) int64 { return int64(binary.LittleEndian.Uint32(boot[at:])) }
	sector := int64(1) << boot[108]
	t := &tree{d: d, sector: sector, cluster: cluster, fat: field(80) * sector, heap: field(88) * sector, clusters: uint32(field(92)), root: uint32(field(96))}
	t.next, t.used = t.root+1, t.root-1 // the root is the last of what a format writes
	t.links = make([]uint32, t.next)
	t.bits, t.bitmap = t.heap, make([]byte, (t.clusters+7)/8)
	_, err := d.ReadAt(t.bitmap, t.bits)
	return t, err
}

// alloc takes n clusters, each step behind the one before, and returns the
// first; chained has the FAT link them.
func (t *tree) alloc(n, step int, chained bool) uint32 {
	first := t.next
	for i := range n {
		c := t.next
		if int(c-2)/8 < len(t.bitmap) {
			t.bitmap[(c-2)/8] |= 1 << ((c - 2) % 8)
		}
		t.used++
		t.next += uint32(step)
		for len(t.links) < int(t.next) {
			t.links = append(t.links, 0)
		}
		switch {
		case chained && i+1 == n:
			t.links[c] = endChain
		case chained:
			t.links[c] = t.next
		}
	}
	return first
}

// fill makes the directories, whose clusters follow those of all files.
func (t *tree) fill(tops, dirs, files int, solid bool) error {
	bodies := make([][]byte, dirs)
	for i := range bodies {
		for range files {
			bodies[i] = append(bodies[i], t.file()...)
		}
	}
	t.first = t.next
	var root []byte
	parents := make([][]byte, tops)
	for i, b := range bodies {
		set, err := t.dir(fmt.Sprintf("directory-%04d", i), b)
		if err != nil {
			return err
		}
		if tops == 0 {
			root = append(root, set...)
			continue
		}
		parents[i%tops] = append(parents[i%tops], set...)
	}
	for i, b := range parents {
		set, err := t.dir(fmt.Sprintf("top%02d", i), b)
		if err != nil {
			return err
		}
		root = append(root, set...)
	}
	if err := t.extendRoot(root); err != nil {
		return err
	}
	return t.finish(solid)
}

// file is the entry set of one more file.
func (t *tree) file() []byte {
	n, step, chained := 0, 1, true
	switch t.mode {
	case "nofat":
		n, chained = 1+t.files%4, false
	case "fat":
		n = 8
	case "frag":
		n, step = 4, 2
	}
	size, first := int64(0), uint32(0)
	if n > 0 {
		size, first = int64(n)*t.cluster-17, t.alloc(n, step, chained)
	}
	name := fmt.Sprintf(t.name, t.files)
	t.files++
	return set(name, 0x20, first, size, n > 0 && !chained)
}

// dir writes a directory, and is its entry set.
func (t *tree) dir(name string, body []byte) ([]byte, error) {
	n := max(1, (int64(len(body))+t.cluster-1)/t.cluster)
	first := t.alloc(int(n), 1, false)
	body = append(body, make([]byte, n*t.cluster-int64(len(body)))...)
	_, err := t.d.WriteAt(body, t.at(first))
	return set(name, 0x10, first, n*t.cluster, true), err
}

// extendRoot adds entries to the root, which is one cluster.
func (t *tree) extendRoot(sets []byte) error {
	root := make([]byte, t.cluster)
	if _, err := t.d.ReadAt(root, t.at(t.root)); err != nil {
		return err
	}
	at := 0
	for at < len(root) && root[at] != 0 {
		at += slotLen
	}
	if at+len(sets) > len(root) {
		return errors.New("the root has one cluster, which is too small for so many directories")
	}
	copy(root[at:], sets)
	_, err := t.d.WriteAt(root, t.at(t.root))
	return err
}

const piece = 64 << 10

// finish writes the FAT, as far as it is used, the bitmap and the percentage.
func (t *tree) finish(solid bool) error {
	if t.next > t.clusters+2 {
		return fmt.Errorf("clusters up to %d are needed, the volume has %d", t.next-1, t.clusters)
	}
	fat := make([]byte, 4*len(t.links))
	for i, v := range t.links {
		binary.LittleEndian.PutUint32(fat[4*i:], v)
	}
	from := 4 * (int64(t.root) + 1)
	if err := t.write(fat[from:], t.fat+from, false); err != nil {
		return err
	}
	if err := t.write(t.bitmap, t.bits, solid); err != nil {
		return err
	}
	for _, region := range []int64{0, 12} {
		if _, err := t.d.WriteAt([]byte{byte(int64(t.used) * 100 / int64(t.clusters))}, region*t.sector+112); err != nil {
			return err
		}
	}
	return nil
}

// write writes b, but leaves pieces that are zero unless all is wanted.
func (t *tree) write(b []byte, off int64, all bool) error {
	zero := make([]byte, piece)
	for len(b) > 0 {
		p := b[:min(len(b), piece)]
		if all || string(p) != string(zero[:len(p)]) {
			if _, err := t.d.WriteAt(p, off); err != nil {
				return err
			}
		}
		b, off = b[len(p):], off+int64(len(p))
	}
	return nil
}

func (t *tree) at(c uint32) int64 { return t.heap + int64(c-2)*t.cluster }

// set is the entry set of a file or directory, whose name is ASCII.
func set(name string, attr byte, first uint32, size int64, noFat bool) []byte {
	const per = 15
	n := (len(name) + per - 1) / per
	b := make([]byte, (2+n)*slotLen)
	b[0], b[1], b[4] = 0x85, byte(1+n), attr
	for _, at := range []int{8, 12, 16} {
		binary.LittleEndian.PutUint32(b[at:], stamp)
	}
	b[22], b[23], b[24] = 0x80, 0x80, 0x80
	stream := b[slotLen:]
	stream[0], stream[1], stream[3] = 0xC0, 1, byte(len(name))
	if noFat {
		stream[1] |= 2
	}
	hash := uint16(0)
	for i, c := range []byte(strings.ToUpper(name)) {
		hash = hash<<15 | hash>>1
		hash += uint16(c)
		hash = hash<<15 | hash>>1
		slot := b[(2+i/per)*slotLen:]
		slot[0], slot[2+2*(i%per)] = 0xC1, name[i]
	}
	binary.LittleEndian.PutUint16(stream[4:], hash)
	binary.LittleEndian.PutUint64(stream[8:], uint64(size))
	binary.LittleEndian.PutUint32(stream[20:], first)
	binary.LittleEndian.PutUint64(stream[24:], uint64(size))
	sum := uint16(0)
	for i, c := range b {
		if i != 2 && i != 3 {
			sum = sum<<15 | sum>>1
			sum += uint16(c)
		}
	}
	binary.LittleEndian.PutUint16(b[2:], sum)
	return b
}
