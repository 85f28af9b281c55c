package exfat

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
			o := vol.FormatOptions{Type: "exfat", Label: "INTACT", ID: "1234-ABCD", Seed: 1, Time: 1700000000}
			o.ClusterSize = []int64{512, 512, 1024, 4096}[rnd.IntN(4)]
			return []int64{2 << 20, 4 << 20}[rnd.IntN(2)] + 512*rnd.Int64N(16), o
		},
		Hits:  func(h *voltest.Hitter) func() string { return newHitter(h).hit },
		Files: filesOf,
		Rests: restsOf,
		// A directory does not say where it belongs, nor how it is called.
		Ambiguous: []string{"directory-twice", "name-twice"},
		Once:      []uint64{2311},
	}.Run(t, 150)
}

func filesOf(d dev.Device) (map[string]string, error) {
	r, err := newReader(d)
	if err != nil {
		return nil, err
	}
	return r.files(), nil
}

// restsOf is what files rest upon: entry sets, the links that their clusters and
// those of directories on the way take, and their clusters.
func restsOf(t testing.TB, d dev.Device) map[string][]dev.Range {
	t.Helper()
	r, err := newReader(d)
	must(t, err)
	out := map[string][]dev.Range{}
	var down func(path string, dir node, above []dev.Range)
	down = func(path string, dir node, above []dev.Range) {
		for _, n := range r.list(dir) {
			on := append([]dev.Range(nil), above...)
			for _, off := range n.slots {
				on = append(on, dev.Range{Off: off, Len: entryLen})
			}
			cs, err := r.clusters(n)
			must(t, err)
			for _, c := range cs {
				if !n.noFat() {
					on = append(on, dev.Range{Off: r.link(c), Len: 4})
				}
				if !n.isDir() {
					on = append(on, dev.Range{Off: r.offset(c), Len: r.cluster})
				}
			}
			if n.isDir() {
				down(path+n.name+"/", n, on)
			} else {
				out[path+n.name] = on
			}
		}
	}
	var top []dev.Range
	root := r.rootNode()
	cs, err := r.chain(root.start)
	must(t, err)
	for _, c := range cs {
		top = append(top, dev.Range{Off: r.link(c), Len: 4})
	}
	down("/", root, top)
	return out
}

// hitter damages a volume: it knows from the state before where things are.
type hitter struct {
	*voltest.Hitter
	*lab
	nodes []node
	dirs  []node
	links []uint32 // clusters that the FAT links
	used  []uint32 // clusters of files and directories
	meta  []int64  // sectors of directories, and the first ones of FAT and bitmap
}

func newHitter(v *voltest.Hitter) *hitter {
	t := v.T
	t.Helper()
	r, err := newReader(v.Good)
	must(t, err)
	l := &lab{t: t, reader: r}
	h := &hitter{Hitter: v, lab: l, dirs: []node{l.rootNode()}}
	add := func(n node, linked bool) {
		cs, err := r.clusters(n)
		must(t, err)
		for _, c := range cs {
			h.used = append(h.used, c)
			if linked {
				h.links = append(h.links, c)
			}
			for off := int64(0); n.isDir() && off < l.cluster; off += l.sector {
				h.meta = append(h.meta, l.offset(c)+off)
			}
		}
	}
	add(h.dirs[0], true)
	l.eachNode(h.dirs[0], func(n node) {
		h.nodes = append(h.nodes, n)
		if n.isDir() {
			h.dirs = append(h.dirs, n)
		}
		add(n, !n.noFat())
	})
	h.meta = append(h.meta, l.bitPlace(2), l.fat0) // remembers where the bitmap is
	r.d, l.m = v.D, v.D
	return h
}

func (h *hitter) hit() string {
	kinds := []func() string{h.hitByte, h.hitByte, h.hitByte, h.hitSlot, h.hitSector, h.hitLink, h.hitLink, h.hitField, h.hitField, h.hitField, h.hitField, h.hitPair, h.hitPair, h.hitAppend, h.hitBits}
	return kinds[h.Rnd.IntN(len(kinds))]()
}

// slot is one of a directory, mostly before its end.
func (h *hitter) slot() (int64, bool) {
	dir, _ := voltest.Pick(h.Rnd, h.dirs)
	places := h.places(dir)
	if len(places) == 0 {
		return 0, false
	}
	return places[h.Rnd.IntN(min(len(places), h.end(places)+2))], true
}

func (h *hitter) hitByte() string {
	link, linked := voltest.Pick(h.Rnd, h.links)
	used, some := voltest.Pick(h.Rnd, h.used)
	slot, ok := h.slot()
	switch k := h.Rnd.IntN(6); {
	case k == 0 && linked:
		return h.Byte(h.link(link), 4)
	case k == 1 && some:
		return h.Byte(h.bitPlace(used), 1)
	case ok:
		return h.Byte(slot, entryLen)
	}
	return ""
}

