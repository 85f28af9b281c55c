package main

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"os"
	"sync"
)

// aheadOf is how many pieces of work, for each that may run, may be begun while
// an earlier one is not done: what they found waits in memory.
const aheadOf = 4

// inOrder calls work for 0 to n-1, up to limit of them at once, and take with
// what each returned, in order, one after the other. When take returns false
// nothing more is begun or taken. It returns when all work has ended.
func inOrder[T any](n, limit int, work func(i int) T, take func(i int, v T) bool) {
	limit = max(limit, 1)
	if limit == 1 || n == 1 {
		for i := range n {
			if !take(i, work(i)) {
				return
			}
		}
		return
	}
	running, begun := make(chan struct{}, limit), make(chan chan T, aheadOf*limit)
	stop := make(chan struct{})
	var all sync.WaitGroup
	go func() {
		defer close(begun)
		for i := range n {
			done := make(chan T, 1)
			select {
			case begun <- done:
			case <-stop:
				return
			}
			running <- struct{}{}
			all.Add(1)
			go func() {
				defer all.Done()
				done <- work(i)
				<-running
			}()
		}
	}()
	going := true
	i := 0
	for done := range begun {
		if !going {
			continue
		}
		if going = take(i, <-done); !going {
			close(stop)
		}
		i++
	}
	all.Wait()
}

// transcript is what a run said, on which of the two outputs, in order.
type transcript struct {
	mu    sync.Mutex
	lines []said
}

type said struct {
	text  string
	toErr bool
}

// voice is one of the two outputs of a transcript.
type voice struct {
	t     *transcript
	toErr bool
}

func (v voice) Write(p []byte) (int, error) {
	v.t.mu.Lock()
	defer v.t.mu.Unlock()
	v.t.lines = append(v.t.lines, said{string(p), v.toErr})
	return len(p), nil
}

// fork is an app like a for work beside others: what it says is kept until
// replay, and it has an exit code of its own.
func (a *app) fork() (*app, *transcript) {
	t := &transcript{}
	sub := *a
	sub.out, sub.errw, sub.code = bufio.NewWriter(voice{t, false}), voice{t, true}, 0
	return &sub, t
}

// replay says what sub, a fork of a, has said so far.
func (a *app) replay(sub *app, t *transcript) {
	_ = sub.out.Flush() // into memory
	a.code |= sub.code
	for _, s := range t.lines {
		if s.toErr {
			a.tell("%s", s.text)
		} else {
			_, _ = io.WriteString(a.out, s.text) // bufio keeps the error for the last Flush
		}
	}
	t.lines = nil
}

// share is how many of n workers each of jobs that run at once gets.
func share(n, jobs int) int { return max(1, n/max(1, min(n, jobs))) }

// imageJobs are images to work on.
type imageJobs struct {
	images []string
	limit  int  // how many at once
	apart  bool // those on the same file one after the other, in order: each is written to
}

// eachImage calls work for each of the images, as many at once as jobs allows, each
// with an app of its own, and take with the results in order. It ends when the run is
// cancelled: what was not come to then is told of, and shows in the exit code.
func eachImage[T any](ctx context.Context, a *app, jobs imageJobs, work func(a *app, image string) T, take func(image string, v T)) {
	images, limit := jobs.images, min(jobs.limit, len(jobs.images))
	if limit > 1 && a.board == nil {
		a.board = a.newMeter(a.command + " of " + plural(uint64(len(images)), "image", "images"))
		a.board.parts = len(images)
		defer func() {
			a.board.clear()
			a.board = nil
		}()
	}
	type result struct {
		v   T
		sub *app
		t   *transcript
	}
	base := *a // a itself changes while results are taken
	var turn queue
	if jobs.apart && limit > 1 {
		turn = a.queue(images)
	}
	taken := 0
	inOrder(len(images), limit, func(i int) result {
		if limit <= 1 {
			return result{v: work(a, images[i])}
		}
		sub, t := base.fork()
		defer turn.wait(i)()
		return result{work(sub, images[i]), sub, t}
	}, func(i int, r result) bool {
		taken++
		if r.sub != nil {
			a.board.clear()
			a.replay(r.sub, r.t)
		}
		take(images[i], r.v)
		return !cancelled(ctx)
	})
	if left := len(images) - taken; left > 0 {
		a.code |= exitCancelled
		a.note("cancelled: %s not looked at", plural(uint64(left), "image was", "images were"))
	}
}

// queue makes works on the same file wait for each other. The zero value lets all
// pass.
type queue struct {
	before []int // whom each waits for; -1: nobody
	done   []chan struct{}
}

// queue is one for images: each waits for the one before it that is in the same file,
// by whatever name.
func (a *app) queue(images []string) queue {
	q := queue{make([]int, len(images)), make([]chan struct{}, len(images))}
	files := make([]fs.FileInfo, len(images))
	for i, image := range images {
		q.before[i], q.done[i] = -1, make(chan struct{})
		p, err := a.place(image)
		if err != nil {
			continue
		}
		if files[i], err = os.Stat(p.path); err != nil {
			continue
		}
		for j := i - 1; j >= 0 && q.before[i] < 0; j-- {
			if files[j] != nil && os.SameFile(files[i], files[j]) {
				q.before[i] = j
			}
		}
	}
	return q
}

// wait waits for the turn of i, and returns what ends it. As works begin in order,
// whoever is waited for has begun.
func (q queue) wait(i int) (end func()) {
	if q.done == nil {
		return func() {}
	}
	if j := q.before[i]; j >= 0 {
		<-q.done[j]
	}
	return func() { close(q.done[i]) }
}
