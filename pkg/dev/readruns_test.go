package dev

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPlugMerges(t *testing.T) {
	const k = 1 << 10
	for _, tt := range []struct {
		name string
		gap  int64
		add  []Range
		want []Range
	}{
		{"nothing", 0, nil, nil},
		{"empty and outside", 0, []Range{{5, 0}, {64 * k, 10}, {-20, 10}, {7, -3}}, nil},
		{"clipped", 0, []Range{{-10, 20}, {64*k - 5, 10}}, []Range{{0, 10}, {64*k - 5, 5}}},
		{"sorted", 0, []Range{{30, 5}, {10, 5}, {20, 5}}, []Range{{10, 5}, {20, 5}, {30, 5}}},
		{"adjacent", 0, []Range{{15, 5}, {10, 5}, {20, 5}}, []Range{{10, 15}}},
		{"overlapping", 0, []Range{{10, 50}, {20, 5}, {15, 60}}, []Range{{10, 65}}},
		{"inside", 0, []Range{{10, 50}, {20, 5}, {59, 1}}, []Range{{10, 50}}},
		{"twice", 0, []Range{{10, 5}, {10, 5}}, []Range{{10, 5}}},
		{"small gaps", 5, []Range{{10, 5}, {20, 5}, {31, 1}}, []Range{{10, 15}, {31, 1}}},
	} {
		p := NewPlug(NewMem(64*k), 0)
		p.Gap = tt.gap
		for _, r := range tt.add {
			p.Add(r)
		}
		if got := p.Unplug(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if got := p.Unplug(); len(got) != 0 {
			t.Errorf("%s: still holds %v", tt.name, got)
		}
	}
}

func TestPlugRead(t *testing.T) {
	d := &noteDevice{Mem: NewMem(1 << 20)}
	for _, tt := range []struct{ plug, option, want int64 }{
		{0, 0, fileReadahead}, {8192, 0, 8192}, {8192, 16384, 16384}, {-1, 0, 0},
	} {
		p := NewPlug(d, tt.plug)
		p.Add(Range{4096, 4096})
		p.Add(Range{0, 4096})
		st, err := p.Read(t.Context(), ReadOptions{Window: tt.option}, func(Range, []byte) error { return nil })
		if err != nil || st != (ReadStats{Bytes: 8192, Reads: 1, Readahead: tt.want}) {
			t.Errorf("window %d, option %d: %+v, %v", tt.plug, tt.option, st, err)
		}
	}
}

// TestReadRunsModel reads random runs of a sparse device in all ways and puts
// together what comes.
func TestReadRunsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewMem(rapid.Int64Range(1, 12*memChunk).Draw(t, "size"))
		model := make([]byte, m.Size())
		for range rapid.IntRange(0, 4).Draw(t, "writes") {
			off := rapid.Int64Range(0, m.Size()-1).Draw(t, "off")
			p := pattern(int(min(rapid.Int64Range(1, memChunk).Draw(t, "len"), m.Size()-off)))
			copy(model[off:], p)
			if _, err := m.WriteAt(p, off); err != nil {
				t.Fatal(err)
			}
		}
		var runs []Range
		for range rapid.IntRange(0, 6).Draw(t, "runs") {
			off := rapid.Int64Range(0, m.Size()).Draw(t, "run")
			runs = append(runs, Range{off, rapid.Int64Range(0, m.Size()-off).Draw(t, "run len")})
		}
		o := ReadOptions{
			Window: rapid.SampledFrom([]int64{0, -1, 1, 4096, 10000, 65536, 1 << 20, 1 << 40}).Draw(t, "window"),
			Holes:  rapid.Bool().Draw(t, "holes"),
			Serial: rapid.Bool().Draw(t, "serial"),
		}
		checkRuns(t, m, model, runs, o)
	})
}

