package dev_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestTxnModel does random things to a Txn and to plain bytes.
func TestTxnModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 40*4096).Draw(t, "size")
		base := speckled(size, rapid.Uint64().Draw(t, "seed"))
		world := devtest.NewWorld(base)
		committed := bytes.Clone(base.b)
		model := bytes.Clone(base.b)
		txn := dev.Begin(world.Device())
		defer txn.Close()
		span := func() dev.Range {
			off := rapid.IntRange(0, size).Draw(t, "off")
			n := rapid.OneOf(rapid.IntRange(0, size-off), rapid.IntRange(0, min(9, size-off))).Draw(t, "len")
			if rapid.Bool().Draw(t, "aligned") {
				off &^= 4095
				n = min((n+4095)&^4095, size-off)
			}
			return dev.Range{Off: int64(off), Len: int64(n)}
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				r := span()
				p := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, int(r.Len))
				if _, err := txn.WriteAt(p, r.Off); err != nil {
					t.Fatal(err)
				}
				copy(model[r.Off:], p)
			},
			"pattern": func(t *rapid.T) {
				r := span()
				k := dev.Ramp(rapid.IntRange(0, 2).Draw(t, "ramp"))
				if err := dev.WritePattern(txn, r, k); err != nil {
					t.Fatal(err)
				}
				k.Fill(model[r.Off:r.End()], r.Off)
			},
			"zero": func(t *rapid.T) {
				r := span()
				if err := txn.Zero(r); err != nil {
					t.Fatal(err)
				}
				clear(model[r.Off:r.End()])
			},
			"barrier": func(t *rapid.T) { _ = txn.Sync() },
			"read": func(t *rapid.T) {
				r := span()
				p := make([]byte, r.Len)
				if _, err := txn.ReadAt(p, r.Off); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(p, model[r.Off:r.End()]) {
					t.Fatalf("read %v differs", r)
				}
			},
			"rollback": func(t *rapid.T) {
				txn.Rollback()
				copy(model, committed)
			},
			"commit": func(t *rapid.T) {
				var o dev.CommitOptions
				if rapid.Bool().Draw(t, "undo") {
					o.Undo = world.Journal()
				}
				if _, err := txn.Commit(context.Background(), o); err != nil {
					t.Fatal(err)
				}
				copy(committed, model)
			},
			"": func(t *rapid.T) { checkTxn(t, txn, world, model, committed) },
		})
	})
}

// checkTxn compares all that a Txn says with what it should hold.
func checkTxn(t *rapid.T, txn *dev.Txn, world *devtest.World, model, committed []byte) {
	p := make([]byte, len(model))
	if _, err := txn.ReadAt(p, 0); err != nil || !bytes.Equal(p, model) {
		t.Fatalf("the staged state differs (%v)", err)
	}
	if _, err := world.Device().ReadAt(p, 0); err != nil || !bytes.Equal(p, committed) {
		t.Fatalf("the base differs (%v)", err)
	}
	if world.HasLog() {
		t.Fatal("a log is left")
	}
	checkHoles(t, txn, model, 0)
	checkHoles(t, txn, model, rapid.Int64Range(0, int64(len(model))).Draw(t, "from"))
	last, total := int64(-1), int64(0)
	dirty := make([]bool, len(model))
	for _, r := range txn.DirtyRanges() {
		if r.Off <= last || r.Empty() {
			t.Fatalf("dirty ranges not sorted and merged: %v", txn.DirtyRanges())
		}
		last = r.End()
		total += r.Len
		for i := r.Off; i < r.End(); i++ {
			dirty[i] = true
		}
	}
	if txn.DirtyBytes() != total || txn.Dirty() != (total > 0) {
		t.Fatal("Dirty, DirtyBytes and DirtyRanges do not agree")
	}
	for i := range model {
		if model[i] != committed[i] && !dirty[i] {
			t.Fatalf("byte %d has changed but is not dirty", i)
		}
	}
}

// checkHoles walks NextData from pos on: between its ranges there must be
// zeros only.
func checkHoles(t *rapid.T, d dev.Device, model []byte, pos int64) {
	for {
		r := d.NextData(pos)
		end := r.Off
		if r.Len == 0 {
			end = d.Size()
		}
		if r.Off < pos || r.End() > d.Size() {
			t.Fatalf("NextData(%d) = %v", pos, r)
		}
		for i := pos; i < end; i++ {
			if model[i] != 0 {
				t.Fatalf("NextData(%d) = %v, but byte %d is %d", pos, r, i, model[i])
			}
		}
		if r.Len == 0 {
			return
		}
		pos = r.End()
	}
}

