package main

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

const (
	// patience is how long work may take without a bar.
	patience = 500 * time.Millisecond
	// barSteps is the length of the bar's scale. Whatever is counted is
	// brought to it, because the total changes from pass to pass.
	barSteps = 1000
)

// meter shows on a terminal how far the work is, once it takes long enough for
// somebody to wonder. It is safe for concurrent use.
type meter struct {
	mu    sync.Mutex
	w     io.Writer // nil: it shows nothing
	start time.Time
	what  string
	bar   *progressbar.ProgressBar
}

// newMeter is a meter for work called what. It shows nothing where standard
// error is not a terminal, with --json and with --quiet.
func (a *app) newMeter(what string) *meter {
	m := &meter{what: what, start: time.Now()}
	if !a.json && !a.quiet && a.terminal(a.errw) {
		m.w = a.errw
	}
	return m
}

// step says what is being done from now on.
func (m *meter) step(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.what = what
	if m.bar != nil {
		m.bar.Describe(what)
	}
}

// update says how much of the step is done. A total of 0 is not known.
func (m *meter) update(done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.w == nil || total <= 0 || m.bar == nil && time.Since(m.start) < patience {
		return
	}
	if m.bar == nil {
		m.bar = progressbar.NewOptions64(barSteps,
			progressbar.OptionSetWriter(m.w),
			progressbar.OptionSetDescription(m.what),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetWidth(40),
		)
	}
	// A full bar is a finished one to the library, and draws no more.
	n := min(int64(float64(done)/float64(total)*barSteps), barSteps-1)
	_ = m.bar.Set64(max(n, 0))
}

// clear takes the bar away, for good or for something else to be printed.
func (m *meter) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bar != nil {
		_ = m.bar.Clear()
		m.bar = nil
	}
}