func (h *hitter) hitSlot() string {
	off, ok := h.slot()
	if !ok {
		return ""
	}
	return h.Fill(off, entryLen, h.meta)
}

func (h *hitter) hitSector() string {
	off, _ := voltest.Pick(h.Rnd, h.meta)
	return h.Fill(off, h.sector, h.meta)
}

// target is where a wrong link may lead.
func (h *hitter) target() uint32 {
	switch h.Rnd.IntN(6) {
	case 0:
		return []uint32{0, 1, 0xFFFFFFF7, 0xFFFFFFFF}[h.Rnd.IntN(4)]
	case 1:
		return 2 + h.Rnd.Uint32N(h.n)
	}
	c, _ := voltest.Pick(h.Rnd, h.used)
	return c
}

func (h *hitter) hitLink() string {
	c, ok := voltest.Pick(h.Rnd, h.links)
	if !ok || h.Rnd.IntN(8) == 0 {
		c, _ = voltest.Pick(h.Rnd, h.used)
	}
	v := h.target()
	h.setFAT(c, v)
	return fmt.Sprintf("cluster %d leads to %#x", c, v)
}

// changeField changes one number of a set.
func (h *hitter) changeField(b []byte) string {
	le := binary.LittleEndian
	switch h.Rnd.IntN(8) {
	case 0, 1, 2:
		v := h.target()
		le.PutUint32(b[32+20:], v)
		return fmt.Sprintf("first cluster %d", v)
	case 3:
		v := uint64(h.Rnd.IntN(12)) * uint64(h.cluster)
		le.PutUint64(b[32+24:], v)
		if h.Rnd.IntN(2) == 0 {
			le.PutUint64(b[32+8:], v)
		}
		return fmt.Sprintf("length %d", v)
	case 4:
		v := uint64(h.Rnd.IntN(12 * int(h.cluster)))
		le.PutUint64(b[32+8:], v)
		return fmt.Sprintf("valid length %d", v)
	case 5:
		b[32+1] ^= noFat
		return "flag NoFatChain"
	case 6:
		b[4] ^= 0x10
		return "attribute of directories"
	}
	b[1] = byte(h.Rnd.IntN(8))
	return fmt.Sprintf("count %d", b[1])
}

// hitField changes a field of a set, and may give it the checksum for that, as what
// is not the medium's fault has it.
func (h *hitter) hitField() string {
	n, ok := voltest.Pick(h.Rnd, h.nodes)
	if !ok {
		return ""
	}
	b := h.set(n)
	what := h.changeField(b)
	if h.Rnd.IntN(2) == 0 {
		summed(b[:min(len(b), 32*(1+int(b[1])))])
		what += ", with a checksum"
	}
	for i, p := range n.slots {
		h.put(p, b[32*i:32*i+32]...)
	}
	return n.name + ": " + what
}

// hitPair puts a set in the place of another, or has two change places.
func (h *hitter) hitPair() string {
	a, _ := voltest.Pick(h.Rnd, h.nodes)
	b, ok := voltest.Pick(h.Rnd, h.nodes)
	if !ok || len(a.slots) != len(b.slots) || a.slots[0] == b.slots[0] {
		return ""
	}
	if h.Rnd.IntN(2) == 0 {
		h.Swap(a.slots, b.slots, entryLen)
		return fmt.Sprintf("%s and %s change places", a.name, b.name)
	}
	h.Copy(a.slots, b.slots, entryLen)
	return fmt.Sprintf("%s stands where %s was, too", a.name, b.name)
}

// hitAppend puts a set at the end of a directory once more.
func (h *hitter) hitAppend() string {
	n, ok := voltest.Pick(h.Rnd, h.nodes)
	dir, _ := voltest.Pick(h.Rnd, h.dirs)
	places := h.places(dir)
	at := h.end(places)
	if !ok || at+len(n.slots) > len(places) {
		return ""
	}
	h.Copy(n.slots, places[at:], entryLen)
	return fmt.Sprintf("%s stands in %q, too", n.name, dir.name)
}

// hitBits changes a few bytes of the bitmap.
func (h *hitter) hitBits() string {
	c, ok := voltest.Pick(h.Rnd, h.used)
	if !ok {
		return ""
	}
	n := min(1+h.Rnd.Int64N(4), h.bitPlace(2)+int64(h.n+7)/8-h.bitPlace(c))
	return h.Fill(h.bitPlace(c), n, nil)
}