// checkRuns checks that ReadRuns gives the runs, in order, with the contents
// of model.
func checkRuns(t *rapid.T, d Device, model []byte, runs []Range, o ReadOptions) {
	given := slices.Clone(runs)
	var pieces []Range
	var bytesRead int64
	st, err := ReadRuns(context.Background(), d, runs, o, func(r Range, p []byte) error {
		pieces = append(pieces, r)
		want := model[r.Off:r.End()]
		if p == nil {
			if !o.Holes || slices.ContainsFunc(want, func(b byte) bool { return b != 0 }) {
				t.Fatalf("%v comes as a hole", r)
			}
			return nil
		}
		bytesRead += r.Len
		if !bytes.Equal(p, want) {
			t.Fatalf("%v: wrong contents", r)
		}
		clear(p) // the buffer is ours until we return
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if st.Bytes != bytesRead || !slices.Equal(runs, given) {
		t.Fatalf("%d bytes of %d counted, runs %v", st.Bytes, bytesRead, runs)
	}
	for _, r := range runs {
		for !r.Empty() {
			if len(pieces) == 0 || pieces[0].Off != r.Off || pieces[0].Empty() || pieces[0].End() > r.End() {
				t.Fatalf("pieces %v do not go on with %v", pieces, r)
			}
			r = Range{pieces[0].End(), r.End() - pieces[0].End()}
			pieces = pieces[1:]
		}
	}
	if len(pieces) > 0 {
		t.Fatalf("pieces %v are too many", pieces)
	}
}

func TestReadRunsWindow(t *testing.T) {
	const w = 8192
	d := &noteDevice{Mem: NewMem(1 << 20)}
	runs := []Range{{100, 3 * w}, {10 * w, 2 * w}, {20 * w, 10}}
	st, err := ReadRuns(t.Context(), d, runs, ReadOptions{Window: w - 1, Serial: true}, func(r Range, p []byte) error {
		// One window behind this piece was announced, as far as there is one.
		last := d.reads[len(d.reads)-1]
		if last != r || int64(len(p)) != r.Len {
			t.Errorf("piece %v of %d bytes, read %v", r, len(p), last)
		}
		var ahead int64
		for _, a := range d.ahead[slices.Index(d.ahead, r)+1:] {
			ahead += a.Len
		}
		left := int64(0)
		for _, p := range wholePieces()[slices.Index(wholePieces(), r)+1:] {
			left += p.Len
		}
		if ahead < min(w, left) || ahead > 2*w {
			t.Errorf("%d bytes read ahead after %v, %d are left", ahead, r, left)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := wholePieces()
	if !slices.Equal(d.reads, want) || !slices.Equal(d.ahead, want) {
		t.Errorf("reads %v\nahead %v\nwant  %v", d.reads, d.ahead, want)
	}
	if st != (ReadStats{Bytes: 5*w + 10, Reads: 7, Readahead: w}) {
		t.Errorf("%+v", st)
	}
}

// wholePieces are the pieces of TestReadRunsWindow.
func wholePieces() []Range {
	const w = 8192
	return []Range{
		{100, w - 100}, {w, w}, {2 * w, w}, {3 * w, 100},
		{10 * w, w}, {11 * w, w}, {20 * w, 10},
	}
}

// noAhead is a device whose administrator has turned reading ahead off.
type noAhead struct{ *noteDevice }

func (noAhead) Limits() Limits { return Limits{} }

func TestReadRunsWithoutReadahead(t *testing.T) {
	for _, d := range []Device{&noteDevice{Mem: NewMem(1 << 20)}, noAhead{&noteDevice{Mem: NewMem(1 << 20)}}} {
		o := ReadOptions{Window: -1}
		note, ok := d.(*noteDevice)
		if !ok {
			note, o.Window = d.(noAhead).noteDevice, 0
		}
		st, err := ReadRuns(t.Context(), d, []Range{{0, 1 << 20}}, o, func(Range, []byte) error { return nil })
		if err != nil || st != (ReadStats{Bytes: 1 << 20, Reads: 8}) || len(note.ahead) != 0 {
			t.Errorf("%+v, %v, ahead %v", st, err, note.ahead)
		}
	}
}

func TestReadRunsHoles(t *testing.T) {
	m := NewMem(1 << 40)
	for _, off := range []int64{memChunk, 1 << 30} {
		if _, err := m.WriteAt([]byte{1}, off); err != nil {
			t.Fatal(err)
		}
	}
	type got struct {
		r    Range
		hole bool
	}
	var pieces []got
	st, err := ReadRuns(t.Context(), m, []Range{{0, 1 << 40}}, ReadOptions{Holes: true}, func(r Range, p []byte) error {
		pieces = append(pieces, got{r, p == nil})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []got{
		{Range{0, memChunk}, true},
		{Range{memChunk, memChunk}, false},
		{Range{2 * memChunk, 1<<30 - 2*memChunk}, true},
		{Range{1 << 30, memChunk}, false},
		{Range{1<<30 + memChunk, 1<<40 - 1<<30 - memChunk}, true},
	}
	if !slices.Equal(pieces, want) {
		t.Errorf("pieces %v, want %v", pieces, want)
	}
	if st.Bytes != 2*memChunk || st.Reads != 2 {
		t.Errorf("%+v", st)
	}
}

// failing is a device that cannot be read from byte bad on.
type failing struct {
	*Mem
	bad int64
}

var errMedium = errors.New("medium error")

func (d failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > d.bad {
		return 0, &Error{Op: "read", Range: Range{off, int64(len(p))}, Err: errMedium}
	}
	return d.Mem.ReadAt(p, off)
}

func TestReadRunsEnds(t *testing.T) {
	errStop := errors.New("enough")
	runs := []Range{{0, 1 << 20}}
	for _, serial := range []bool{false, true} {
		o := ReadOptions{Window: 4096, Serial: serial}
		before := runtime.NumGoroutine()

		n := 0
		_, err := ReadRuns(t.Context(), NewMem(1<<20), runs, o, func(Range, []byte) error {
			if n++; n == 10 {
				return errStop
			}
			return nil
		})
		if err != errStop || n != 10 {
			t.Errorf("fn fails: %v after %d pieces", err, n)
		}

		n = 0
		st, err := ReadRuns(t.Context(), failing{NewMem(1 << 20), 50000}, runs, o, func(Range, []byte) error { n++; return nil })
		if !errors.Is(err, errMedium) || n != 12 || st.Bytes != 12*4096 {
			t.Errorf("device fails: %v after %d pieces, %+v", err, n, st)
		}

		n = 0
		ctx, cancel := context.WithCancel(t.Context())
		_, err = ReadRuns(ctx, NewMem(1<<20), runs, o, func(Range, []byte) error {
			if n++; n == 5 {
				cancel()
			}
			return nil
		})
		if err != context.Canceled || n != 5 {
			t.Errorf("cancelled: %v after %d pieces", err, n)
		}
		if _, err := ReadRuns(ctx, NewMem(1<<20), runs, o, nil); err != context.Canceled {
			t.Errorf("cancelled before: %v", err)
		}

		_, err = ReadRuns(t.Context(), NewMem(1<<20), []Range{{0, 10}, {1 << 20, 1}}, o, nil)
		wantError(t, err, "read", ErrRange)

		for range 100 {
			if runtime.NumGoroutine() <= before {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%d goroutines, before %d", after, before)
		}
	}
}

// benchImage is a file of 64 MiB, and the runs of an allocation bitmap of 8 MiB
// that lies in 64 pieces on it, in no order.
func benchImage(b *testing.B) (*File, []Range) {
	b.Helper()
	const size = 64 << 20
	f, err := OpenFile(filepath.Join(b.TempDir(), "bench.img"), OpenOptions{Create: true, Size: size})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	p := pattern(1 << 20)
	for off := int64(0); off < size; off += 1 << 20 {
		if _, err := f.WriteAt(p, off); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	var runs []Range
	for i := range int64(64) {
		runs = append(runs, Range{Off: i << 20, Len: 128 << 10})
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	return f, runs
}

// used is what a loader does with a bitmap: it looks at each byte.
func used(p []byte) (n int) {
	for _, c := range p {
		n += int(c & 1)
	}
	return n
}

func BenchmarkReadRuns(b *testing.B) {
	f, runs := benchImage(b)
	b.SetBytes(int64(len(runs)) * 128 << 10)
	for b.Loop() {
		dropCache(f)
		n := 0
		p := NewPlug(f, 0)
		for _, r := range runs {
			p.Add(r)
		}
		st, err := p.Read(b.Context(), ReadOptions{}, func(_ Range, p []byte) error { n += used(p); return nil })
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(st.Reads), "reads/op")
	}
}

func BenchmarkReadBySector(b *testing.B) {
	f, runs := benchImage(b)
	b.SetBytes(int64(len(runs)) * 128 << 10)
	for b.Loop() {
		dropCache(f)
		n, reads := 0, 0
		var sector [512]byte
		for _, r := range runs {
			for off := r.Off; off < r.End(); off += 512 {
				if _, err := f.ReadAt(sector[:], off); err != nil {
					b.Fatal(err)
				}
				n += used(sector[:])
				reads++
			}
		}
		b.ReportMetric(float64(reads), "reads/op")
	}
}
