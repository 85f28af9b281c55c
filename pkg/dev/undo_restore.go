package dev

import (
	"context"
	"errors"
	"fmt"
)

// restore writes the old contents of every record to d and syncs it. With force what
// cannot be written does not keep the rest from being restored, and is the error in
// the end.
func (u *undoReader) restore(ctx context.Context, d Device) error {
	var failed lost
	err := u.each(func(rec undoRecord, old, _ []byte) error {
		if err := cancelled(ctx, "undo"); err != nil {
			return err
		}
		if rec.guard {
			return nil
		}
		err := putBack(d, rec, old)
		if err == nil || holds(ctx, d, rec, old) {
			return nil // what can not be written was not changed either
		}
		if !u.force {
			return err
		}
		return failed.piecemeal(ctx, d, rec, old, err)
	})
	if err == nil {
		err = d.Sync()
	}
	return errors.Join(err, failed.err())
}

// putBack writes what rec has of the old contents.
func putBack(d Device, rec undoRecord, old []byte) error {
	if rec.zero {
		return d.Zero(rec.Range) // a hole again, where it was one: needs no space
	}
	_, err := d.WriteAt(old, rec.Off)
	return err
}

// lost is what could not be restored.
type lost struct {
	bytes int64
	first error
}

func (l *lost) err() error {
	if l.first == nil {
		return nil
	}
	return fmt.Errorf("all is restored but %d bytes, which cannot be written: %w", l.bytes, l.first)
}

// piecemeal restores rec, which could not be written at once because of err, sector by
// sector, or, of zeros, counts all of it. The error it returns is that ctx ended.
func (l *lost) piecemeal(ctx context.Context, d Device, rec undoRecord, old []byte, err error) error {
	if rec.zero {
		l.add(rec.Len, err)
		return nil
	}
	for len(old) > 0 {
		if err := cancelled(ctx, "undo"); err != nil {
			return err
		}
		n := min(len(old), undoSector)
		part := undoRecord{Range: Range{rec.Off, int64(n)}, old: crc(0, old[:n])}
		if err := putBack(d, part, old[:n]); err != nil && !holds(ctx, d, part, old[:n]) {
			l.add(int64(n), err)
		}
		rec.Off, old = rec.Off+int64(n), old[n:]
	}
	return nil
}

func (l *lost) add(n int64, err error) {
	l.bytes += n
	if l.first == nil {
		l.first = err
	}
}

// sumDevice is the checksum of r on d, whose holes are not read.
func sumDevice(ctx context.Context, d Device, r Range, buf []byte) (uint32, error) {
	var sum uint32
	data := d.NextData(r.Off)
	for at := r.Off; at < r.End(); {
		if err := cancelled(ctx, "undo"); err != nil {
			return 0, err
		}
		if !data.Empty() && data.End() <= at {
			data = d.NextData(at)
		}
		p := buf[:min(int64(len(buf)), r.End()-at)]
		switch {
		case data.Empty() || data.Off >= r.End():
			clear(p)
		case at < data.Off:
			p = p[:min(int64(len(p)), data.Off-at)]
			clear(p)
		default:
			p = p[:min(int64(len(p)), data.End()-at)]
			if _, err := d.ReadAt(p, at); err != nil {
				return 0, err
			}
		}
		sum = crc(sum, p)
		at += int64(len(p))
	}
	return sum, nil
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
