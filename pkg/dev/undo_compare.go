package dev

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// verify settles whether the log may be applied to d, without writing. What is
// wrong with the log is in info.State; an error means that log or image could
// not be read. With one the state is none, but where the log is certainly that of d.
func (u *undoReader) verify(ctx context.Context, d Device) error {
	err := u.open()
	if err != nil || u.info.State.Err() != nil || u.info.State == UndoIncomplete {
		return err
	}
	c := comparison{u: u, d: d, buf: make([]byte, 64<<10)}
	sure, err := c.run(ctx)
	if err != nil && !sure {
		u.info.State = UndoNone
	}
	return err
}

// comparison holds a log, which says itself that it is armed or finished, against d.
type comparison struct {
	u       *undoReader
	d       Device
	buf     []byte
	first   []byte // the bytes that tell whose the log is, as they are with it applied
	unknown []bool // sectors of first that cannot be read and that the log does not have
	stale   bool   // something else has written where the run had
	same    bool   // there is a sector that is as the run left it
	unread  error  // the first sector that cannot be read
	missing bool   // what cannot be read is what the log is about
}

// run is verify from there on; sure with an error says that the log is that of d.
func (c *comparison) run(ctx context.Context) (sure bool, err error) {
	u := c.u
	if u.head.imageSize != c.d.Size() {
		u.info.State = UndoForeign
		// Go on: damage counts more than the size, which may be the damage.
	}
	if err := c.begin(ctx); err != nil {
		return false, err
	}
	u.info.Bytes, u.info.Unread, u.info.Cut = 0, 0, u.info.State == UndoArmed
	err = u.each(func(rec undoRecord, old, sums []byte) error { return c.record(ctx, rec, old, sums) })
	switch {
	case isDamaged(err):
		u.info.State = UndoDamaged
		return true, nil
	case err != nil:
		return false, err
	case u.info.State == UndoForeign:
		return true, nil
	}
	return c.settle()
}

// begin reads what tells whose the log is. Sectors that cannot be read may be in the
// log, which shows at its end.
func (c *comparison) begin(ctx context.Context) error {
	c.first = make([]byte, min(c.u.head.imageSize, c.d.Size(), undoIdentity))
	c.unknown = make([]bool, (len(c.first)+undoSector-1)/undoSector)
	return sectors(ctx, c.d, Range{Len: int64(len(c.first))}, c.buf, func(at Range, p []byte, err error) bool {
		if copy(c.first[at.Off:], p); err != nil {
			c.unknown[at.Off/undoSector] = true
			c.missed(err)
		}
		return true
	})
}

// missed remembers where the image cannot be read.
func (c *comparison) missed(err error) {
	if c.unread == nil {
		c.unread = err
	}
}

// record holds one record against the image. Once it is known that the log must be
// refused only its own bytes are looked at: whose it is shows at its end.
func (c *comparison) record(ctx context.Context, rec undoRecord, old, sums []byte) error {
	u := c.u
	if err := cancelled(ctx, "undo"); err != nil {
		return err
	}
	if rec.guard {
		u.info.Blocks--
	} else {
		u.info.Bytes += rec.Len
		overlay(c.first, rec, old)
		c.learn(rec.Range)
	}
	switch {
	case u.info.State == UndoForeign || c.stale || c.missing && !u.force:
		return nil
	case rec.guard:
		return c.guard(ctx, rec)
	}
	return sectors(ctx, c.d, rec.Range, c.buf, func(at Range, p []byte, err error) bool {
		if err != nil {
			u.info.Unread += at.Len
			c.missing = true
			c.missed(err)
			return u.force
		}
		if c.stale = !u.left(rec, at, p, old, sums); !c.stale {
			c.same = true
		}
		return !c.stale
	})
}

