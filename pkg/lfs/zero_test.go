package lfs

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// bigFile is a volume with a file of n blocks, one behind the other or in any
// order.
func bigFile(t testing.TB, n uint32, shuffled bool) *builder {
	t.Helper()
	m := newBuilder(t, 256<<20, vol.FormatOptions{})
	x := m.file(m.root, "big", file{size: uint64(n) * 4096})
	addrs := make([]uint32, n)
	for i := range addrs {
		addrs[i] = m.take(warmData)
	}
	if shuffled {
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(addrs), func(i, k int) { addrs[i], addrs[k] = addrs[k], addrs[i] })
	}
	for i, a := range addrs {
		x.point(uint32(i), a)
	}
	return m.finish()
}

// zeroed zeroes a range of a file, and writes that.
func zeroed(t testing.TB, d dev.Device, f vol.ZeroFile) (z vol.ZeroedFile, err error) {
	t.Helper()
	err = changed(t, d, func(ctx context.Context, v vol.Volume) error {
		res, err := v.ZeroRanges(ctx, vol.ZeroRequest{Files: []vol.ZeroFile{f}})
		if err == nil {
			z = res.Files[0]
		}
		return err
	})
	return z, err
}

// mustBeClean has the volume checked.
func mustBeClean(t testing.TB, d dev.Device) {
	t.Helper()
	if res := checked(t, d); len(slugs(res)) > 0 {
		t.Fatalf("found %q", found(res))
	}
}

// physicalRuns counts the runs of blocks of a file, leaving out what is reserved.
func (x *built) physicalRuns(n uint32, reserved []uint32) (runs uint64) {
	last := uint32(0)
	for page := range n {
		if slices.Contains(reserved, page) {
			continue
		}
		if x.pages[page] != last+1 {
			runs++
		}
		last = x.pages[page]
	}
	return runs
}

// TestZeroRuns: blocks one behind the other are one run, whatever node they are
// in, and each run is one call.
func TestZeroRuns(t *testing.T) {
	const n = 3000
	for _, c := range []struct {
		name     string
		shuffled bool
		reserved []uint32
	}{
		{"contiguous", false, nil}, {"reserved between", false, []uint32{5, 6, 7, 1500, 2999}}, {"shuffled", true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := bigFile(t, n, c.shuffled)
			for _, page := range c.reserved {
				if _, err := zeroed(t, m.d, vol.ZeroFile{Path: "big", Offset: int64(page) * 4096, Length: 4096}); err != nil {
					t.Fatal(err)
				}
			}
			z, err := zeroed(t, m.d, vol.ZeroFile{Path: "big", Length: -1})
			if err != nil {
				t.Fatal(err)
			}
			if runs := m.all[len(m.all)-1].physicalRuns(n, c.reserved); z.Blocks != n-uint64(len(c.reserved)) || z.Runs != runs || runs > n*99/100 != c.shuffled {
				t.Errorf("gave back %d blocks in %d runs, should be %d", z.Blocks, z.Runs, runs)
			}
			mustBeClean(t, m.d)
			if z, err := zeroed(t, m.d, vol.ZeroFile{Path: "big", Length: -1}); err != nil || z.Blocks != 0 || z.Runs != 0 {
				t.Errorf("again: %+v, %v", z, err)
			}
		})
	}
}

// TestZeroReservedInRun: a slot that is reserved does not end a run: what the
// file has before and after it may be neighbours on the disk.
func TestZeroReservedInRun(t *testing.T) {
	m := newBuilder(t, 64<<20, vol.FormatOptions{})
	x := m.file(m.root, "f", file{pages: []uint32{0, 1}, size: 5 * 4096})
	x.point(2, newAddr)
	x.data(3)
	x.data(4)
	m.finish()
	z, err := zeroed(t, m.d, vol.ZeroFile{Path: "f", Length: -1})
	if err != nil || z.Blocks != 4 || z.Runs != 1 {
		t.Errorf("%+v, %v", z, err)
	}
	mustBeClean(t, m.d)
}

// TestZeroEdges: blocks that are zeroed in part are written anew, and count as
// given back, each in a run of its own.
func TestZeroEdges(t *testing.T) {
	m := bigFile(t, 20, false)
	z, err := zeroed(t, m.d, vol.ZeroFile{Path: "big", Offset: 100, Length: 10*4096 + 50})
	if err != nil || z.Blocks != 11 || z.Runs != 3 {
		t.Errorf("%+v, %v; should be 11 blocks in 3 runs", z, err)
	}
	mustBeClean(t, m.d)
}

