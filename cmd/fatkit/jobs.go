package main

import (
	"bufio"
	"io"
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

// eachImage calls work for each of the images, up to a.workers at once, each with
// an app of its own, and take with the results in order. It ends when the run is
// cancelled, as far as take says so.
func eachImage[T any](a *app, images []string, limit int, work func(a *app, image string) T, take func(image string, v T) bool) {
	if limit = min(limit, len(images)); limit > 1 && a.board == nil {
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
	inOrder(len(images), limit, func(i int) result {
		if limit <= 1 {
			return result{v: work(a, images[i])}
		}
		sub, t := base.fork()
		return result{work(sub, images[i]), sub, t}
	}, func(i int, r result) bool {
		if r.sub != nil {
			a.board.clear()
			a.replay(r.sub, r.t)
		}
		return take(images[i], r.v)
	})
}
