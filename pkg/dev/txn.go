package dev

import (
	"errors"
	"sync"
)

// DefaultStaged is how many bytes of staged pages a Txn keeps in memory before
// it moves them to a temporary file.
const DefaultStaged = 64 << 20

// Txn is a Device over a Device: writes are staged, in pages of 4 KiB and in
// ranges of zeros or of a Pattern, and reach the base when they are committed or not at all.
// What is read through it is the staged state.
//
// Each page is in one of four states: as in the base, a page of its own, zeros,
// or what a pattern gives. The first write to a part of a page reads the base
// once, the write of a whole page never does; a Zero or WritePattern of any length
// costs the memory of one span.
//
// Sync on a Txn is a barrier: it ends an epoch, and Commit makes each epoch
// durable before it writes the next. A page belongs to the epoch of its last
// change. So what an earlier epoch put into a page that changes again later
// reaches the base with the later one. Exact order would need a version of the
// page for every epoch and as many writes and syncs; it would buy nothing
// where there is an undo log, which restores the state before from whatever
// mixture of epochs a power cut leaves. Code that commits without a log and
// counts on its barriers must not change a page on both sides of one.
//
// Transactions nest: a Txn over a Section over a Txn commits into the outer
// one, without a log of its own, and its barriers become the outer one's.
//
// Concurrent ReadAt is safe, also beside one writer. Commit and Rollback are
// writers.
type Txn struct {
	base Device
	size int64

	mu      sync.RWMutex
	pages   map[int64]staged
	spans   spanSet // the staged pages, zeros and patterns in order
	arena   arena
	epoch   uint32
	touched bool // something was staged in this epoch
}

// staged is where a page's contents are and when they changed last.
type staged struct {
	slot  slot
	epoch uint32
}

var _ Device = (*Txn)(nil)

// Begin starts a transaction over base. A read-only base is fine for a dry
// run: only Commit fails then, with ErrReadOnly.
//
// While anything is staged the base must not be written by others, least of
// all within the 4 KiB around it: a staged page is a copy of all of the page.
func Begin(base Device) *Txn {
	return &Txn{
		base:  base,
		size:  base.Size(),
		pages: make(map[int64]staged),
		arena: arena{limit: DefaultStaged},
	}
}

// SpillAfter sets how many bytes of staged pages stay in memory, at least
// 1 MiB, for pages staged from now on.
func (t *Txn) SpillAfter(bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arena.limit = bytes
}

// Size is the base's.
func (t *Txn) Size() int64 { return t.size }

// Limits are the base's, but a Txn can always be written.
func (t *Txn) Limits() Limits {
	l := t.base.Limits()
	l.ReadOnly = false
	return l
}

// Readahead passes the advice on: staged pages are rarely all of r.
func (t *Txn) Readahead(r Range) { t.base.Readahead(r) }

// pageLen is the length of a page in bytes, shorter at the end of the device.
func (t *Txn) pageLen(page int64) int { return int(min(txnPage, t.size-page*txnPage)) }

// bytes is the range of the pages [first, end), cut at the end of the device,
// whose size may be the largest there is.
func (t *Txn) bytes(first, end int64) Range {
	to := t.size
	if end <= t.size/txnPage {
		to = end * txnPage
	}
	return Range{Off: first * txnPage, Len: to - first*txnPage}
}

// pagesTo is how many pages the first off bytes touch.
func pagesTo(off int64) int64 {
	n := off / txnPage
	if off%txnPage != 0 {
		n++
	}
	return n
}

// ReadAt reads the staged state: see Device.
func (t *Txn) ReadAt(p []byte, off int64) (int, error) {
	if err := CheckRange("read", Range{off, int64(len(p))}, t.size); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	page, at := off/txnPage, int(off%txnPage)
	if at+len(p) <= txnPage { // most reads are small: spare them the search
		if pg, ok := t.pages[page]; ok {
			return done(len(p), t.arena.read(p, pg.slot, at))
		}
	}
	return done(len(p), t.readSpans(p, off))
}

// done is what ReadAt returns for n bytes or err: all or nothing.
func done(n int, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return n, nil
}

