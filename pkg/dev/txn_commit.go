package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// CommitOptions say how a Txn is committed. The zero value commits without an
// undo log: for a Txn over a Txn, and for images whose contents do not matter.
type CommitOptions struct {
	// Undo is where the undo log goes; nil for none. Without one a commit
	// that fails or is cancelled leaves the base half written.
	Undo Journal
	// Keep leaves the log, marked as finished, so that ApplyUndo can take the
	// commit back as long as nothing else changes the image.
	Keep bool
	// Guard is what of the base is to stay as it is, beside what is written, for
	// what the log restores to make sense: such as the contents of a file whose
	// name is what a commit takes away. A log is stale where that was changed. It
	// is read once, without a log not at all. Any order, and overlaps, will do.
	Guard []Range
	// Label says who writes, such as "fatkit check -y": at most 256 bytes.
	Label string
	// Progress is called now and then with the bytes done; it must not write
	// to the Txn.
	Progress func(done, total int64)
}

// CommitStats say what a commit did, in bytes.
type CommitStats struct {
	BytesWritten int64 // pages written to the base
	BytesZeroed  int64 // ranges given to the base's Zero
	UndoBytes    int64 // length of the undo log
}

const (
	commitBuf  = 1 << 20   // bytes of a write to the base
	commitZero = 256 << 20 // bytes of a Zero, so that a cancel is heard
	commitRun  = commitBuf / txnPage
)

// commit is the work of one Commit.
type commit struct {
	t     *Txn
	ctx   context.Context
	o     CommitOptions
	undo  *undoWriter // nil: no log
	plan  []span      // what to write: by offset, then by epoch
	stats CommitStats
	old   []byte // what the base holds
	new   []byte // what is going to be there
	zeros []byte // a page of them
	base  Range  // the base's last answer to NextData
	done  int64
	total int64
}

// Commit writes what is staged to the base, epoch by epoch, each durable
// before the next is written, and then empties the transaction. Pages that
// hold what the base holds are left out (without a log only zeros over holes
// are, so that nothing need be read).
//
// With a log either all is written or nothing is: when writing fails or ctx is
// cancelled the base is restored at once and the error returned, wrapping
// ctx.Err() if it was that; when the machine dies ApplyUndo restores. The
// changes stay staged after an error. Errors of their own: ErrUndoExists
// (nothing was written), ErrNotRestored (the log is kept, see ApplyUndo), and
// ErrUndoLeft, which is all but success: the changes are written and durable.
func (t *Txn) Commit(ctx context.Context, o CommitOptions) (CommitStats, error) {
	c := &commit{t: t, ctx: ctx, o: o, base: Range{Off: -1}}
	err := c.run()
	if err == nil || errors.Is(err, ErrUndoLeft) {
		c.progress(c.total - c.done) // what did not differ took no step
		t.Rollback()                 // what was staged is in the base
	}
	return c.stats, err
}

func (c *commit) run() error {
	c.t.mu.RLock()
	defer c.t.mu.RUnlock()
	if c.t.spans.empty() {
		return nil
	}
	if c.t.base.Limits().ReadOnly {
		return &Error{Op: "commit", Err: ErrReadOnly}
	}
	c.count()
	c.old, c.new, c.zeros = make([]byte, commitBuf), make([]byte, commitBuf), make([]byte, txnPage)
	if c.o.Undo == nil {
		if err := c.diff(); err != nil {
			return err
		}
		return c.write()
	}
	return c.logged()
}

// logged is a commit with an undo log.
func (c *commit) logged() (err error) {
	if c.undo, err = createUndo(c.o.Undo, c.t.base, c.o.Label); err != nil {
		return err
	}
	if err := c.diff(); err != nil {
		return errors.Join(err, c.undo.discard())
	}
	if len(c.plan) == 0 { // nothing differs
		return c.undo.discard()
	}
	if err := c.guard(); err != nil {
		return errors.Join(err, c.undo.discard())
	}
	// What the log says was there must be there after a power cut, too: somebody
	// may have written below the transaction.
	if err := c.t.base.Sync(); err != nil {
		return errors.Join(err, c.undo.discard())
	}
	if err := c.undo.arm(); err != nil {
		return errors.Join(err, c.undo.discard())
	}
	c.stats.UndoBytes = c.undo.head.length
	if err := c.write(); err != nil {
		return c.restore(err)
	}
	if c.o.Keep {
		if err := c.undo.finish(); err != nil {
			return c.restore(err)
		}
		return nil
	}
	if err := c.undo.disarm(); err != nil {
		// The log may still be armed, and would take the commit back later,
		// when nobody expects it. So do it now.
		return c.restore(err)
	}
	if err := c.undo.remove(); err != nil {
		return fmt.Errorf("%w: %w", ErrUndoLeft, err)
	}
	return nil
}

