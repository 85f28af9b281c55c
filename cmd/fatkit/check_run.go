package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
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

	workers int        // for each volume
	commits sync.Mutex // of volumes into txn
}

// checkImage checks all volumes of an image and commits the repairs that hold.
// An error means that nothing could be checked, or nothing was written.
func (a *app) checkImage(ctx context.Context, name string, o *checkOptions) (_ *checkDoc, err error) {
	defer func() { err = notChecked(err) }()
	im, err := a.open(ctx, name, dev.OpenOptions{Write: o.writes()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, im.Close()) }()
	o = o.ready()
	r := &checkRun{a: a, o: o, im: im, doc: newCheckDoc(name, o.mode)}
	if r.j, err = a.settle(ctx, im, o.undo, o.writes(), false); err != nil {
		return nil, err
	}
	regions, err := a.regions(im)
	if err != nil {
		return nil, err
	}
	if r.doc.Table = newTableDoc(im.table, regions, o.failOn); o.mode != modeReport {
		r.txn = dev.Begin(im.file)
		defer r.txn.Rollback()
	}
	if err := r.volumes(ctx, regions); err != nil {
		return nil, err
	}
	if err := r.finish(ctx, regions); err != nil {
		return nil, err
	}
	r.doc.settle()
	return r.doc, nil
}

// maxShared is how many partitions that share bytes with others are looked into:
// a disk can have thousands of partitions that are all the same bytes.
const maxShared = 64

// volumes checks all regions, as many at once as there are slots, and adds them
// to the document in order. On a disk that turns one at a time is faster.
func (r *checkRun) volumes(ctx context.Context, regions []region) (err error) {
	r.many = len(regions) > 1
	limit := cap(r.o.slots)
	if lim := r.im.file.Limits(); lim.Rotational && r.im.file.IsBlock() {
		limit = 1
	}
	r.workers = share(r.o.workers, r.o.images*min(limit, len(regions)))
	shared := 0
	for i := range regions {
		if rg := &regions[i]; rg.drv != nil && rg.hold != "" {
			if shared++; shared > maxShared {
				rg.drv = nil
				rg.other.name = fileSystem(rg.id.Type) + ", and is not looked into: " + rg.hold
			}
		}
	}
	board := r.a.newMeter("checking")
	board.parts, board.read = len(regions), r.im.file.BytesRead
	r.a.board = board
	defer func() {
		board.finish()
		board.clear()
		r.a.board = board.whole
	}()
	type outcome struct {
		doc *volumeDoc
		err error
	}
	inOrder(len(regions), limit, func(i int) outcome {
		r.o.slots <- struct{}{}
		defer func() { <-r.o.slots }()
		doc, err := r.volume(ctx, regions[i])
		return outcome{doc, err}
	}, func(_ int, v outcome) bool {
		if err = v.err; err == nil {
			r.doc.add(v.doc)
		}
		return err == nil
	})
	return err
}

// volume checks one volume. A volume that cannot be read does not keep us from
// the others, but a cancelled check is none.
func (r *checkRun) volume(ctx context.Context, rg region) (*volumeDoc, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	if rg.drv == nil {
		return skippedVolume(rg), nil
	}
	start := time.Now()
	res, err := r.fsck(ctx, rg)
	if cancelled(ctx) {
		return nil, fmt.Errorf("check: %w", ctx.Err())
	}
	var half *halfStaged
	if errors.As(err, &half) {
		return nil, err
	}
	if err != nil {
		return unreadableVolume(rg, err), nil
	}
	v := newVolumeDoc(rg, res, r.o)
	v.Stats.Seconds = time.Since(start).Seconds()
	if rg.hold != "" && r.txn != nil {
		v.Reason = "nothing is repaired in it: " + rg.hold
	}
	return v, nil
}

// fsck runs the check on a device that fits: the image itself where nothing is
// repaired, else the transaction, in which each of several volumes has one of
// its own, so that it can be taken back without the others.
func (r *checkRun) fsck(ctx context.Context, rg region) (*vol.Result, error) {
	m := r.a.newMeter("checking")
	defer m.finish()
	o := vol.CheckOptions{Workers: r.workers, NoReplay: r.o.noReplay, DiscardLog: r.o.discard, ReadOptions: r.o.read}
	sink := &checkSink{meter: m, fd: r.o.progress, image: rg.name(r.im.arg)}
	if r.txn == nil || rg.hold != "" {
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
	res, err := vol.Fsck(ctx, d, rg.drv, o, r.o.decider(ctx, r.a, rg.name(r.im.arg), rg.at.Off), sink)
	if err != nil {
		txn.Rollback()
		return nil, err
	}
	if unproven(res); res.Unproven != nil {
		txn.Rollback()
	} else if r.many {
		r.commits.Lock()
		defer r.commits.Unlock()
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
func (r *checkRun) finish(ctx context.Context, regions []region) error {
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
	var marks []dev.Range
	if r.txn.Dirty() {
		for _, rg := range regions {
			marks = append(marks, rg.marks(r.im.file)...)
		}
	}
	stats, err := r.a.commit(ctx, r.im, r.txn, r.j, r.o.undo.keep, marks)
	if err == nil {
		r.a.detail("%s: %d bytes written, %d zeroed, undo log of %d bytes", r.im.arg, stats.BytesWritten, stats.BytesZeroed, stats.UndoBytes)
	}
	return err
}

// checkSink passes progress on.
type checkSink struct {
	meter *meter
	fd    *fsckProgress // nil: none
	image string

	round, pass, passes int
	said                int64 // thousandths of the pass that fd was last told
}

var (
	_ vol.Sink        = (*checkSink)(nil)
	_ vol.PassCounter = (*checkSink)(nil)
)

// Passes says how many passes the next round has.
func (s *checkSink) Passes(n int) { s.passes = n }

// Pass begins a pass.
func (s *checkSink) Pass(name string, round int) {
	if s.pass++; s.round != round {
		s.round, s.pass = round, 1
	}
	s.said = -1
	s.meter.begin(s.image+": "+name, s.pass, s.passes)
	s.Progress(0, 1)
}

// Progress of the pass.
func (s *checkSink) Progress(done, total int64) {
	if total <= 0 {
		return
	}
	s.meter.update(done, total)
	if s.fd == nil {
		return
	}
	if part := done * 1000 / total; part != s.said {
		s.said = part
		s.fd.tell(s.image, s.pass, s.passes, done, total)
	}
}

// Finding does nothing: findings are printed when it is known what became of
// them.
func (s *checkSink) Finding(*vol.Finding, *vol.Repair) {}
