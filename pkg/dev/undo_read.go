package dev

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// undoReader reads a log that may be anything.
type undoReader struct {
	lf   LogFile
	name string
	head undoHeader
	info UndoInfo
}

// open reads header and mark; info.State is what they say.
func (u *undoReader) open() error {
	size, err := u.lf.Size()
	if err != nil {
		return u.fail(err)
	}
	b := make([]byte, min(max(size, 0), 2*undoSector))
	if _, err := u.lf.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return u.fail(err)
	}
	header := b[:min(len(b), undoSector)]
	if AllZero(header) {
		u.info.State = UndoIncomplete
		return nil
	}
	u.info.State = UndoDamaged
	h, ok := decodeHeader(b, size)
	if !ok {
		return nil
	}
	u.head = h
	u.info.Label, u.info.Blocks = h.label, int(h.records)
	switch mark := b[undoSector:]; {
	case AllZero(mark):
		u.info.State = UndoArmed
	case bytes.Equal(mark, encodeMark(header)):
		u.info.State = UndoFinished
	}
	return nil
}

// each calls fn for every record, in order, with its old contents (nil for
// zeros) and the checksums of the new ones, which it may not keep. It fails with ErrUndoDamaged where the log
// does not hold what the header promises, before fn sees it; that records are
// in order and inside the image is certain in fn.
func (u *undoReader) each(fn func(rec undoRecord, old, sums []byte) error) error {
	in := bufio.NewReaderSize(io.NewSectionReader(u.lf, undoRecords, u.head.length-undoRecords), 256<<10)
	left := u.head.length - undoRecords
	var sum uint32
	var end int64 // of the record before
	var head [undoRecHead]byte
	var payload, sums []byte
	for range u.head.records {
		if left -= undoRecHead; left < 0 {
			return u.damaged()
		}
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return u.fail(err)
		}
		sum = addRecord(sum, head[:])
		rec, ok := decodeRecord(head[:])
		if !ok || rec.Off < end || CheckRange("undo", rec.Range, u.head.imageSize) != nil || rec.payload()+rec.sumBytes() > left {
			return u.damaged()
		}
		end = rec.End()
		left -= rec.payload() + rec.sumBytes()
		var old []byte
		if !rec.zero {
			if int64(cap(payload)) < rec.Len {
				payload = make([]byte, rec.Len) // at most undoPayload and what the log holds
			}
			old = payload[:rec.Len]
			if _, err := io.ReadFull(in, old); err != nil {
				return u.fail(err)
			}
		}
		sums = slices.Grow(sums[:0], int(rec.sumBytes()))[:rec.sumBytes()] // no more than the log holds
		if _, err := io.ReadFull(in, sums); err != nil {
			return u.fail(err)
		}
		if crc(0, old) != rec.old || crc(0, sums) != rec.sums {
			return u.damaged()
		}
		if err := fn(rec, old, sums); err != nil {
			return err
		}
	}
	if left != 0 || sum != u.head.sum {
		return u.damaged()
	}
	return nil
}

// verify settles whether the log may be applied to d, without writing. What is
// wrong with the log is in info.State; an error means that log or image could
// not be read. With one the state is none, but where the log is certainly that of d.
func (u *undoReader) verify(ctx context.Context, d Device) error {
	err := u.open()
	if err != nil || u.info.State.Err() != nil || u.info.State == UndoIncomplete {
		return err
	}
	err = u.compare(ctx, d)
	if err != nil && !errors.Is(err, errUnread) {
		u.info.State = UndoNone
	}
	return err
}

// errUnread is around the error of a part of the image that cannot be read, though it
// is known to be the one that the log is of.
var errUnread = errors.New("the image cannot be held against its undo log")

