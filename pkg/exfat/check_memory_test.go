package exfat

import (
	"runtime"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// filledDevice is a device on which a range reads as one byte over and over, and
// which drops what is written there.
type filledDevice struct {
	dev.Device
	r dev.Range
	b byte
}

func (f *filledDevice) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.Device.ReadAt(p, off)
	in := f.r.Intersect(dev.Range{Off: off, Len: int64(len(p))})
	for i := in.Off; i < in.End(); i++ {
		p[i-off] = f.b
	}
	return n, err
}

func (f *filledDevice) NextData(off int64) dev.Range {
	d := f.Device.NextData(off)
	if off >= f.r.End() || !d.Empty() && d.End() <= f.r.Off {
		return d
	}
	from := max(off, f.r.Off)
	if !d.Empty() {
		from = min(from, d.Off)
	}
	return dev.Range{Off: from, Len: max(f.r.End(), d.End()) - from}
}

// heapOf is how many bytes fn allocates in all.
func heapOf(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestCheckMemory: a volume of 2^31 clusters, whose bitmap has 256 MiB, is
// checked in a few MiB, be it empty or all in use by one file.
func TestCheckMemory(t *testing.T) {
	m := formatted(t, 4<<40, 2048)
	r, err := newReader(m)
	must(t, err)
	if r.n < 1<<31-1<<23 {
		t.Fatalf("%d clusters", r.n)
	}
	run := func(name string, d dev.Device, files uint64) {
		var res *vol.Result
		if n := heapOf(func() { res = fsck(t, d, nil) }); n > 48<<20 {
			t.Errorf("%s: %d MiB are allocated", name, n>>20)
		}
		if len(res.Outcomes) > 0 || res.Stats.Files != files {
			t.Errorf("%s: %d files", name, res.Stats.Files)
			report(t, res)
		}
	}
	run("empty", m, 0)
	l := &lab{reader: r, t: t, m: m}
	cs, _ := l.chain(r.root)
	start := cs[0] + 1
	for start%8 != 2 {
		start++ // the bits before it are set one by one
	}
	n := uint64(r.last()-start+1) * 2048
	for c := cs[0] + 1; c < start; c++ {
		l.bit(c, true)
	}
	l.append(l.rootNode(), newSetOf("/PAD", 0x20, noFat, []uint32{cs[0] + 1}, uint64(start-cs[0]-1)*2048, 0))
	l.append(l.rootNode(), newSetOf("/ALL", 0x20, noFat, []uint32{start}, n, 0))
	l.put(112, 100)
	bits := dev.Range{Off: l.bitPlace(start), Len: int64((r.last()-start)/8 + 1)}
	run("full", &filledDevice{m, bits, 0xFF}, 2)
}

// TestEveryOtherCluster: a bitmap that has every other cluster as used, which
// nobody owns, takes memory for a part of them alone, and is mended in one go.
func TestEveryOtherCluster(t *testing.T) {
	m := formatted(t, 8<<30, 4096)
	r, err := newReader(m)
	must(t, err)
	l := &lab{reader: r, t: t, m: m}
	first := l.bitPlace(1024)
	b := make([]byte, r.n/8-256)
	for i := range b {
		b[i] = 0x55
	}
	l.put(first, b...)
	l.setFAT(5000, 0xFFFFFFF7)
	tx := dev.Begin(m)
	var res *vol.Result
	if n := heapOf(func() { res = fsck(t, tx, voltest.Always) }); n > 200<<20 {
		t.Errorf("%d MiB are allocated", n>>20)
	}
	if res.Unproven != nil || res.Left(vol.SevWarning) {
		report(t, res)
		t.Fatal(res.Unproven)
	}
	commit(t, tx)
	if !l.marked(5000) || l.marked(5002) {
		t.Error("a bad cluster is free, or a lost one in use")
	}
	sound(t, m)
}