// readSpans fills p piece by piece: gaps from the base, spans from the stage.
// Gaps are read one by one, so that a sector of the base that cannot be read
// does no harm once it is staged.
func (t *Txn) readSpans(p []byte, off int64) error {
	c := t.spans.seek(off / txnPage)
	for len(p) > 0 {
		sp, ok := t.spans.get(c)
		r := t.bytes(sp.first, sp.end)
		n := len(p)
		var err error
		switch {
		case !ok || off+int64(n) <= r.Off:
			_, err = t.base.ReadAt(p, off)
		case off < r.Off:
			n = int(r.Off - off)
			_, err = t.base.ReadAt(p[:n], off)
		default:
			n = int(min(int64(n), r.End()-off))
			c = t.spans.next(c)
			switch {
			case sp.zero:
				clear(p[:n])
			case sp.pattern != nil:
				sp.pattern.Fill(p[:n], off)
			default:
				err = t.readPages(p[:n], off)
			}
		}
		if err != nil {
			return err
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// readPages fills p from staged pages only.
func (t *Txn) readPages(p []byte, off int64) error {
	for len(p) > 0 {
		at := int(off % txnPage)
		n := min(len(p), txnPage-at)
		if err := t.arena.read(p[:n], t.pages[off/txnPage].slot, at); err != nil {
			return err
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// WriteAt stages p. It can fail only on reading the base around the two ends
// of p, or if the temporary file cannot take more; then a part of p may be
// staged, and the transaction is best rolled back.
func (t *Txn) WriteAt(p []byte, off int64) (int, error) {
	if err := CheckRange("write", Range{off, int64(len(p))}, t.size); err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stage(p, off)
}

func (t *Txn) stage(p []byte, off int64) (n int, err error) {
	first, fresh := off/txnPage, false
	for n < len(p) {
		page, at := (off+int64(n))/txnPage, int((off+int64(n))%txnPage)
		c := min(len(p)-n, t.pageLen(page)-at)
		var added bool
		if added, err = t.stagePage(page, at, p[n:n+c]); err != nil {
			break
		}
		fresh = fresh || added
		n += c
	}
	if n > 0 {
		t.touched = true
	}
	if fresh {
		t.spans.put(span{first: first, end: pagesTo(off + int64(n))})
	}
	return n, err
}

// stagePage puts p at byte at of a page and reports whether the page is new.
func (t *Txn) stagePage(page int64, at int, p []byte) (added bool, err error) {
	pg, ok := t.pages[page]
	if !ok {
		if pg.slot, err = t.newPage(page, len(p) == t.pageLen(page)); err != nil {
			return false, err
		}
	}
	if err = t.arena.write(p, pg.slot, at); err != nil {
		if !ok {
			t.arena.release(pg.slot)
		}
		return false, err
	}
	if !ok || pg.epoch != t.epoch {
		pg.epoch = t.epoch
		t.pages[page] = pg
	}
	return !ok, nil
}

// newPage is a page that holds what the device reads there now, or anything
// if it is about to be overwritten whole.
func (t *Txn) newPage(page int64, whole bool) (slot, error) {
	s, err := t.arena.alloc()
	if err != nil || whole {
		return s, err
	}
	mem := t.arena.mem(s, 1)
	spilled := mem == nil
	if spilled {
		mem = make([]byte, txnPage)
	}
	mem = mem[:t.pageLen(page)]
	switch sp, ok := t.spans.at(page); {
	case ok && sp.zero:
		clear(mem)
	case ok && sp.pattern != nil:
		sp.pattern.Fill(mem, page*txnPage)
	default:
		_, err = t.base.ReadAt(mem, page*txnPage)
	}
	if err != nil {
		t.arena.release(s)
		return 0, err
	}
	if spilled {
		err = t.arena.write(mem, s, 0)
	}
	return s, err
}

// Zero stages zeros for r: the whole pages in it as one span, what is left at
// its ends as pages.
func (t *Txn) Zero(r Range) error {
	if err := CheckRange("zero", r, t.size); err != nil || r.Empty() {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stageSpan(r, span{zero: true}, t.zeroParts)
}

// stageSpan stages the whole pages in r as a span of the kind of sp, and has
// parts stage what is left of r at its ends, or all of an r without a whole page.
func (t *Txn) stageSpan(r Range, sp span, parts func(Range) error) error {
	sp.first, sp.end, sp.epoch = pagesTo(r.Off), r.End()/txnPage, t.epoch
	if r.End() == t.size {
		sp.end = pagesTo(t.size)
	}
	if sp.first >= sp.end {
		return parts(r)
	}
	whole := t.bytes(sp.first, sp.end)
	err := errors.Join(
		parts(Range{r.Off, whole.Off - r.Off}),
		parts(Range{whole.End(), r.End() - whole.End()}))
	if err != nil {
		return err
	}
	t.dropPages(sp.first, sp.end)
	t.spans.put(sp)
	t.touched = true
	return nil
}

// zeroParts stages zeros in at most two pages, of which r is but a part.
func (t *Txn) zeroParts(r Range) error {
	for r.Len > 0 {
		page := r.Off / txnPage
		n := min(r.Len, txnPage-r.Off%txnPage)
		if sp, ok := t.spans.at(page); !ok || !sp.zero {
			if _, err := t.stage(make([]byte, n), r.Off); err != nil {
				return err
			}
		}
		r = Range{r.Off + n, r.Len - n}
	}
	return nil
}

// dropPages forgets the pages in [first, end) that have contents of their own.
func (t *Txn) dropPages(first, end int64) {
	c := t.spans.seek(first)
	for sp, ok := t.spans.get(c); ok && sp.first < end; sp, ok = t.spans.get(c) {
		c = t.spans.next(c)
		if !sp.pages() {
			continue
		}
		for page := max(first, sp.first); page < min(end, sp.end); page++ {
			t.arena.release(t.pages[page].slot)
			delete(t.pages, page)
		}
	}
}

// Discard does nothing: what is discarded can be neither undone nor seen by
// what reads the staged state, so it is for the base, after a commit.
func (t *Txn) Discard(r Range) error { return CheckRange("discard", r, t.size) }

// Sync is a barrier: what is staged later reaches the base only when all that
// is staged now is durable there. It writes nothing and never fails.
func (t *Txn) Sync() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.touched {
		t.epoch++
		t.touched = false
	}
	return nil
}

// Close is Rollback. The base stays open: it is the caller's.
func (t *Txn) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.forget()
}

// Rollback drops all that is staged. The Txn can be used again.
func (t *Txn) Rollback() {
	// Only closing the temporary file can fail, and its contents are unwanted.
	_ = t.Close()
}

func (t *Txn) forget() error {
	t.pages = make(map[int64]staged)
	t.spans = spanSet{}
	t.epoch, t.touched = 0, false
	return t.arena.reset()
}