// guard holds against the image that what is in rec has stayed there.
func (c *comparison) guard(ctx context.Context, rec undoRecord) error {
	sum, err := sumDevice(ctx, c.d, rec.Range, c.buf)
	switch {
	case ctx.Err() != nil:
		return err
	case err != nil:
		c.missing = true
		c.missed(err)
	default:
		c.stale = sum != rec.old
	}
	return nil
}

// learn notes that the log has what there is of first in r.
func (c *comparison) learn(r Range) {
	for i := range c.unknown {
		s := Range{int64(i) * undoSector, undoSector}.Intersect(Range{Len: int64(len(c.first))})
		if c.unknown[i] && s.Intersect(r) == s {
			c.unknown[i] = false
		}
	}
}

// settle decides at the end of a log that is not damaged. Where it cannot be told by
// its first bytes whose it is, and the user insists, it counts that the image is in
// all places as the run left it.
func (c *comparison) settle() (sure bool, err error) {
	u := c.u
	lost := slices.Contains(c.unknown, true)
	switch {
	case lost && !(u.force && c.same && !c.stale):
		return false, fmt.Errorf("%w: %w", ErrUndoUnread, c.unread)
	case !lost && sha256.Sum256(c.first) != u.head.identity:
		u.info.State = UndoForeign
	case c.stale:
		u.info.State = UndoStale
	case c.missing && !u.force:
		return true, fmt.Errorf("%w: %w", ErrUndoUnread, c.unread)
	}
	return true, nil
}

// left tells whether p, which is read from at in the range of rec, is what the run left
// there: of one that was finished what it wrote, of one that was cut short that or what
// had been there, sector by sector. What is neither was written by somebody else.
func (u *undoReader) left(rec undoRecord, at Range, p, old, sums []byte) bool {
	skip := at.Off - rec.Off
	sums = sums[skip/undoSector*4:]
	if !rec.zero {
		old = old[skip:]
	}
	for len(p) > 0 {
		n := min(len(p), undoSector)
		was := AllZero(p[:n])
		if !rec.zero {
			was = bytes.Equal(p[:n], old[:n])
			old = old[n:]
		}
		if !(u.info.Cut && was) && crc(0, p[:n]) != binary.LittleEndian.Uint32(sums) {
			return false
		}
		p, sums = p[n:], sums[4:]
	}
	return true
}

// sectors reads r and calls fn with pieces of it of whole sectors, counted from its
// start, in order, until it returns false; buf holds at least one. What cannot be read
// comes sector by sector, so that no more is missing than has to be: a piece with an
// error has no bytes. The error that sectors returns is that ctx ended.
func sectors(ctx context.Context, d Device, r Range, buf []byte, fn func(at Range, p []byte, err error) bool) error {
	for r.Len > 0 {
		if err := cancelled(ctx, "undo"); err != nil {
			return err
		}
		at := Range{r.Off, min(int64(len(buf)), r.Len)}
		r = Range{at.End(), r.Len - at.Len}
		if _, err := d.ReadAt(buf[:at.Len], at.Off); err == nil {
			if !fn(at, buf[:at.Len], nil) {
				return nil
			}
			continue
		}
		for at.Len > 0 {
			if err := cancelled(ctx, "undo"); err != nil {
				return err
			}
			s := Range{at.Off, min(undoSector, at.Len)}
			at = Range{s.End(), at.Len - s.Len}
			p := buf[:s.Len]
			_, err := d.ReadAt(p, s.Off)
			if err != nil {
				p = nil
			}
			if !fn(s, p, err) {
				return nil
			}
		}
	}
	return nil
}

// overlay puts what rec restores of the image's first bytes into first.
func overlay(first []byte, rec undoRecord, old []byte) {
	if rec.Off >= int64(len(first)) {
		return
	}
	into := first[rec.Off:min(int64(len(first)), rec.End())]
	if rec.zero {
		clear(into)
		return
	}
	copy(into, old)
}

func isDamaged(err error) bool { return errors.Is(err, ErrUndoDamaged) }
