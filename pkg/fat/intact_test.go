package fat

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestIntactFiles holds check -y to losing no file that no damage met.
func TestIntactFiles(t *testing.T) {
	voltest.Intact{
		Driver: Driver(),
		Format: func(rnd *rand.Rand) (int64, vol.FormatOptions) {
			o := vol.FormatOptions{Type: "fat12", Label: "INTACT", ID: "1234-ABCD", Seed: 1, Time: 1700000000, ClusterSize: 512}
			switch rnd.IntN(4) {
			case 0:
				o.Type = "fat16"
				return 4<<20 + 512*rnd.Int64N(16), o
			case 1:
				o.Type = "fat32"
				return 35 << 20, o
			case 2:
				o.ClusterSize = 2048
			}
			return 1<<20 + 512*rnd.Int64N(16), o
		},
		Hits:  func(h *voltest.Hitter) func() string { return newHitter(h).hit },
		Files: filesOf,
		Rests: restsOf,
		// Two entries of one name are alike, and so are two of one directory whose dot
		// entries were hit.
		Ambiguous: []string{"name-twice", "directory-twice"},
		Once:      []uint64{159, 190, 406, 1806, 2378, 3187, 4016, 5718, 5893},
	}.Run(t, 150)
}

func filesOf(d dev.Device) (map[string]string, error) {
	r, err := newReader(d)
	if err != nil {
		return nil, err
	}
	return r.files(), nil
}

// linkRanges are the FAT entries of clusters, in all FATs.
func (r *reader) linkRanges(cs []uint32) (out []dev.Range) {
	for _, c := range cs {
		for k := range r.fats {
			out = append(out, dev.Range{Off: r.place(k, c), Len: map[int]int64{12: 2, 16: 2, 32: 4}[r.bits]})
		}
	}
	return out
}

// restsOf is what files rest upon: the slots of their entries, their chains and
// those of directories on the way, and their clusters.
func restsOf(t testing.TB, d dev.Device) map[string][]dev.Range {
	t.Helper()
	r, err := newReader(d)
	if err != nil {
		t.Fatal(err)
	}
	chain := func(start uint32) []uint32 {
		if start == 0 {
			return nil
		}
		cs, err := r.chain(start)
		if err != nil {
			t.Fatal(err)
		}
		return cs
	}
	out := map[string][]dev.Range{}
	var down func(path string, start uint32, above []dev.Range)
	down = func(path string, start uint32, above []dev.Range) {
		ns, err := r.list(start)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range ns {
			if n.attr&8 != 0 || n.name == "." || n.name == ".." {
				continue
			}
			on := append([]dev.Range(nil), above...)
			for _, off := range append(n.longs, n.off) {
				on = append(on, dev.Range{Off: off, Len: 32})
			}
			cs := chain(n.start)
			on = append(on, r.linkRanges(cs)...)
			if n.isDir() {
				down(path+n.name+"/", n.start, on)
				continue
			}
			for _, c := range cs {
				on = append(on, dev.Range{Off: r.offset(c), Len: r.cluster})
			}
			out[path+n.name] = on
		}
	}
	down("/", 0, r.linkRanges(chain(r.rootClus)))
	return out
}

// hitter damages a volume: it knows from the state before where things are.
type hitter struct {
	*voltest.Hitter
	*lab
	nodes []node
	dirs  []uint32  // first clusters, 0 for the root
	slots [][]int64 // of each directory
	used  []uint32  // clusters of files and directories
	meta  []int64   // sectors of directories
}

func newHitter(v *voltest.Hitter) *hitter {
	r, err := newReader(v.Good)
	if err != nil {
		v.T.Fatal(err)
	}
	h := &hitter{Hitter: v, lab: &lab{t: v.T, reader: r}, dirs: []uint32{0}}
	for i := 0; i < len(h.dirs); i++ {
		slots, _ := r.slots(h.dirs[i])
		h.slots = append(h.slots, slots)
		for k := 0; k < len(slots); k += int(r.sector / 32) {
			h.meta = append(h.meta, slots[k])
		}
		ns, _ := r.list(h.dirs[i])
		for _, n := range ns {
			if n.attr&8 != 0 || n.name == "." || n.name == ".." {
				continue
			}
			h.nodes = append(h.nodes, n)
			cs, _ := r.chain(n.start)
			h.used = append(h.used, cs...)
			if n.isDir() {
				h.dirs = append(h.dirs, n.start)
			}
		}
	}
	r.d, h.m = v.D, v.D
	return h
}

func (h *hitter) hit() string {
	kinds := []func() string{h.hitByte, h.hitByte, h.hitByte, h.hitSlot, h.hitSector, h.hitTable, h.hitLink, h.hitLink, h.hitLink, h.hitField, h.hitField, h.hitPair, h.hitAppend, h.hitDots}
	return kinds[h.Rnd.IntN(len(kinds))]()
}

