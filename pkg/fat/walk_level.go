package fat

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Directories are read ahead in batches of at most this many, and bytes; as many
// bytes may be held that were read and not taken in.
const (
	batchDirs  = 256
	batchBytes = 4 << 20
)

// levelRun is a level of the tree on its way: directories are scanned side by
// side, and what they hold is taken in one after another, in the order of the
// level, so that the result does not depend on timing.
type levelRun struct {
	w     *walk
	dirs  []dirNode // as they were: taking in adds to those of the walk
	level []int32
	room  *semaphore.Weighted // bytes of directories
	queue chan chan *dirScan
	scans sync.Pool // to be used again
	eg    *errgroup.Group
}

// runLevel walks the directories of one level.
func (w *walk) runLevel(ctx context.Context, level []int32) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(w.c.workers() + 1)
	l := &levelRun{w: w, dirs: w.dirs, level: level, eg: eg,
		room: semaphore.NewWeighted(batchBytes), queue: make(chan chan *dirScan, batchDirs)}
	eg.Go(func() error { return l.feed(ctx) })
	if err := l.take(ctx); err != nil {
		stop()
		_ = eg.Wait() // what ended it comes first
		return err
	}
	return eg.Wait()
}

// feed starts the scans, batch by batch.
func (l *levelRun) feed(ctx context.Context) error {
	defer close(l.queue)
	for level := l.level; len(level) > 0; {
		n := l.batch(level)
		l.readahead(level[:n])
		for _, i := range level[:n] {
			if err := l.start(ctx, i); err != nil {
				return err
			}
		}
		level = level[n:]
	}
	return nil
}

// batch is how many of the directories are read ahead together.
func (l *levelRun) batch(level []int32) int {
	var sum int64
	for k, i := range level {
		if sum += l.w.nodeBytes(&l.dirs[i]); k >= batchDirs || k > 0 && sum > batchBytes {
			return k
		}
	}
	return len(level)
}

// readahead tells the device of a batch, in order of location.
func (l *levelRun) readahead(batch []int32) {
	plug := dev.NewPlug(l.w.c.d, 0)
	for _, i := range batch {
		for _, e := range l.dirs[i].extents {
			plug.Add(l.w.c.g.ClusterRange(e.Start, e.Len))
		}
	}
	for _, r := range plug.Unplug() {
		l.w.c.d.Readahead(r)
	}
}

// start has a directory scanned, when there is room for it.
func (l *levelRun) start(ctx context.Context, i int32) error {
	if err := l.room.Acquire(ctx, l.weight(i)); err != nil {
		return err
	}
	out := make(chan *dirScan, 1)
	select {
	case l.queue <- out:
	case <-ctx.Done():
		return ctx.Err()
	}
	l.eg.Go(func() error {
		s, ok := l.scans.Get().(*dirScan)
		if !ok {
			s = &dirScan{w: l.w}
		}
		err := s.scan(i, l.dirs)
		if err == nil {
			out <- s
		}
		return err
	})
	return nil
}

// weight of a directory is its bytes, of which there is room for all at least.
func (l *levelRun) weight(i int32) int64 { return min(l.w.nodeBytes(&l.dirs[i]), batchBytes) }

// take takes the scans in.
func (l *levelRun) take(ctx context.Context) error {
	for out := range l.queue {
		select {
		case s := <-out:
			if err := l.w.take(s); err != nil {
				return err
			}
			l.room.Release(l.weight(s.dir))
			l.scans.Put(s)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if l.w.progress != nil {
			l.w.progress(l.w.done, l.w.total)
		}
	}
	return nil
}

// workers is how many may work side by side.
func (c *checker) workers() int {
	if c.o.Workers > 0 {
		return c.o.Workers
	}
	return runtime.GOMAXPROCS(0)
}
