package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
)

const (
	// patience is how long work may take without a bar.
	patience = 500 * time.Millisecond
	// barSteps is the length of the bar's scale. Whatever is counted is
	// brought to it, because the total changes from pass to pass.
	barSteps = 1000
	// barPace is how often the bar is drawn.
	barPace = 100 * time.Millisecond
	// barWidth is how many columns the bar takes where there is room.
	barWidth = 24
)

// meter shows on a terminal how far the work is, how fast it reads and how long
// it will take, once it takes long enough for somebody to wonder. It is safe for
// concurrent use. Works that run at once have a meter each, which are parts of
// one that shows them all.
type meter struct {
	mu    sync.Mutex
	w     io.Writer // nil: it shows nothing
	start time.Time
	drawn time.Time
	what  string
	read  func() int64 // bytes read so far; nil: not known
	bar   *progressbar.ProgressBar

	step, steps int     // the work has these many steps; 0: one
	done        float64 // of all the work, 0 to 1
	whole       *meter  // what this is a part of, or nil
	parts       int     // how many it has
	beside      bool    // it is none of them, and only keeps the whole alive
}

// newMeter is a meter for work called what. It shows nothing where standard
// error is not a terminal, with --json and with --quiet.
func (a *app) newMeter(what string) *meter {
	m := &meter{what: what, start: time.Now(), whole: a.board}
	if a.board == nil && !a.json && !a.quiet && a.terminal(a.errw) {
		m.w = a.errw
	}
	return m
}

// aside is a meter for what comes before or after the work that the meter of
// several works counts: beside that it only shows that something is going on.
func (a *app) aside(what string) *meter {
	m := a.newMeter(what)
	m.beside = a.board != nil
	return m
}

// begin says that step number n, from 1, of so many begins.
func (m *meter) begin(what string, n, steps int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.what, m.step, m.steps = what, n, steps
}

// update says how much of the step is done. A total of 0 is not known.
func (m *meter) update(done, total int64) {
	if total <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f := min(max(float64(done)/float64(total), 0), 1)
	if m.steps > 0 {
		f = (float64(m.step-1) + f) / float64(m.steps)
	}
	m.reach(f)
}

// reach takes the work to be done up to f. A check that starts again after a
// repair goes back.
func (m *meter) reach(f float64) {
	switch {
	case m.beside:
		m.whole.add(0)
	case m.whole != nil:
		m.whole.add((f - m.done) / float64(max(m.whole.parts, 1)))
	}
	m.done = f
	m.draw()
}

// add is for the parts of m.
func (m *meter) add(f float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reach(min(max(m.done+f, 0), 1))
}

// finish says that all of the work is done, for those that m is a part of.
func (m *meter) finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.whole != nil {
		m.reach(1)
	}
}

func (m *meter) draw() {
	now := time.Now()
	if m.w == nil || now.Sub(m.start) < patience || now.Sub(m.drawn) < barPace {
		return
	}
	m.drawn = now
	if m.bar == nil {
		m.bar = progressbar.NewOptions64(barSteps,
			progressbar.OptionSetWriter(m.w),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionSetWidth(barWidth),
		)
	}
	m.bar.Describe(m.words(now))
	// A full bar is a finished one to the library, and draws no more.
	_ = m.bar.Set64(min(int64(m.done*barSteps), barSteps-1))
}

// words are what stands before the bar: the work, its rate, the time that is left.
func (m *meter) words(now time.Time) string {
	s := printable(m.what)
	took := now.Sub(m.start).Seconds()
	if m.read != nil {
		s += ", " + humanize.IBytes(uint64(float64(m.read())/took)) + "/s"
	}
	if m.done > 0.01 { // before that it is a guess
		left := time.Duration(took * (1 - m.done) / m.done * float64(time.Second))
		s += ", " + left.Round(time.Second).String() + " left"
	}
	return s
}

// clear takes the bar away, for good or for something else to be printed.
func (m *meter) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bar != nil {
		_ = m.bar.Clear()
		m.bar = nil
		m.drawn = time.Time{}
	}
}

// fsckProgress writes progress as e2fsck -C does, for fsck(8) and systemd-fsck:
// lines of a pass, what is done of it, its total, and the device. systemd knows
// five passes, and weighs them as those of e2fsck; so ours are brought to that
// scale. It is safe for concurrent use.
type fsckProgress struct {
	mu sync.Mutex
	w  io.Writer
}

// e2fsckPasses is how many passes those who read the protocol know of.
const e2fsckPasses = 5

// tell says that done of total of pass number pass, from 1, of so many is done.
// That nobody listens any more is no reason to stop.
func (p *fsckProgress) tell(image string, pass, passes int, done, total int64) {
	const scale = 1000
	whole := int64(max(passes, 1)) * scale
	at := min(int64(pass-1)*scale+min(max(done, 0)*scale/total, scale), whole-1)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.w, "%d %d %d %s\n", 1+at*e2fsckPasses/whole, at*e2fsckPasses%whole, whole, printable(image))
}