// TestTxnZeroIsCheap stages zeros over a tebibyte, with a few writes on top.
func TestTxnZeroIsCheap(t *testing.T) {
	huge := hollow{size: 1 << 40}
	txn := dev.Begin(huge)
	if err := txn.Zero(dev.Range{Off: 100, Len: huge.size - 200}); err != nil {
		t.Fatal(err)
	}
	for off := int64(0); off < huge.size; off += huge.size / 64 {
		if _, err := txn.WriteAt([]byte("mark"), off+4094); err != nil {
			t.Fatal(err)
		}
	}
	if got := txn.DirtyBytes(); got != huge.size {
		t.Errorf("%d bytes are dirty", got)
	}
	p := make([]byte, 8)
	if _, err := txn.ReadAt(p, huge.size/64+4092); err != nil || string(p) != "\x00\x00mark\x00\x00" {
		t.Errorf("read %q, %v", p, err)
	}
	data := txn.NextData(8192)
	if want := (dev.Range{Off: huge.size / 64, Len: 8192}); data != want {
		t.Errorf("NextData is %v, want %v", data, want)
	}
}

// TestTxnLargest is at the end of the largest device there can be.
func TestTxnLargest(t *testing.T) {
	huge := hollow{size: math.MaxInt64}
	txn := dev.Begin(huge)
	must(t, write(txn, huge.size-3, 3), txn.Zero(dev.Range{Off: huge.size - 2, Len: 2}), write(txn, huge.size-1, 1))
	p := make([]byte, 4)
	if _, err := txn.ReadAt(p, huge.size-4); err != nil || string(p) != "\x00\xa5\x00\xa5" {
		t.Errorf("read %q, %v", p, err)
	}
	must(t, txn.Zero(dev.Range{Len: huge.size}))
	if got := txn.DirtyBytes(); got != huge.size {
		t.Errorf("%d bytes are dirty", got)
	}
	if got := txn.NextData(5); got.Len != 0 {
		t.Errorf("data at %v", got)
	}
	must(t, write(txn, huge.size-1, 1))
	if got, want := txn.NextData(5), (dev.Range{Off: huge.size / 4096 * 4096, Len: 4095}); got != want {
		t.Errorf("data at %v, want %v", got, want)
	}
	j := devtest.NewWorld(huge).Journal()
	if err := commitWith(txn, dev.CommitOptions{Undo: j}); !errors.Is(err, errHollow) || errors.Is(err, dev.ErrNotRestored) {
		t.Errorf("commit: %v", err)
	}
}

// TestTxnAcrossSlabs commits a run of pages that no slab begins with.
func TestTxnAcrossSlabs(t *testing.T) {
	m := dev.NewMem(8 << 20)
	txn := dev.Begin(m)
	model := make([]byte, 3<<20)
	fill(model, rand.New(rand.NewPCG(1, 1)))
	must(t, write(txn, 0, 4096))
	_, err := txn.WriteAt(model, 1<<20)
	must(t, err)
	must(t, commitWith(txn, dev.CommitOptions{}))
	if got := contents(t, m)[1<<20:][:len(model)]; !bytes.Equal(got, model) {
		t.Error("the base holds something else")
	}
}

// TestTxnReusesPages zeroes what it staged again and again, with no place to
// spill to.
func TestTxnReusesPages(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", missing)
	t.Setenv("TMP", missing)
	txn := dev.Begin(dev.NewMem(8 << 20))
	txn.SpillAfter(2 << 20)
	for i := range int64(20) {
		r := dev.Range{Off: i << 16, Len: 2 << 20}
		must(t, write(txn, r.Off, int(r.Len)), txn.Zero(r))
	}
}

// TestTxnConcurrent reads while another writes, commits and rolls back; the
// race detector is the judge.
func TestTxnConcurrent(t *testing.T) {
	txn := dev.Begin(dev.NewMem(4 << 20))
	txn.SpillAfter(1 << 20)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 0))
			p := make([]byte, 64<<10)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := txn.ReadAt(p[:1+rnd.IntN(len(p)-1)], rnd.Int64N(3<<20)); err != nil {
					t.Error(err)
					return
				}
				txn.NextData(rnd.Int64N(4 << 20))
				txn.DirtyBytes()
			}
		})
	}
	rnd := rand.New(rand.NewPCG(5, 5))
	for i := range 300 {
		must(t, write(txn, rnd.Int64N(3<<20), 1+rnd.IntN(300<<10)), txn.Zero(dev.Range{Off: rnd.Int64N(3 << 20), Len: 50_000}))
		switch i % 50 {
		case 20:
			must(t, commitWith(txn, dev.CommitOptions{}))
		case 40:
			txn.Rollback()
		}
	}
	close(stop)
	readers.Wait()
}

// TestTxnSpillFails has no place for the temporary file.
// TestWriteZerosLargest writes zeros up to the last byte that there can be.
func TestWriteZerosLargest(t *testing.T) {
	for _, want := range []int64{1, 1 << 20, 5<<20 + 7} {
		d := zeroed{hollow{math.MaxInt64}, new(int64)}
		must(t, dev.WriteZeros(d, dev.Range{Off: math.MaxInt64 - want, Len: want}))
		if *d.n != want {
			t.Errorf("%d of %d bytes", *d.n, want)
		}
	}
}

