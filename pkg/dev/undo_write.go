package dev

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
)

// undoWriter writes a log: records, then the header, then what ends it.
type undoWriter struct {
	j      Journal
	lf     LogFile
	head   undoHeader
	header []byte // as armed
	buf    []byte // records not written yet
	at     int64  // where buf goes in the log
	rec    undoRecord
	sums   []byte // of the open record
	start  int    // of it in buf
	ended  bool   // header or mark may say by now that the log is not armed
}

// createUndo makes a log for the image d, whose contents are the old ones.
func createUndo(j Journal, d Device, label string) (*undoWriter, error) {
	lf, err := j.Create()
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w (%w)", ErrUndoExists, err)
	}
	if err != nil {
		return nil, &Error{Op: "create undo log", Path: j.Name(), Err: err}
	}
	// The header has its place with the first sync: only its bytes change later.
	w := &undoWriter{j: j, lf: lf, buf: make([]byte, undoRecords, undoRecords+undoPayload)}
	w.head = undoHeader{imageSize: d.Size(), label: label}
	first := make([]byte, min(d.Size(), undoIdentity))
	if _, err := d.ReadAt(first, 0); err != nil {
		return nil, errors.Join(err, w.discard())
	}
	w.head.identity = sha256.Sum256(first)
	return w, nil
}

// keep records that the bytes from off held old, or zeros if old is nil, and
// are going to hold new. Offsets ascend; len(new) is at most undoPayload, and a
// multiple of a sector unless nothing follows that joins it.
func (w *undoWriter) keep(off int64, old, new []byte) error {
	n := int64(len(new))
	joins := w.rec.Len > 0 && !w.rec.guard && w.rec.End() == off && w.rec.zero == (old == nil) &&
		w.rec.Len+n <= w.rec.most() && w.rec.Len%undoSector == 0
	if !joins {
		if err := w.closeRecord(); err != nil {
			return err
		}
		w.rec = undoRecord{Range: Range{Off: off}, zero: old == nil}
		w.start = len(w.buf)
		w.buf = append(w.buf, make([]byte, undoRecHead)...)
	}
	w.rec.Len += n
	w.rec.old = crc(w.rec.old, old)
	w.sums = sumSectors(w.sums, new)
	w.buf = append(w.buf, old...)
	return nil
}

// guard records that what d has in r, at most undoZeros bytes, is to stay. Guards
// ascend, too, and come after all that keep records. What cannot be read is not
// guarded: nothing is about to be written there.
func (w *undoWriter) guard(ctx context.Context, d Device, r Range, buf []byte) error {
	if err := w.closeRecord(); err != nil {
		return err
	}
	sum, err := sumDevice(ctx, d, r, buf)
	if err != nil {
		return cancelled(ctx, "commit") // or nothing
	}
	w.rec, w.start = undoRecord{Range: r, guard: true, old: sum}, len(w.buf)
	w.buf = append(w.buf, make([]byte, undoRecHead)...)
	return w.closeRecord()
}

// closeRecord completes the header of the open record, if there is one.
func (w *undoWriter) closeRecord() error {
	if w.rec.Len == 0 {
		return nil
	}
	h := w.buf[w.start : w.start+undoRecHead]
	w.rec.sums = crc(0, w.sums)
	w.rec.encode(h)
	w.buf = append(w.buf, w.sums...)
	w.sums = w.sums[:0]
	w.head.sum = addRecord(w.head.sum, h)
	w.head.records++
	w.rec = undoRecord{}
	if len(w.buf) < undoPayload {
		return nil
	}
	return w.flush()
}

func (w *undoWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	if err := w.write(w.buf, w.at); err != nil {
		return err
	}
	w.at += int64(len(w.buf))
	w.buf = w.buf[:0]
	return nil
}

// arm makes the log durable and then valid. From here on the image may change.
func (w *undoWriter) arm() error {
	if err := errors.Join(w.closeRecord(), w.flush()); err != nil {
		return err
	}
	if err := w.sync(); err != nil {
		return err
	}
	w.head.length = w.at
	w.header = w.head.encode()
	return w.durably(w.header, 0)
}

// finish marks the log as that of a finished commit and closes it.
func (w *undoWriter) finish() error {
	w.ended = true
	if err := w.durably(encodeMark(w.header), undoSector); err != nil {
		return err
	}
	// The mark is durable: closing has nothing left to lose.
	_ = w.lf.Close()
	return nil
}

// disarm takes the log's validity; remove must follow.
func (w *undoWriter) disarm() error {
	w.ended = true
	return disarm(w.j, w.lf)
}

// rearm makes the log durably what it was while the image was written. It is called
// before the image is touched again, so whichever of its states the log has after a
// power cut meanwhile, it goes with the image.
func (w *undoWriter) rearm() error {
	if !w.ended {
		return nil
	}
	return w.durably(append(bytes.Clone(w.header), make([]byte, undoSector)...), 0)
}

// remove closes and removes the log.
func (w *undoWriter) remove() error { return removeLog(w.j, w.lf) }

// discard gets rid of a log that nothing depends on.
func (w *undoWriter) discard() error {
	if w.header != nil {
		// It may have become valid. Removing it is what counts; that it can
		// not come back if the removal is lost is one more try.
		_ = w.disarm()
	}
	return w.remove()
}

// restore brings the image back to what it was, after a commit that failed,
// and removes the log. It fails with ErrNotRestored, and leaves the log, if
// the image can not be brought back.
func (w *undoWriter) restore(ctx context.Context, d Device) error {
	// Read the log back before trusting it, but do not check the identity: it
	// is this image, and a sector that can not be read must not stop us.
	v := undoReader{lf: w.lf, name: w.j.Name()}
	err := w.rearm()
	if err == nil {
		err = v.open()
	}
	if err == nil {
		err = v.each(func(undoRecord, []byte, []byte) error { return nil })
	}
	if err == nil {
		err = v.restore(ctx, d)
	}
	if err != nil {
		_ = w.lf.Close()
		return fmt.Errorf("%w: %w", ErrNotRestored, err)
	}
	return w.discard()
}

func (w *undoWriter) write(p []byte, off int64) error {
	if _, err := w.lf.WriteAt(p, off); err != nil {
		return &Error{Op: "write undo log", Path: w.j.Name(), Err: err}
	}
	return nil
}

func (w *undoWriter) sync() error {
	if err := w.lf.Sync(); err != nil {
		return &Error{Op: "sync undo log", Path: w.j.Name(), Err: err}
	}
	return nil
}

func (w *undoWriter) durably(p []byte, off int64) error {
	if err := w.write(p, off); err != nil {
		return err
	}
	return w.sync()
}

// disarm zeroes the header durably, so that the log is worth nothing.
func disarm(j Journal, lf LogFile) error {
	_, err := lf.WriteAt(make([]byte, undoSector), 0)
	if err == nil {
		err = lf.Sync()
	}
	if err != nil {
		return &Error{Op: "write undo log", Path: j.Name(), Err: err}
	}
	return nil
}

// removeLog closes lf and removes it.
func removeLog(j Journal, lf LogFile) error {
	_ = lf.Close() // what it failed to write is unwanted
	if err := j.Remove(); err != nil {
		return &Error{Op: "remove undo log", Path: j.Name(), Err: err}
	}
	return nil
}