// compare holds the log, which says itself that it is armed or finished, against d.
func (u *undoReader) compare(ctx context.Context, d Device) error {
	if u.head.imageSize != d.Size() {
		u.info.State = UndoForeign
		// Go on: damage counts more than the size, which may be the damage.
	}
	first := make([]byte, min(u.head.imageSize, d.Size(), undoIdentity))
	if _, err := d.ReadAt(first, 0); err != nil {
		return err
	}
	stale := false
	var unread error // the log is read on: whose it is shows at its end
	u.info.Bytes, u.info.Cut = 0, u.info.State == UndoArmed
	buf := make([]byte, 64<<10)
	err := u.each(func(rec undoRecord, old, sums []byte) error {
		if err := cancelled(ctx, "undo"); err != nil {
			return err
		}
		u.info.Bytes += rec.Len
		overlay(first, rec, old)
		if u.info.State == UndoForeign || stale || unread != nil {
			return nil
		}
		left, err := u.left(ctx, d, rec, old, sums, buf)
		if stale, unread = !left && err == nil, err; ctx.Err() != nil {
			return err
		}
		return nil
	})
	switch {
	case isDamaged(err):
		u.info.State = UndoDamaged
		return nil
	case err != nil:
		return err
	case u.info.State == UndoForeign || sha256.Sum256(first) != u.head.identity:
		u.info.State = UndoForeign
	case unread != nil:
		return fmt.Errorf("%w: %w", errUnread, unread)
	case stale:
		u.info.State = UndoStale
	}
	return nil
}

// left tells whether d holds in the range of rec what the run left there: of one
// that was finished what it wrote, of one that was cut short that or what had been
// there, sector by sector. What is neither was written by somebody else.
func (u *undoReader) left(ctx context.Context, d Device, rec undoRecord, old, sums, buf []byte) (bool, error) {
	for r := rec.Range; r.Len > 0; {
		if err := cancelled(ctx, "undo"); err != nil {
			return false, err
		}
		p := buf[:min(int64(len(buf)), r.Len)]
		if _, err := d.ReadAt(p, r.Off); err != nil {
			return false, err
		}
		r = Range{r.Off + int64(len(p)), r.Len - int64(len(p))}
		for len(p) > 0 {
			n := min(len(p), undoSector)
			was := AllZero(p[:n])
			if !rec.zero {
				was = bytes.Equal(p[:n], old[:n])
				old = old[n:]
			}
			if !(u.info.Cut && was) && crc(0, p[:n]) != binary.LittleEndian.Uint32(sums) {
				return false, nil
			}
			p, sums = p[n:], sums[4:]
		}
	}
	return true, nil
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

// sumDevice is the checksum of r on d.
func sumDevice(ctx context.Context, d Device, r Range, buf []byte) (uint32, error) {
	var sum uint32
	for r.Len > 0 {
		if err := cancelled(ctx, "undo"); err != nil {
			return 0, err
		}
		p := buf[:min(int64(len(buf)), r.Len)]
		if _, err := d.ReadAt(p, r.Off); err != nil {
			return 0, err
		}
		sum = crc(sum, p)
		r = Range{r.Off + int64(len(p)), r.Len - int64(len(p))}
	}
	return sum, nil
}

// restore writes the old contents of every record to d and syncs it.
func (u *undoReader) restore(ctx context.Context, d Device) error {
	err := u.each(func(rec undoRecord, old, _ []byte) error {
		if err := cancelled(ctx, "undo"); err != nil {
			return err
		}
		var err error
		if rec.zero {
			err = d.Zero(rec.Range) // a hole again, where it was one: needs no space
		} else {
			_, err = d.WriteAt(old, rec.Off)
		}
		if err != nil && holds(ctx, d, rec, old) {
			return nil // what can not be written was not changed either
		}
		return err
	})
	if err != nil {
		return err
	}
	return d.Sync()
}

// holds reports whether d has the old contents of rec.
func holds(ctx context.Context, d Device, rec undoRecord, old []byte) bool {
	buf := make([]byte, 64<<10)
	if !rec.zero {
		sum, err := sumDevice(ctx, d, rec.Range, buf)
		return err == nil && sum == rec.old
	}
	for at := rec.Off; at < rec.End(); {
		data := d.NextData(at).Intersect(rec.Range)
		if data.Empty() {
			return true
		}
		p := buf[:min(int64(len(buf)), data.Len)]
		if _, err := d.ReadAt(p, data.Off); err != nil || !AllZero(p) {
			return false
		}
		at = data.Off + int64(len(p))
	}
	return true
}

func (u *undoReader) damaged() error { return u.fail(ErrUndoDamaged) }

// fail wraps err. That a log ends early is damage, not a failure to read.
func (u *undoReader) fail(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: it ends early", ErrUndoDamaged)
	}
	return &Error{Op: "read undo log", Path: u.name, Err: err}
}

// cancelled is the context's error, if it has one, as an *Error.
func cancelled(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return &Error{Op: op, Err: err}
	}
	return nil
}
