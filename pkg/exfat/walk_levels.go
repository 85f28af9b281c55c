package exfat

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/fatkit/fatkit/pkg/dev"
)

// runLevels reads directories until none is waiting, each level in order of
// location.
func (w *walk) runLevels(ctx context.Context) error {
	for len(w.level) > 0 {
		level := w.level
		w.level = nil
		slices.SortFunc(level, func(a, b int32) int { return cmp.Compare(w.dirs[a].start, w.dirs[b].start) })
		if err := w.runLevel(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

// scanJob is directories that one goroutine reads and scans, one after another.
type scanJob struct {
	scans []dirScan
	bytes int64 // at most so much is read for them
	mem   scanMem
	done  chan error
}

const (
	jobDirs    = 32        // directories of a job
	jobBytes   = 256 << 10 // a job is not made longer than that
	aheadBytes = 4 << 20   // what jobs under way may take; a single one may take more
	aheadJobs  = 16
	keepClaims = 1 << 14 // of plain claims memory is kept for no more than these
)

// levelRun is a level on its way: jobs are scanned side by side, ahead of what is
// taken in.
type levelRun struct {
	w     *walk
	todo  []int32    // directories for which there is no job yet
	ahead []*scanJob // under way, in their order
	bytes int64      // of those
	spare []scanMem  // memory of jobs that are done
	queue chan *scanJob
}

// runLevel scans the directories of a level side by side, and takes in what they
// hold one after another, so that the result does not depend on timing.
func (w *walk) runLevel(ctx context.Context, level []int32) error {
	l := &levelRun{w: w, todo: level, queue: make(chan *scanJob, aheadJobs)}
	var wg sync.WaitGroup
	for range min(w.workers(), len(level)) {
		wg.Go(func() {
			for j := range l.queue {
				j.done <- j.run()
			}
		})
	}
	defer wg.Wait()
	defer close(l.queue)
	for l.fill(); len(l.ahead) > 0; l.fill() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.take(); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) workers() int {
	if w.c.o.Workers > 0 {
		return w.c.o.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// fill gives the goroutines as much to do as may be under way.
func (l *levelRun) fill() {
	for len(l.todo) > 0 && len(l.ahead) < aheadJobs && (len(l.ahead) == 0 || l.bytes < aheadBytes) {
		j := l.nextJob()
		l.ahead = append(l.ahead, j)
		l.bytes += j.bytes
		l.queue <- j
	}
}

// nextJob is the next few directories, of which the device is told.
func (l *levelRun) nextJob() *scanJob {
	j := &scanJob{done: make(chan error, 1)}
	plug := dev.NewPlug(l.w.c.d, 0)
	for len(l.todo) > 0 && len(j.scans) < jobDirs {
		s := newDirScan(l.w, l.todo[0])
		n := s.dirBytes()
		if len(j.scans) > 0 && j.bytes+n > jobBytes {
			break
		}
		j.scans, j.bytes, l.todo = append(j.scans, *s), j.bytes+n, l.todo[1:]
		for _, e := range s.extents {
			r := l.w.c.g.ClusterRange(e.Start, e.Len)
			r.Len = min(r.Len, readaheadDir) // most end in their first piece
			plug.Add(r)
		}
	}
	for _, r := range plug.Unplug() {
		l.w.c.d.Readahead(r)
	}
	if n := len(l.spare); n > 0 {
		j.mem, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	return j
}

const readaheadDir = 256 << 10

// take waits for the first job and takes in what it found.
func (l *levelRun) take() error {
	j := l.ahead[0]
	l.ahead, l.bytes = l.ahead[1:], l.bytes-j.bytes
	if err := <-j.done; err != nil {
		return err
	}
	for i := range j.scans {
		if err := l.w.takeScan(&j.scans[i]); err != nil {
			return err
		}
	}
	j.mem.plain = j.mem.plain[:0]
	if cap(j.mem.plain) > keepClaims {
		j.mem.plain = nil
	}
	l.spare = append(l.spare, j.mem)
	if l.w.progress != nil {
		l.w.progress(int64(l.w.claimed.CountUsed()), int64(l.w.c.g.Clusters))
	}
	return nil
}

// run scans the directories. What is kept of one is what it says.
func (j *scanJob) run() error {
	for i := range j.scans {
		s := &j.scans[i]
		s.scanMem = j.mem
		if err := s.run(); err != nil {
			return err
		}
		j.mem, s.scanMem = s.scanMem, scanMem{}
		j.mem.reset()
	}
	return nil
}