// slot is one of a directory, mostly before its end.
func (h *hitter) slot() int64 {
	slots, _ := voltest.Pick(h.Rnd, h.slots)
	end := h.endOf(slots)
	return slots[h.Rnd.IntN(min(len(slots), end+2))]
}

func (h *hitter) endOf(slots []int64) int {
	for i, off := range slots {
		if h.get(off) == 0 {
			return i
		}
	}
	return len(slots)
}

func (h *hitter) hitByte() string {
	c, ok := voltest.Pick(h.Rnd, h.used)
	if ok && h.Rnd.IntN(4) == 0 {
		return h.Byte(h.place(h.Rnd.IntN(h.fats), c), 2)
	}
	return h.Byte(h.slot(), 32)
}

func (h *hitter) hitSlot() string { return h.Fill(h.slot(), 32, h.meta) }

func (h *hitter) hitSector() string {
	off, _ := voltest.Pick(h.Rnd, h.meta)
	return h.Fill(off, h.sector, h.meta)
}

// hitTable overwrites some entries of one FAT.
func (h *hitter) hitTable() string {
	c, ok := voltest.Pick(h.Rnd, h.used)
	if !ok {
		return ""
	}
	return h.Fill(h.place(h.Rnd.IntN(h.fats), c), 1+h.Rnd.Int64N(12), nil)
}

// target is where a wrong link may lead.
func (h *hitter) target() uint32 {
	switch h.Rnd.IntN(6) {
	case 0:
		return []uint32{0, 1, h.bad(), h.eoc()}[h.Rnd.IntN(4)]
	case 1:
		return 2 + h.Rnd.Uint32N(uint32(h.clusters))
	}
	c, _ := voltest.Pick(h.Rnd, h.used)
	return c
}

// hitLink has a cluster lead elsewhere, in all FATs or in one.
func (h *hitter) hitLink() string {
	c, ok := voltest.Pick(h.Rnd, h.used)
	if !ok {
		return ""
	}
	v := h.target()
	if k := h.Rnd.IntN(3 * h.fats); k < h.fats {
		h.setIn(k, c, v)
		return fmt.Sprintf("cluster %d leads to %#x in FAT %d", c, v, k)
	}
	h.set(c, v)
	return fmt.Sprintf("cluster %d leads to %#x", c, v)
}

// hitField changes a number of an entry.
func (h *hitter) hitField() string {
	n, ok := voltest.Pick(h.Rnd, h.nodes)
	if !ok {
		return ""
	}
	switch h.Rnd.IntN(6) {
	case 0, 1, 2:
		c := h.target()
		h.put16(n.off+26, uint16(c))
		if h.bits == 32 {
			h.put16(n.off+20, uint16(c>>16))
		}
		return fmt.Sprintf("%s: first cluster %d", n.name, c)
	case 3, 4:
		size := h.Rnd.Uint32N(12 * uint32(h.cluster))
		h.put32(n.off+28, size)
		return fmt.Sprintf("%s: size %d", n.name, size)
	}
	h.put(n.off+11, n.attr^0x10)
	return n.name + ": attribute of directories"
}

// hitPair puts an entry in the place of another, or has two change places, with
// their long names.
func (h *hitter) hitPair() string {
	a, _ := voltest.Pick(h.Rnd, h.nodes)
	b, ok := voltest.Pick(h.Rnd, h.nodes)
	if !ok || len(a.longs) != len(b.longs) || a.off == b.off {
		return ""
	}
	x, y := append(append([]int64(nil), a.longs...), a.off), append(append([]int64(nil), b.longs...), b.off)
	if h.Rnd.IntN(2) == 0 {
		h.Swap(x, y, 32)
		return fmt.Sprintf("%s and %s change places", a.name, b.name)
	}
	h.Copy(x, y, 32)
	return fmt.Sprintf("%s stands where %s was, too", a.name, b.name)
}

// hitAppend puts an entry at the end of a directory once more.
func (h *hitter) hitAppend() string {
	n, ok := voltest.Pick(h.Rnd, h.nodes)
	dir := h.Rnd.IntN(len(h.dirs))
	slots := h.slots[dir]
	at := h.endOf(slots)
	from := append(append([]int64(nil), n.longs...), n.off)
	if !ok || at+len(from) > len(slots) {
		return ""
	}
	h.Copy(from, slots[at:], 32)
	return fmt.Sprintf("%s stands in the directory of cluster %d, too", n.name, h.dirs[dir])
}

// hitDots changes a dot entry: nothing rests upon it.
func (h *hitter) hitDots() string {
	dir, _ := voltest.Pick(h.Rnd, h.dirs)
	if dir == 0 {
		return ""
	}
	off := h.offset(dir) + 32*h.Rnd.Int64N(2)
	c := h.target()
	b := binary.LittleEndian.AppendUint16(nil, uint16(c))
	h.put(off+26, b...)
	return fmt.Sprintf("dot entry at %d leads to %d", off, c)
}
