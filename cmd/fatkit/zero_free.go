package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// freeStep is how much is zeroed in one go, so that Ctrl-C is heard.
const freeStep = 64 << 20

// runFree zeroes what belongs to no file, straight on the image: what free
// clusters hold is no part of the volume, so there is nothing to undo.
func (r *zeroRun) runFree(ctx context.Context) (err error) {
	start := time.Now()
	t, err := r.a.openTarget(ctx, r.image, r.undo, r.dryRun)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if r.punch && !t.file.Limits().Holes {
		return errNoHoles()
	}
	if err := hasPages(t.drv, r.read); err != nil {
		return err
	}
	d, err := t.volume(t.file)
	if err != nil {
		return err
	}
	if err := r.clean(ctx, t, d); err != nil {
		return err
	}
	now, err := r.a.clock()
	if err != nil {
		return err
	}
	v, err := t.drv.Open(ctx, d, vol.OpenOptions{Now: now, ReadOptions: r.read})
	if err != nil {
		return err
	}
	free, err := r.zeroFree(ctx, v, d)
	if err != nil {
		return r.half(err, free)
	}
	r.print(&zeroDoc{Schema: "fatkit.zero/1", Image: r.image, DryRun: r.dryRun, Type: v.Info().Type,
		Files: []zeroedFileDoc{}, Free: free, Seconds: time.Since(start).Seconds()})
	return nil
}

// clean refuses a volume that is not sound: what it says is free may not be.
func (r *zeroRun) clean(ctx context.Context, t *target, d dev.Device) error {
	m := r.a.newMeter("checking")
	defer m.clear()
	res, err := vol.Fsck(ctx, d, t.drv, vol.CheckOptions{ReadOptions: r.read}, nil, &checkSink{meter: m, image: r.image})
	if err != nil {
		return err
	}
	for _, o := range res.Outcomes {
		if o.Severity >= vol.SevError {
			return fmt.Errorf("%w: %s %s", vol.ErrDirty, o.Code, o.Message())
		}
	}
	return nil
}

// zeroFree goes over the free ranges of v, which lies on d.
func (r *zeroRun) zeroFree(ctx context.Context, v vol.Volume, d dev.Device) (*freeDoc, error) {
	m := r.a.newMeter("zeroing free space")
	defer m.clear()
	doc := &freeDoc{}
	total, err := v.FreeRanges(ctx, r.slack, func(at dev.Range) error {
		for !at.Empty() {
			if err := ctx.Err(); err != nil {
				return err
			}
			step := dev.Range{Off: at.Off, Len: min(at.Len, freeStep)}
			if err := r.zeroRange(d, step, doc); err != nil {
				return err
			}
			m.update(step.End(), d.Size())
			at = dev.Range{Off: step.End(), Len: at.Len - step.Len}
		}
		return nil
	})
	doc.Clusters, doc.Runs = total.Clusters, total.Runs
	if err == nil && !r.dryRun {
		err = d.Sync()
	}
	return doc, err
}

// zeroRange zeroes at and counts what was not a hole already: by what has become
// a hole of it, and what has not.
func (r *zeroRun) zeroRange(d dev.Device, at dev.Range, doc *freeDoc) error {
	n := dataIn(d, at)
	if n == 0 {
		return nil
	}
	if r.dryRun {
		if !r.write && d.Limits().Holes {
			doc.BytesPunched += n
		} else {
			doc.BytesWritten += n
		}
		return nil
	}
	if err := r.zeroAs(d, at); err != nil {
		return err
	}
	left := min(n, dataIn(d, at))
	doc.BytesPunched += n - left
	if !r.punch {
		doc.BytesWritten += left
	}
	return nil
}

// zeroAs zeroes at in the way that was asked for.
func (r *zeroRun) zeroAs(d dev.Device, at dev.Range) error {
	switch {
	case r.write:
		return dev.ZeroKeep(d, at)
	case !r.punch:
		return d.Zero(at)
	}
	if err := d.Discard(at); err != nil {
		return err
	}
	if !d.Limits().Holes { // the file system below may only now have said so
		return errNoHoles()
	}
	return nil
}

func errNoHoles() error {
	return requestf("holes cannot be made in it, so --punch cannot be done; without it zeros are written")
}

// dataIn is how many bytes of r on d are no hole.
func dataIn(d dev.Device, r dev.Range) int64 {
	var n int64
	for !r.Empty() {
		data := d.NextData(r.Off).Intersect(r)
		n += data.Len
		if data.Empty() {
			break
		}
		r = dev.Range{Off: data.End(), Len: r.End() - data.End()}
	}
	return n
}

// half says what has been done when the work ends early.
func (r *zeroRun) half(err error, free *freeDoc) error {
	n := free.BytesPunched + free.BytesWritten
	if n == 0 || r.dryRun {
		return err
	}
	return &halfway{fmt.Sprintf("stopped; %d bytes of free clusters are zeros already, files and metadata are as they were", n), err}
}
