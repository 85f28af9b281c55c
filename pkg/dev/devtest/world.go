package devtest

import (
	"errors"
	"io/fs"
	"slices"
	"sync"

	"github.com/fatkit/fatkit/pkg/dev"
)

// ErrPowerCut is what everything returns once the power is cut.
var ErrPowerCut = errors.New("the power was cut")

// World is a machine with an image and the undo log of it, both behind caches
// that lose what was not synced when the power is cut. Operations that change
// something, on either, and syncs of either, are numbered from 0: they are the
// clock at which the power can be cut.
//
// The image is a layer over the device it was made from, which is only read;
// so worlds are cheap. Creating a log makes its name durable, as
// dev.FileJournal does; removing it does not, for not all systems can do that.
type World struct {
	mu      sync.Mutex
	ops     []Op
	cut     int // the first operation that is not carried out; -1: none
	off     bool
	live    disk
	durable disk
	pending []change // on the way from durable to live, in order
	limits  dev.Limits
}

// disk is what a disk holds: the image, and the log if there is one.
type disk struct {
	image *overlay
	log   *overlay // nil: no log
}

func (d disk) clone() disk {
	c := disk{image: d.image.clone()}
	if d.log != nil {
		c.log = d.log.clone()
	}
	return c
}

// change is an operation that a sync has not made durable yet. data is nil
// except for writes.
type change struct {
	Op
	data []byte
}

// NewWorld is a machine whose image holds what base holds. base is only read,
// and must stay as it is.
func NewWorld(base dev.Device) *World {
	l := base.Limits()
	l.ReadOnly, l.Holes = false, true
	return &World{
		cut:     -1,
		limits:  l,
		live:    disk{image: newOverlay(base, base.Size())},
		durable: disk{image: newOverlay(base, base.Size())},
	}
}

// CutAt cuts the power at operation n, which may have a part of its effect,
// as may all before it that were not synced; it and all later ones, and
// reading, return ErrPowerCut.
func (w *World) CutAt(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = n
}

// Ops are the operations so far.
func (w *World) Ops() []Op {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ops)
}

// Device is the image.
func (w *World) Device() dev.Device { return &worldDevice{w} }

// Journal is the place of its undo log.
func (w *World) Journal() dev.Journal { return worldJournal{w} }

// HasLog reports whether there is an undo log.
func (w *World) HasLog() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live.log != nil
}

// After is the machine after a power cut now: what was synced is there, and of
// the rest what s lets survive. The World itself stays as it is, so that one
// can ask for several.
func (w *World) After(s Survival) *World {
	w.mu.Lock()
	defer w.mu.Unlock()
	after := w.durable.clone()
	for i, c := range w.pending {
		for _, part := range s.parts(i, c) {
			after.apply(part)
		}
	}
	return &World{cut: -1, limits: w.limits, live: after, durable: after.clone()}
}

// do carries out o if the power is still on. The operation at which it goes is
// pending like those before it: it may have had its effect.
func (w *World) do(o Op, data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.off {
		return ErrPowerCut
	}
	w.off = len(w.ops) == w.cut
	w.ops = append(w.ops, o)
	syncs := o.Kind == Sync || o.Kind == LogSync
	if !syncs {
		w.pending = append(w.pending, change{o, slices.Clone(data)})
	}
	if w.off {
		return ErrPowerCut
	}
	if !syncs {
		w.live.apply(change{o, data})
	}
	if syncs {
		w.settle(o.Kind)
	}
	return nil
}

// settle makes what a sync of kind k covers durable.
func (w *World) settle(k Kind) {
	var rest []change
	for _, c := range w.pending {
		onImage := c.Kind == Write || c.Kind == Zero || c.Kind == Discard
		settled := k == Sync && onImage ||
			k == LogSync && !onImage
		if settled {
			w.durable.apply(c)
		} else {
			rest = append(rest, c)
		}
	}
	w.pending = rest
}

// apply does c to d. Reading the base below can not fail: it is a test's.
func (d *disk) apply(c change) {
	var err error
	switch c.Kind {
	case Write:
		err = d.image.writeAt(c.data, c.Off)
	case Zero, Discard:
		err = d.image.zero(c.Range)
	case LogCreate:
		d.log = newOverlay(nil, 0)
	case LogRemove:
		d.log = nil
	case LogWrite:
		if d.log != nil {
			d.log.size = max(d.log.size, c.End())
			err = d.log.writeAt(c.data, c.Off)
		}
	case LogTruncate:
		if d.log != nil {
			d.log.truncate(c.Off)
		}
	}
	if err != nil {
		panic(err)
	}
}

// truncate sets the size of a log; what is new reads as zeros.
func (o *overlay) truncate(size int64) {
	for page := range o.pages {
		if page*pageSize >= size {
			delete(o.pages, page)
		}
	}
	if mem := o.pages[size/pageSize]; mem != nil {
		cut := make([]byte, pageSize)
		copy(cut, mem[:size%pageSize])
		o.pages[size/pageSize] = cut
	}
	o.size = size
}

// worldDevice is the image of a World.
type worldDevice struct{ w *World }

func (d *worldDevice) Size() int64               { return d.w.live.image.size }
func (d *worldDevice) Limits() dev.Limits        { return d.w.limits }
func (d *worldDevice) Readahead(dev.Range)       {}
func (d *worldDevice) Sync() error               { return d.w.do(Op{Kind: Sync}, nil) }
func (d *worldDevice) Close() error              { return nil }
func (d *worldDevice) Zero(r dev.Range) error    { return d.change(Zero, r, nil) }
func (d *worldDevice) Discard(r dev.Range) error { return d.change(Discard, r, nil) }

func (d *worldDevice) change(k Kind, r dev.Range, p []byte) error {
	if err := dev.CheckRange(k.String(), r, d.Size()); err != nil {
		return err
	}
	if err := d.w.do(Op{k, r}, p); err != nil {
		return &dev.Error{Op: k.String(), Range: r, Err: err}
	}
	return nil
}

func (d *worldDevice) WriteAt(p []byte, off int64) (int, error) {
	if err := d.change(Write, dev.Range{Off: off, Len: int64(len(p))}, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (d *worldDevice) ReadAt(p []byte, off int64) (int, error) {
	r := dev.Range{Off: off, Len: int64(len(p))}
	if err := dev.CheckRange("read", r, d.Size()); err != nil {
		return 0, err
	}
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	if d.w.off {
		return 0, &dev.Error{Op: "read", Range: r, Err: ErrPowerCut}
	}
	if err := d.w.live.image.readAt(p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (d *worldDevice) NextData(off int64) dev.Range {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	return d.w.live.image.nextData(off)
}

// worldJournal is the place of the log of a World.
type worldJournal struct{ w *World }

func (j worldJournal) Name() string { return "world.fatkit-undo" }

func (j worldJournal) Create() (dev.LogFile, error) {
	if j.w.HasLog() {
		return nil, fs.ErrExist
	}
	if err := j.w.do(Op{Kind: LogCreate}, nil); err != nil {
		return nil, err
	}
	return &worldLog{j.w}, nil
}

func (j worldJournal) Open() (dev.LogFile, error) {
	if !j.w.HasLog() {
		return nil, fs.ErrNotExist
	}
	return &worldLog{j.w}, nil
}

func (j worldJournal) Remove() error {
	if !j.w.HasLog() {
		return fs.ErrNotExist
	}
	return j.w.do(Op{Kind: LogRemove}, nil)
}
