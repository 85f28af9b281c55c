package lfs

import (
	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// outbox is the device of a change that makes many nodes. What the logs write is
// no part of the volume's state before the checkpoint: it is gathered in runs,
// and goes to the device below the transaction, so that it neither takes memory
// there nor is written twice. Everything else is staged.
type outbox struct {
	dev.Device            // the transaction
	raw        dev.Device // below it; nil: everything is staged
	main       dev.Range
	runs       [outboxRuns]outRun
	clock      uint64 // counts uses
	spilled    bool   // something went to raw
	holes      vol.FreshHoles
}

// outRun is blocks that lie one behind the other and are not written yet.
type outRun struct {
	off  int64
	b    []byte
	used uint64 // when
}

const (
	outboxRuns = logCount + 2   // one for each log, and some for what is written again
	outboxRun  = 256 * minBlock // bytes
)

func newOutbox(d, raw dev.Device, g *Geometry) *outbox {
	return &outbox{Device: d, raw: raw, main: dev.Range{Off: g.BlockOff(g.Main), Len: int64(g.MainBlocks()) * g.BlockSize}}
}

// at is the run that holds all of r; or one that holds a part of it, which must
// be written first.
func (o *outbox) at(r dev.Range) (whole, part *outRun) {
	for i := range o.runs {
		run := &o.runs[i]
		here := dev.Range{Off: run.off, Len: int64(len(run.b))}
		switch in := here.Intersect(r); {
		case in.Empty():
		case in == r:
			return run, nil
		default:
			part = run
		}
	}
	return nil, part
}

// ReadAt reads what the change has made.
func (o *outbox) ReadAt(p []byte, off int64) (int, error) {
	r := dev.Range{Off: off, Len: int64(len(p))}
	for {
		whole, part := o.at(r)
		if whole != nil {
			return copy(p, whole.b[off-whole.off:]), nil
		}
		if part == nil {
			return o.Device.ReadAt(p, off)
		}
		if err := o.write(part); err != nil {
			return 0, err
		}
	}
}

// WriteAt takes a block of the main area, or stages what is elsewhere.
func (o *outbox) WriteAt(p []byte, off int64) (int, error) {
	r := dev.Range{Off: off, Len: int64(len(p))}
	if o.main.Intersect(r) != r || len(p) > outboxRun {
		return o.Device.WriteAt(p, off)
	}
	o.clock++
	for {
		whole, part := o.at(r)
		if whole != nil {
			whole.used = o.clock
			return copy(whole.b[off-whole.off:], p), nil
		}
		if part == nil {
			break
		}
		if err := o.write(part); err != nil {
			return 0, err
		}
	}
	run, err := o.room(r)
	if err != nil {
		return 0, err
	}
	run.used = o.clock
	run.b = append(run.b, p...)
	return len(p), nil
}

// room is the run that r goes on, or an empty one: that which rested longest is
// written to make room.
func (o *outbox) room(r dev.Range) (*outRun, error) {
	oldest := &o.runs[0]
	for i := range o.runs {
		run := &o.runs[i]
		if len(run.b) > 0 && run.off+int64(len(run.b)) == r.Off && len(run.b)+int(r.Len) <= outboxRun {
			return run, nil
		}
		if run.used < oldest.used {
			oldest = run
		}
	}
	if err := o.write(oldest); err != nil {
		return nil, err
	}
	oldest.off = r.Off
	return oldest, nil
}

// write writes a run, and empties it.
func (o *outbox) write(run *outRun) error {
	if len(run.b) == 0 {
		return nil
	}
	b := run.b
	run.b, run.used = run.b[:0], 0
	if o.raw == nil {
		_, err := o.Device.WriteAt(b, run.off)
		return err
	}
	o.spilled = true
	o.holes.Note(o.raw, dev.Range{Off: run.off, Len: int64(len(b))})
	return vol.WriteFresh(o.Device, o.raw, b, run.off)
}

// flush writes all runs.
func (o *outbox) flush() error {
	for i := range o.runs {
		if err := o.write(&o.runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Sync is a barrier of the transaction.
func (o *outbox) Sync() error {
	if err := o.flush(); err != nil {
		return err
	}
	return o.Device.Sync()
}

// giveUp makes holes of raw again of what was written there for nothing.
func (o *outbox) giveUp() {
	if o.raw != nil {
		o.holes.GiveBack(o.raw)
	}
}

// settle makes what went below the transaction durable.
func (o *outbox) settle() error {
	if err := o.flush(); err != nil || !o.spilled {
		return err
	}
	o.spilled = false
	return o.raw.Sync()
}
