package lfs

import (
	"runtime"
	"sync"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
)

const (
	// nodeGap is how many bytes between two blocks are read with them: fewer
	// and larger reads cost less than the bytes that nobody asked for.
	nodeGap = 32 << 10
	// sweepPiece is how many bytes of blocks are read at once: what fits the
	// cache of a core beside all else. Of nodes with pointers it is more where
	// not all summaries are kept: a piece has each of them read once, however
	// scattered the blocks are.
	sweepPiece     = 256 << 10
	sweepNodePiece = 1 << 20
	// sweepAhead is for how many pieces the device is told in advance, which
	// costs time where it has them at hand. So it is told only for as many
	// pieces as sweepAdvised after one that took longer than sweepSlow a byte.
	sweepAhead   = 8
	sweepAdvised = 128
	sweepSlow    = time.Nanosecond
)

// blockRef is a block to be read, and the number that its reader knows it by.
type blockRef struct {
	blk uint32
	at  int32
}

// sweepPart is a piece of the device, and the blocks in it that are wanted.
type sweepPart struct {
	r    dev.Range
	refs []blockRef
}

// sweep reads blocks of the main area in order of address, neighbours together.
// Workers read and look at a piece each, side by side; what they found is
// merged in order. Nobody waits for the turn of his piece: what comes early is
// laid by, and whoever brings the piece before it merges both.
type sweep struct {
	w     *walk
	take  func(h *harvest, at int32, b []byte) // looks at one block
	merge func(h *harvest) error               // takes over what a piece gave
	piece int64

	mu     sync.Mutex
	turn   *sync.Cond  // merged or err changed
	refs   []blockRef  // not cut into parts yet
	queue  []sweepPart // cut, and the device told; not given out
	advise int         // pieces that the device is still to be told of
	early  []*harvest  // by number, modulo its length: what was found, to be merged
	given  int
	merged int
	err    error
}

// sweepEarly is how many pieces a worker may be ahead of what is merged. More
// would even out a device that is slow at times, and take memory.
const sweepEarly = 2

// sweep reads refs, so many bytes at a time. An address may come several times.
func (w *walk) sweep(refs []blockRef, piece int64, take func(h *harvest, at int32, b []byte), merge func(h *harvest) error) error {
	sortByKey(refs, nil, func(r *blockRef) uint32 { return r.blk })
	n := min(w.sweepers(), int(int64(len(refs))*w.g.BlockSize/piece)+1)
	s := &sweep{w: w, take: take, merge: merge, refs: refs, advise: sweepAhead, piece: piece, early: make([]*harvest, sweepEarly*n)}
	s.turn = sync.NewCond(&s.mu)
	var wg sync.WaitGroup
	for i := range n - 1 {
		mem := w.memory(i+1, piece)
		wg.Go(func() { s.work(mem) })
	}
	s.work(w.memory(0, piece))
	wg.Wait()
	return s.err
}

// sweepers is how many workers there are: one a core, and two at least, for one
// of them may wait for the device. Many would take much memory, and wait for
// each other.
func (w *walk) sweepers() int {
	const most = 4
	if w.workers > 0 {
		return min(w.workers, most)
	}
	return min(max(2, runtime.GOMAXPROCS(0)), most)
}

// memory is that of worker i, kept from sweep to sweep, with room for a piece.
func (w *walk) memory(i int, piece int64) *scratch {
	for len(w.scratch) <= i {
		w.scratch = append(w.scratch, &scratch{})
	}
	m := w.scratch[i]
	if int64(len(m.piece)) < piece {
		m.piece = make([]byte, piece)
	}
	return m
}

// work is one worker.
func (s *sweep) work(mem *scratch) {
	for {
		part, h := s.next()
		if h == nil {
			return
		}
		h.scratch = mem
		b := mem.piece[:part.r.Len]
		start := time.Now()
		_, err := s.w.d.ReadAt(b, part.r.Off)
		h.slow = time.Since(start) > time.Duration(len(b))*sweepSlow
		if err == nil {
			h.bytesRead += part.r.Len
			for _, r := range part.refs {
				off := s.w.g.BlockOff(r.blk) - part.r.Off
				s.take(h, r.at, b[off:off+s.w.g.BlockSize])
			}
			err = h.compare()
		}
		h.blocks, h.err = len(part.refs), err
		s.deliver(h)
	}
}

// next gives out the next part, and an empty harvest for it; nil where there is
// nothing left to do.
func (s *sweep) next() (sweepPart, *harvest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && s.given-s.merged == len(s.early) {
		s.turn.Wait()
	}
	if s.err == nil {
		s.err = s.w.ctx.Err()
	}
	if s.err != nil {
		s.turn.Broadcast()
		return sweepPart{}, nil
	}
	for len(s.refs) > 0 && len(s.queue) <= sweepAhead {
		var p sweepPart
		p, s.refs = s.w.g.cutPart(s.refs, s.piece)
		s.queue = append(s.queue, p)
		if s.advise > 0 {
			s.advise--
			s.w.d.Readahead(p.r)
		}
	}
	if len(s.queue) == 0 {
		return sweepPart{}, nil
	}
	p := s.queue[0]
	s.queue = s.queue[1:]
	h := s.w.hire()
	h.number, h.full = s.given, s.w.full
	s.given++
	return p, h
}

// hire gives an empty harvest: one that was merged, if there is one.
func (w *walk) hire() *harvest {
	k := len(w.idle) - 1
	if k < 0 {
		return newHarvest(w)
	}
	h := w.idle[k]
	w.idle = w.idle[:k]
	h.reset()
	return h
}

// cutPart takes the next part off sorted blocks: neighbours, of at most so many
// bytes together. Of none it is empty.
func (g *Geometry) cutPart(refs []blockRef, most int64) (part sweepPart, rest []blockRef) {
	if len(refs) == 0 {
		return sweepPart{}, nil
	}
	r := g.BlockRange(refs[0].blk, 1)
	n := 1
	for ; n < len(refs); n++ {
		next := g.BlockRange(refs[n].blk, 1)
		if next.Off-r.End() > nodeGap || next.End()-r.Off > most {
			break
		}
		r.Len = max(r.Len, next.End()-r.Off)
	}
	return sweepPart{r: r, refs: refs[:n]}, refs[n:]
}

// deliver brings in what a part gave, and merges what has its turn.
func (s *sweep) deliver(h *harvest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.early[h.number%len(s.early)] = h; ; s.merged++ {
		next := &s.early[s.merged%len(s.early)]
		if *next == nil {
			break
		}
		s.settle(*next)
		*next = nil
	}
	s.turn.Broadcast()
}

// settle merges a harvest, unless something went wrong before.
func (s *sweep) settle(h *harvest) {
	if s.err == nil {
		s.err = h.err
	}
	if s.err == nil {
		s.err = s.merge(h)
	}
	if h.slow {
		s.advise = sweepAdvised
	}
	s.w.bytesRead += h.bytesRead
	s.w.advance(h.blocks)
	s.w.idle = append(s.w.idle, h)
}

// advance tells of n more nodes or blocks of directories that were read.
func (w *walk) advance(n int) {
	w.done += int64(n)
	if w.progress != nil {
		w.progress(min(w.done, w.total), w.total)
	}
}
