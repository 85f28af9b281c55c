package dev

import (
	"bytes"
	"math"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
)

// filled makes an image of size bytes without a hole.
func filledImage(t *testing.T, size int64) *File {
	t.Helper()
	f := createImage(t, size)
	if _, err := f.WriteAt(pattern(int(size)), 0); err != nil {
		t.Fatal(err)
	}
	return f
}

// zeroWays are all ways in which a range of a file is zeroed.
var zeroWays = map[string]struct {
	prepare func(*File)
	zero    func(*File, Range) error
}{
	"punch":       {func(*File) {}, (*File).Zero},
	"no punch":    {func(f *File) { f.noPunch.Store(true) }, (*File).Zero},
	"write":       {func(f *File) { f.noPunch.Store(true); f.noZero.Store(true) }, (*File).Zero},
	"keep":        {func(*File) {}, (*File).ZeroKeep},
	"keep, write": {func(f *File) { f.noZero.Store(true) }, (*File).ZeroKeep},
	"function":    {func(*File) {}, func(f *File, r Range) error { return ZeroKeep(f, r) }},
	"discard": {func(*File) {}, func(f *File, r Range) error {
		if err := f.Discard(r); err != nil {
			return err
		}
		return f.Zero(r)
	}},
}

func TestZeroWays(t *testing.T) {
	const size = 3<<20 + 100
	ranges := []Range{
		{0, 1}, {1, 4095}, {4096, 4096}, {5000, 20000}, {1<<20 - 1, 1<<20 + 2},
		{size - 1, 1}, {size - 5000, 5000}, {100, 0}, {0, size},
	}
	for name, way := range zeroWays {
		t.Run(name, func(t *testing.T) {
			for _, r := range ranges {
				f := filledImage(t, size)
				way.prepare(f)
				want := pattern(size)
				clear(want[r.Off:r.End()])
				for range 2 { // what is zero already stays so
					if err := way.zero(f, r); err != nil {
						t.Fatal(err)
					}
				}
				got := make([]byte, size)
				if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%v: wrong contents (%v)", r, err)
				}
				f.Close()
			}
		})
	}
}

func TestZeroPunches(t *testing.T) {
	const size = 8 << 20
	f := filledImage(t, size)
	if !f.Limits().Holes {
		needs.Lacks(t, "no holes here")
	}
	if err := f.Zero(Range{Off: 1 << 20, Len: 4 << 20}); err != nil {
		t.Fatal(err)
	}
	if !f.Limits().Holes {
		needs.Lacks(t, "the file system cannot punch")
	}
	if got := f.Allocated(); got > 5<<20 {
		t.Errorf("%d bytes allocated after punching 4 of 8 MiB", got)
	}
	for _, tt := range []struct {
		off  int64
		want Range
	}{
		{0, Range{0, 1 << 20}},
		{1000, Range{1000, 1<<20 - 1000}},
		{1 << 20, Range{5 << 20, 3 << 20}},
		{2 << 20, Range{5 << 20, 3 << 20}},
		{6 << 20, Range{6 << 20, 2 << 20}},
		{size, Range{size, 0}},
		{size + 5, Range{size, 0}},
		{-7, Range{0, 1 << 20}},
	} {
		for range 2 { // from the system and from the cache
			if got := f.NextData(tt.off); got != tt.want {
				t.Errorf("NextData(%d) = %v, want %v", tt.off, got, tt.want)
			}
		}
	}
	if err := f.Zero(Range{Len: size}); err != nil {
		t.Fatal(err)
	}
	if got := f.NextData(0); !got.Empty() || got.Off != size {
		t.Errorf("NextData of nothing but a hole is %v", got)
	}
}

func TestZeroKeepKeeps(t *testing.T) {
	const size = 8 << 20
	f := filledImage(t, size)
	before := f.Allocated()
	if err := f.ZeroKeep(Range{Off: 100, Len: size - 200}); err != nil {
		t.Fatal(err)
	}
	if after := f.Allocated(); after < before-64<<10 {
		t.Errorf("%d bytes allocated, before %d", after, before)
	}
	g := createImage(t, 1<<30)
	if !g.Limits().Holes {
		return
	}
	if err := g.ZeroKeep(Range{Len: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	if got := g.Allocated(); got > 1<<20 {
		t.Errorf("zeroing a hole has allocated %d bytes", got)
	}
}

func TestHoleCache(t *testing.T) {
	var c holeCache
	if _, _, ok := c.get(0); ok {
		t.Error("an empty cache has an answer")
	}
	put := func() {
		_, gen, _ := c.get(0)
		c.put(gen, 100, Range{200, 50})
	}
	want := func(off int64, r Range, ok bool) {
		t.Helper()
		if got, _, k := c.get(off); k != ok || k && got != r {
			t.Errorf("get(%d) = %v, %v, want %v, %v", off, got, k, r, ok)
		}
	}
	put()
	want(99, Range{}, false)
	want(100, Range{200, 50}, true)
	want(200, Range{200, 50}, true)
	want(249, Range{249, 1}, true)
	want(250, Range{}, false)

	c.wrote(Range{200, 50}) // data stays data
	want(150, Range{200, 50}, true)
	c.wrote(Range{300, 50})
	want(150, Range{200, 50}, true)
	c.wrote(Range{199, 1})
	want(150, Range{}, false)

	put()
	c.zeroed(Range{250, 10})
	want(150, Range{200, 50}, true)
	c.zeroed(Range{249, 1})
	want(150, Range{}, false)

	// An answer that was found while something changed is not kept.
	_, gen, _ := c.get(0)
	c.wrote(Range{1000, 1})
	c.put(gen, 0, Range{10, 10})
	want(0, Range{}, false)

	// No data up to the end.
	_, gen, _ = c.get(0)
	c.put(gen, 500, Range{Off: 1000})
	want(600, Range{Off: 1000}, true)
	want(1000, Range{}, false)
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct{ r, want Range }{
		{Range{0, 512}, Range{0, 512}},
		{Range{1, 511}, Range{1, 0}},
		{Range{1, 1023}, Range{512, 512}},
		{Range{1, 1022}, Range{512, 0}},
		{Range{math.MaxInt64 - 1024, 1024}, Range{math.MaxInt64 - 1023, 512}},
		{Range{math.MaxInt64 - 100, 100}, Range{math.MaxInt64 - 100, 0}},
		{Range{511, 514}, Range{512, 512}},
		{Range{600, 10}, Range{600, 0}},
	} {
		if got := within(tt.r, 512); got != tt.want {
			t.Errorf("within(%v) = %v, want %v", tt.r, got, tt.want)
		}
	}
}