func TestTxnReadsBaseOnce(t *testing.T) {
	trace := devtest.NewTrace(speckled(64<<10, 1))
	txn := dev.Begin(trace)
	steps := []struct {
		name  string
		do    func() error
		reads int
	}{
		{"whole pages", func() error { return write(txn, 4096, 8192) }, 0},
		{"a part of them", func() error { return write(txn, 5000, 10) }, 0},
		{"the ends", func() error { return write(txn, 1000, 15000) }, 2},
		{"the ends again", func() error { return write(txn, 1000, 15000) }, 0},
		{"zeros", func() error { return txn.Zero(dev.Range{Off: 20480, Len: 8192}) }, 0},
		{"a part of zeros", func() error { return write(txn, 20490, 10) }, 0},
		{"nothing", func() error { return write(txn, 0, 0) }, 0},
	}
	for _, s := range steps {
		trace.Reset()
		if err := s.do(); err != nil {
			t.Fatal(err)
		}
		if got := trace.Counts().Ops[devtest.Read]; got != s.reads {
			t.Errorf("%s: %d reads of the base, want %d", s.name, got, s.reads)
		}
	}
}

func TestTxnRanges(t *testing.T) {
	txn := dev.Begin(&ram{b: make([]byte, 10000)})
	bad := []dev.Range{{Off: -1, Len: 1}, {Off: 9999, Len: 2}, {Off: 10001}, {Off: 1 << 62, Len: 1 << 62}, {Off: 5, Len: -1}}
	for _, r := range bad {
		if err := txn.Zero(r); !errors.Is(err, dev.ErrRange) {
			t.Errorf("zero %v: %v", r, err)
		}
		if err := txn.Discard(r); !errors.Is(err, dev.ErrRange) {
			t.Errorf("discard %v: %v", r, err)
		}
		if r.Len < 0 || r.Len > 10 {
			continue
		}
		if _, err := txn.WriteAt(make([]byte, r.Len), r.Off); !errors.Is(err, dev.ErrRange) {
			t.Errorf("write %v: %v", r, err)
		}
		if _, err := txn.ReadAt(make([]byte, r.Len), r.Off); !errors.Is(err, dev.ErrRange) {
			t.Errorf("read %v: %v", r, err)
		}
	}
	if txn.Dirty() {
		t.Error("something is staged")
	}
}

func TestTxnReadOnlyBase(t *testing.T) {
	base := speckled(64<<10, 2)
	base.readOnly = true
	before := bytes.Clone(base.b)
	txn := dev.Begin(base)
	if txn.Limits().ReadOnly {
		t.Error("the Txn is read-only as well")
	}
	if err := write(txn, 77, 9000); err != nil {
		t.Fatal(err)
	}
	if _, err := txn.Commit(context.Background(), dev.CommitOptions{}); !errors.Is(err, dev.ErrReadOnly) {
		t.Errorf("commit: %v", err)
	}
	if !txn.Dirty() {
		t.Error("the failed commit dropped what was staged")
	}
	if !bytes.Equal(base.b, before) {
		t.Error("the base was written")
	}
}

// TestTxnEpochs checks order and syncs of what a commit writes.
func TestTxnEpochs(t *testing.T) {
	trace := devtest.NewTrace(&ram{b: make([]byte, 1<<20)})
	txn := dev.Begin(trace)
	must(t, write(txn, 0x20000, 8192), txn.Sync(), txn.Sync())
	must(t, write(txn, 0x10000, 4096), write(txn, 0x11000, 4096), txn.Sync())
	must(t, write(txn, 0x21000, 4), write(txn, 0, 4096))
	if _, err := txn.Commit(context.Background(), dev.CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"write 131072+4096", "sync", "write 65536+8192", "sync", "write 0+4096", "write 135168+4096", "sync"}
	var got []string
	for _, o := range trace.Ops(devtest.Write, devtest.Zero, devtest.Sync) {
		got = append(got, o.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTxnNested commits a Txn over a section of a Txn into the outer one.
func TestTxnNested(t *testing.T) {
	base := speckled(256<<10, 5)
	before := bytes.Clone(base.b)
	trace := devtest.NewTrace(base)
	outer := dev.Begin(trace)
	part, err := dev.Section(outer, dev.Range{Off: 63 * 512, Len: 128 << 10})
	must(t, err)
	for range 2 {
		inner := dev.Begin(part)
		must(t, write(inner, 0, 5000), inner.Sync(), write(inner, 70000, 4), inner.Zero(dev.Range{Off: 9000, Len: 30000}))
		want := contents(t, inner)
		if _, err := inner.Commit(context.Background(), dev.CommitOptions{}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(contents(t, part), want) {
			t.Fatal("the outer one does not hold what the inner one held")
		}
	}
	if n := trace.Counts().Ops[devtest.Write]; n != 0 || !bytes.Equal(base.b, before) {
		t.Fatalf("%d writes reached the base", n)
	}
	want := contents(t, outer)
	must(t, commitWith(outer, dev.CommitOptions{Undo: devtest.NewWorld(base).Journal()}))
	if !bytes.Equal(base.b, want) {
		t.Error("the base does not hold what the outer one held")
	}
	if n := trace.Counts().Ops[devtest.Sync]; n < 2 {
		t.Errorf("%d syncs: the inner barrier is lost", n)
	}
}
