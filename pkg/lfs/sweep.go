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
	// cache of a core. Of nodes with pointers it is more where a piece has each
	// summary read once, however scattered the blocks are.
	sweepPiece     = 512 << 10
	sweepNodePiece = 1 << 20
	sweepKeptPiece = 256 << 10 // where all summaries are kept; pointers take room, too
	// sweepAhead is for how many pieces the device is told in advance, which
	// costs time where it has them at hand. So it is told only for as many
	// pieces as sweepAdvised after one that took longer than sweepSlow a byte.
	sweepAhead   = 4
	sweepAdvised = 64
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
// merged in order.
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
	given  int
	merged int
	err    error
}

// sweep reads refs, so many bytes at a time. An address may come several times.
func (w *walk) sweep(refs []blockRef, piece int64, take func(h *harvest, at int32, b []byte), merge func(h *harvest) error) error {
	sortByKey(refs, nil, func(r *blockRef) uint32 { return r.blk })
	s := &sweep{w: w, take: take, merge: merge, refs: refs, advise: sweepAhead, piece: piece}
	s.turn = sync.NewCond(&s.mu)
	n := min(w.sweepers(), int(int64(len(refs))*w.g.BlockSize/s.piece)+1)
	var wg sync.WaitGroup
	for range n - 1 {
		wg.Go(s.work)
	}
	s.work()
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

// work is one worker.
func (s *sweep) work() {
	h := s.w.hire(s.piece)
	defer s.w.dismiss(h)
	for {
		part, n, ok := s.next()
		if !ok {
			return
		}
		b := h.buf[:part.r.Len]
		h.reset()
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
		s.deliver(h, n, len(part.refs), err)
	}
}

// hire gives a harvest with a buffer of n bytes; dismiss keeps it for the next
// sweep.
func (w *walk) hire(n int64) *harvest {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := newHarvest(w)
	if k := len(w.idle) - 1; k >= 0 {
		h, w.idle = w.idle[k], w.idle[:k]
	}
	if int64(len(h.buf)) < n {
		h.buf = make([]byte, n)
	}
	return h
}

func (w *walk) dismiss(h *harvest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = append(w.idle, h)
}

// next gives out the next part, and its number.
func (s *sweep) next() (sweepPart, int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = s.w.ctx.Err()
	}
	if s.err != nil {
		s.turn.Broadcast()
		return sweepPart{}, 0, false
	}
	for len(s.refs) > 0 && len(s.queue) <= sweepAhead {
		p := s.cut()
		s.queue = append(s.queue, p)
		if s.advise > 0 {
			s.advise--
			s.w.d.Readahead(p.r)
		}
	}
	if len(s.queue) == 0 {
		return sweepPart{}, 0, false
	}
	p := s.queue[0]
	s.queue = s.queue[1:]
	s.given++
	return p, s.given - 1, true
}

// cut takes the next part off the blocks that are left.
func (s *sweep) cut() sweepPart {
	g := s.w.g
	r := g.BlockRange(s.refs[0].blk, 1)
	n := 1
	for ; n < len(s.refs); n++ {
		end := g.BlockOff(s.refs[n].blk) + g.BlockSize
		if end-g.BlockSize-r.End() > nodeGap || end-r.Off > s.piece {
			break
		}
		r.Len = max(r.Len, end-r.Off)
	}
	p := sweepPart{r: r, refs: s.refs[:n]}
	s.refs = s.refs[n:]
	return p
}

// deliver waits for the turn of part n and merges what it gave.
func (s *sweep) deliver(h *harvest, n, blocks int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.merged != n && s.err == nil {
		s.turn.Wait()
	}
	if s.err == nil && err == nil {
		err = s.merge(h)
	}
	if s.err == nil {
		s.err = err
	}
	if h.slow {
		s.advise = sweepAdvised
	}
	s.w.bytesRead += h.bytesRead
	s.merged++
	s.w.advance(blocks)
	h.full = s.w.full
	s.turn.Broadcast()
}

// advance tells of n more nodes or blocks of directories that were read.
func (w *walk) advance(n int) {
	w.done += int64(n)
	if w.progress != nil {
		w.progress(min(w.done, w.total), w.total)
	}
}