// TestZeroTwice: a block that a file lists twice, or that SIT has as free, or
// that cannot be, stops the change, and nothing is written.
func TestZeroTwice(t *testing.T) {
	for name, damage := range map[string]func(m *builder, x *built){
		"twice":       func(_ *builder, x *built) { x.point(9, x.pages[3]) },
		"next":        func(_ *builder, x *built) { x.point(5, x.pages[4]) },
		"outside":     func(m *builder, x *built) { x.node.putWord(m.g.extraWords(x.node)+7, uint32(m.g.MainEnd())) },
		"in front":    func(m *builder, x *built) { x.node.putWord(m.g.extraWords(x.node)+7, 5) },
		"compressed":  func(m *builder, x *built) { x.node.putWord(m.g.extraWords(x.node)+7, compressAddr) },
		"free":        func(m *builder, x *built) { delete(m.used[m.g.SegmentOf(x.pages[7])], m.g.IndexOf(x.pages[7])) },
		"other's too": func(m *builder, x *built) { x.point(9, m.root.pages[0]); x.point(10, m.root.pages[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newBuilder(t, 64<<20, vol.FormatOptions{})
			x := m.file(m.root, "f", file{pages: []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}})
			damage(m, x)
			m.finish()
			was := sum(t, m.d)
			if z, err := zeroed(t, m.d, vol.ZeroFile{Path: "f", Length: -1}); !errors.Is(err, vol.ErrDamaged) {
				t.Errorf("%+v, %v", z, err)
			} else if !strings.Contains(err.Error(), "check -y") {
				t.Errorf("the error does not say what helps: %v", err)
			}
			if sum(t, m.d) != was {
				t.Error("something was written")
			}
		})
	}
}

// sum tells volumes apart.
func sum(t testing.TB, d dev.Device) string {
	t.Helper()
	b := make([]byte, d.Size())
	if _, err := d.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	h := crcUpdate(1, b)
	return textf("%x", h)
}

// TestZeroModel zeroes random ranges of files of all shapes and compares them
// with what they should be.
func TestZeroModel(t *testing.T) {
	l := newLab(t, labFeatures)
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, path := range []string{"plain", "inline", "empty", "kept", "extent", "direct", "more attributes", "dir/inner", "attributes"} {
		for round := range 6 {
			want := contentsOf(t, l.d, path)
			if len(want) > 20<<20 {
				break
			}
			keep := round%2 == 1
			off, n := rnd.Int64N(int64(len(want))+5000), rnd.Int64N(20_000)+1
			err := changed(t, l.d, func(ctx context.Context, v vol.Volume) error {
				_, err := v.ZeroRanges(ctx, vol.ZeroRequest{KeepSize: keep, Files: []vol.ZeroFile{{Path: path, Offset: off, Length: n}}})
				return err
			})
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if more := off + n - int64(len(want)); more > 0 && !keep {
				want = append(want, make([]byte, more)...)
			}
			if off < int64(len(want)) {
				clear(want[off:min(off+n, int64(len(want)))])
			}
			if got := contentsOf(t, l.d, path); !bytes.Equal(got, want) {
				t.Fatalf("%s: after bytes %d to %d it has %d bytes, should be %d", path, off, off+n, len(got), len(want))
			}
			mustBeClean(t, l.d)
		}
	}
}

// byBlock gives blocks back one at a time, as f2fs_do_zero_range() did: what
// the benchmark holds runs against.
type byBlock struct {
	h       *handle
	release func(addr, n uint32) error
}

func (t *byBlock) add(addr uint32) error {
	if _, err := t.h.mapped(addr); err != nil {
		return err
	}
	return t.release(addr, 1)
}

func (t *byBlock) flush() error { return nil }
func (t *byBlock) rewrote()     {}

// BenchmarkZero zeroes a file of 64 MiB, 16384 blocks: all of it from opening
// the volume to the staged checkpoint, without what writing that takes; and
// the way through the file's pointers alone. Runs are beside giving back block
// by block.
func BenchmarkZero(b *testing.B) {
	const n = 16384
	for _, shuffled := range []bool{false, true} {
		name := map[bool]string{false: "contiguous", true: "shuffled"}[shuffled]
		m := bigFile(b, n, shuffled)
		b.Run(name+"/change", func(b *testing.B) {
			for b.Loop() {
				txn := dev.Begin(m.d)
				v, err := open(b.Context(), txn, vol.OpenOptions{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := v.ZeroRanges(b.Context(), vol.ZeroRequest{Files: []vol.ZeroFile{{Path: "big", Length: -1}}}); err != nil {
					b.Fatal(err)
				}
				txn.Rollback()
			}
		})
		for way, make := range map[string]func(h *handle) releaser{
			"runs":    func(h *handle) releaser { return &runs{h: h, release: h.w.sit.release} },
			"byblock": func(h *handle) releaser { return &byBlock{h: h, release: h.w.sit.release} },
		} {
			b.Run(name+"/"+way, func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					txn := dev.Begin(m.d)
					v, err := open(b.Context(), txn, vol.OpenOptions{})
					if err != nil {
						b.Fatal(err)
					}
					c, err := v.(*volume).begin(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					h, err := c.file("big", false)
					if err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
					if err := c.zeroRange(h, dev.Range{Len: n * 4096}, make(h)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
