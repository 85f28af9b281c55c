package dev

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// undoReader reads a log that may be anything.
type undoReader struct {
	lf    LogFile
	name  string
	force bool // see ForceUndo
	head  undoHeader
	info  UndoInfo
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
// zeros and guards) and the checksums of the new ones (none for guards), which it may
// not keep. It fails with ErrUndoDamaged where the log does not hold what the header
// promises, before fn sees it; that records are in order and inside the image is
// certain in fn.
func (u *undoReader) each(fn func(rec undoRecord, old, sums []byte) error) error {
	in := bufio.NewReaderSize(io.NewSectionReader(u.lf, undoRecords, u.head.length-undoRecords), 256<<10)
	left := u.head.length - undoRecords
	var sum uint32
	var end int64 // of the record before
	guards := false
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
		if rec.guard && !guards {
			guards, end = true, 0 // they begin anew
		}
		if !ok || rec.guard != guards || rec.Off < end || CheckRange("undo", rec.Range, u.head.imageSize) != nil || rec.payload()+rec.sumBytes() > left {
			return u.damaged()
		}
		end = rec.End()
		left -= rec.payload() + rec.sumBytes()
		var old []byte
		if rec.payload() > 0 {
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
		if !rec.guard && crc(0, old) != rec.old || crc(0, sums) != rec.sums {
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