// restore takes the commit back because of err, and returns err and what went
// wrong on top. The cancel that may be err must not stop it.
func (c *commit) restore(err error) error {
	c.stats = CommitStats{UndoBytes: c.stats.UndoBytes}
	return errors.Join(err, c.undo.restore(context.WithoutCancel(c.ctx), c.t.base))
}

// write writes the plan.
func (c *commit) write() error {
	slices.SortStableFunc(c.plan, func(a, b span) int {
		return cmp.Compare(a.epoch, b.epoch)
	})
	for i, sp := range c.plan {
		if i > 0 && c.plan[i-1].epoch != sp.epoch {
			if err := c.t.base.Sync(); err != nil {
				return err
			}
		}
		write := c.writePages
		if sp.zero {
			write = c.writeZeros
		}
		if err := write(sp); err != nil {
			return err
		}
	}
	if len(c.plan) == 0 {
		return nil
	}
	return c.t.base.Sync()
}

func (c *commit) writePages(sp span) error {
	for left := c.t.bytes(sp.first, sp.end); left.Len > 0; {
		if err := cancelled(c.ctx, "commit"); err != nil {
			return err
		}
		p, err := c.t.gather(sp, Range{left.Off, min(left.Len, commitBuf)}, c.new)
		if err != nil {
			return err
		}
		if _, err := c.t.base.WriteAt(p, left.Off); err != nil {
			return err
		}
		n := int64(len(p))
		c.stats.BytesWritten += n
		c.progress(n)
		left = Range{left.Off + n, left.Len - n}
	}
	return nil
}

func (c *commit) writeZeros(sp span) error {
	for r := c.t.bytes(sp.first, sp.end); r.Len > 0; {
		if err := cancelled(c.ctx, "commit"); err != nil {
			return err
		}
		n := min(r.Len, commitZero)
		if err := c.t.base.Zero(Range{r.Off, n}); err != nil {
			return err
		}
		c.stats.BytesZeroed += n
		c.progress(n)
		r = Range{r.Off + n, r.Len - n}
	}
	return nil
}

// count sets the total for Progress: all that is staged, once for the log and
// once for the base.
func (c *commit) count() {
	for cu := (cursor{}); ; cu = c.t.spans.next(cu) {
		sp, ok := c.t.spans.get(cu)
		if !ok {
			break
		}
		c.total += c.t.bytes(sp.first, sp.end).Len
	}
	if c.o.Undo != nil {
		c.total *= 2
	}
}

func (c *commit) progress(n int64) {
	c.done += n
	if c.o.Progress != nil {
		c.o.Progress(c.done, c.total)
	}
}

// gather is what r holds from its start on, which lies in sp, pages or a pattern:
// as much as lies in one piece in the memory of the arena, if that is some, else
// all of r, copied to buf.
func (t *Txn) gather(sp span, r Range, buf []byte) ([]byte, error) {
	if sp.pattern != nil {
		sp.pattern.Fill(buf[:r.Len], r.Off)
		return buf[:r.Len], nil
	}
	first := t.pages[r.Off/txnPage].slot
	pages := int((r.Len + txnPage - 1) / txnPage)
	n := 1
	for n < pages && first.index()+n < slabPages && t.pages[r.Off/txnPage+int64(n)].slot == first+slot(n) {
		n++
	}
	if mem := t.arena.mem(first, n); mem != nil && (n == pages || n >= gatherPages) {
		return mem[:min(int64(len(mem)), r.Len)], nil
	}
	if n == pages {
		return buf[:r.Len], t.arena.read(buf[:r.Len], first, 0)
	}
	return buf[:r.Len], t.readPages(buf[:r.Len], r.Off)
}

// gatherPages is how many pages are worth a write of their own.
const gatherPages = 32
