package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkRun is the check of one image.
type checkRun struct {
	a    *app
	o    *checkOptions
	im   *image
	j    dev.Journal
	txn  *dev.Txn // nil where nothing is repaired
	many bool     // the image has several volumes
	doc  *checkDoc
}

// checkImage checks all volumes of an image and commits the repairs that hold.
// An error means that nothing could be checked, or nothing was written.
func (a *app) checkImage(ctx context.Context, name string, o *checkOptions) (_ *checkDoc, err error) {
	im, err := a.open(name, dev.OpenOptions{Write: o.writes()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, im.Close()) }()
	r := &checkRun{a: a, o: o, im: im, doc: newCheckDoc(name, o.mode)}
	if r.j, err = a.settle(ctx, im, o.undo, o.writes(), false); err != nil {
		return nil, err
	}
	regions, err := a.regions(im)
	if err != nil {
		return nil, err
	}
	if o.mode != modeReport {
		r.txn = dev.Begin(im.file)
		defer r.txn.Rollback()
	}
	r.many = len(regions) > 1
	for _, rg := range regions {
		if err := r.volume(ctx, rg); err != nil {
			return nil, err
		}
	}
	if err := r.finish(ctx); err != nil {
		return nil, err
	}
	r.doc.settle()
	return r.doc, nil
}

// volume checks one volume and adds it to the document. A volume that cannot
// be read does not keep us from the others, but a cancelled check is none.
func (r *checkRun) volume(ctx context.Context, rg region) error {
	if rg.drv == nil {
		r.doc.add(skippedVolume(rg))
		return nil
	}
	start := time.Now()
	res, err := r.fsck(ctx, rg)
	if cancelled(ctx) {
		return fmt.Errorf("check: %w", ctx.Err())
	}
	var half *halfStaged
	if errors.As(err, &half) {
		return err
	}
	if err != nil {
		r.doc.add(unreadableVolume(rg, err))
		return nil
	}
	v := newVolumeDoc(rg, res, r.o)
	v.Stats.Seconds = time.Since(start).Seconds()
	r.doc.add(v)
	return nil
}

// fsck runs the check on a device that fits: the image itself where nothing is
// repaired, else the transaction, in which each of several volumes has one of
// its own, so that it can be taken back without the others.
func (r *checkRun) fsck(ctx context.Context, rg region) (*vol.Result, error) {
	m := r.a.newMeter("checking")
	defer m.clear()
	o := vol.CheckOptions{Workers: r.o.workers, NoReplay: r.o.noReplay, DiscardLog: r.o.discard}
	sink := &checkSink{meter: m, fd: r.o.progress, image: rg.name(r.im.arg)}
	if r.txn == nil {
		d, err := rg.volume(r.im.file)
		if err != nil {
			return nil, err
		}
		return vol.Fsck(ctx, d, rg.drv, o, nil, sink)
	}
	d, err := rg.volume(r.txn)
	if err != nil {
		return nil, err
	}
	txn := r.txn
	if r.many {
		txn = dev.Begin(d)
		defer txn.Rollback()
		d = txn
	}
	res, err := vol.Fsck(ctx, d, rg.drv, o, r.o.decider(ctx, r.a, m), sink)
	if err != nil {
		txn.Rollback()
		return nil, err
	}
	if unproven(res); res.Unproven != nil {
		txn.Rollback()
	} else if r.many {
		if _, err := txn.Commit(ctx, dev.CommitOptions{}); err != nil {
			return nil, &halfStaged{err}
		}
	}
	return res, nil
}

// halfStaged is an error that left the repairs of one volume half in the
// transaction over the image, of which nothing may be written any more.
type halfStaged struct{ err error }

func (e *halfStaged) Error() string { return e.err.Error() }
func (e *halfStaged) Unwrap() error { return e.err }

// unproven marks a result whose repairs must not be written although the check
// itself has nothing against them: the last round, which is the proof, did not
// come to its end, and not because the user declined the repair it wanted.
func unproven(res *vol.Result) {
	if res.Unproven != nil || !res.Repaired || !res.Stopped {
		return
	}
	for _, o := range res.Outcomes {
		if o.Repaired == nil && o.Severity == vol.SevError && len(o.Offered()) == 0 {
			res.Unproven = fmt.Errorf("the repaired volume cannot be checked to its end because of %s", o.Code)
			return
		}
	}
}

// finish writes the repairs, or lists them.
func (r *checkRun) finish(ctx context.Context) error {
	if r.txn == nil {
		r.doc.DryRun = r.o.dryRun // of what writes nothing anyway
		return nil
	}
	if r.o.dryRun {
		r.doc.DryRun = true
		r.doc.Writes = byteRanges(r.txn.DirtyRanges())
		r.doc.undoRepairs()
		return nil
	}
	stats, err := r.a.commit(ctx, r.im, r.txn, r.j, r.o.undo.keep)
	if err == nil {
		r.a.detail("%s: %d bytes written, %d zeroed, undo log of %d bytes", r.im.arg, stats.BytesWritten, stats.BytesZeroed, stats.UndoBytes)
	}
	return err
}

// checkSink passes progress on.
type checkSink struct {
	meter *meter
	fd    io.Writer // nil: none
	image string
	round int
	pass  int
	said  int64 // thousandths of the pass that fd was last told
}

var _ vol.Sink = (*checkSink)(nil)

// Pass begins a pass.
func (s *checkSink) Pass(name string, round int) {
	if s.pass++; s.round != round {
		s.round, s.pass = round, 1
	}
	s.said = -1
	s.meter.step("checking " + name)
	s.Progress(0, 1)
}

// Progress is in the words of e2fsck -C: pass, done, total, device. That
// nobody listens any more is no reason to stop.
func (s *checkSink) Progress(done, total int64) {
	s.meter.update(done, total)
	if s.fd == nil || total <= 0 {
		return
	}
	if part := done * 1000 / total; part != s.said {
		s.said = part
		_, _ = fmt.Fprintf(s.fd, "%d %d %d %s\n", s.pass, done, total, s.image)
	}
}

// Finding does nothing: findings are printed when it is known what became of
// them.
func (s *checkSink) Finding(*vol.Finding, *vol.Repair) {}
