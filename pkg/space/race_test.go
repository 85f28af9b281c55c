package space

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// ownership notes who has a unit, to notice one given to two.
type ownership struct{ units []atomic.Int32 }

func (o *ownership) change(es []Extent, from, to int32) bool {
	for _, e := range es {
		for u := uint64(e.Start); u < e.End(); u++ {
			if !o.units[u].CompareAndSwap(from, to) {
				return false
			}
		}
	}
	return true
}

// TestConcurrent lets goroutines allocate, cancel, release and commit at
// random, with requests of all kinds, in a map that is nearly full.
func TestConcurrent(t *testing.T) {
	const units, workers = 1 << 13, 8
	steps := 3000
	if testing.Short() {
		steps = 300
	}
	m := fragmented(units, 90, 1)
	free := m.CountFree()
	g := NewAllocator(m, Options{GroupUnits: 256})
	own := &ownership{make([]atomic.Int32, units)}
	var wg sync.WaitGroup
	for id := range int32(workers) {
		var a canceller = g
		if id%2 == 0 {
			a = g.Stream()
		}
		wg.Go(func() {
			w := worker{g: a, own: own, id: id + 1, r: rand.New(rand.NewPCG(7, uint64(id)))}
			for range steps {
				if err := w.step(); err != nil {
					t.Error(err)
					return
				}
			}
			if err := w.finish(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	g.Commit()
	same(t, "free at the end", g.Free(), free)
	same(t, "pending at the end", g.Pending(), 0)
	checkSummary(t, g)
}

type canceller interface {
	Allocator
	Cancel([]Extent) error
}

type worker struct {
	g    canceller
	own  *ownership
	id   int32
	r    *rand.Rand
	held [][]Extent
}

func (w *worker) step() error {
	switch n := len(w.held); {
	case w.r.IntN(20) == 0:
		w.g.Commit()
	case n > 0 && w.r.IntN(2) == 0:
		es := w.held[n-1]
		w.held = w.held[:n-1]
		return w.give(es)
	default:
		r := Request{
			Units:      1 + w.r.Uint32N(1<<w.r.Uint32N(10)),
			Goal:       w.r.Uint32N(2) * w.r.Uint32N(1<<13),
			Exact:      w.r.IntN(8) == 0,
			Contiguous: w.r.IntN(3) == 0,
			Align:      w.r.Uint32N(2) * w.r.Uint32N(20),
		}
		es, err := w.g.Alloc(nil, r)
		switch {
		case errors.Is(err, ErrNoSpace), errors.Is(err, ErrNotContiguous):
			return nil
		case err != nil:
			return err
		case !w.own.change(es, 0, w.id):
			return fmt.Errorf("a unit of %v is someone else's", es)
		}
		w.held = append(w.held, es)
	}
	return nil
}

func (w *worker) give(es []Extent) error {
	if !w.own.change(es, w.id, 0) {
		return fmt.Errorf("a unit of %v is someone else's", es)
	}
	if w.r.IntN(2) == 0 {
		return w.g.Cancel(es)
	}
	return w.g.Release(es)
}

func (w *worker) finish() error {
	for _, es := range w.held {
		if err := w.give(es); err != nil {
			return err
		}
	}
	return nil
}

// TestConcurrentMap marks two halves of a map whose border is between words.
func TestConcurrentMap(t *testing.T) {
	m := NewMap(1 << 12)
	var wg sync.WaitGroup
	for half := range uint32(2) {
		wg.Go(func() {
			for u := range uint32(1 << 10) {
				m.Set(half<<11 + u)
			}
			if err := m.SetRun(Extent{half<<11 + 1<<10, 1 << 10}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	same(t, "used", m.CountUsed(), 1<<12)
}
