package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Results are taken in order, whatever takes how long, and no more work is done at
// once, nor waits in memory, than is allowed.
func TestInOrder(t *testing.T) {
	for _, limit := range []int{0, 1, 3, 8} {
		const n = 60
		var running, most, begun, taken atomic.Int64
		next := 0
		inOrder(n, limit, func(i int) int {
			most.Store(max(most.Load(), running.Add(1)))
			begun.Add(1)
			time.Sleep(time.Duration((n-i)%7) * time.Millisecond)
			if ahead := begun.Load() - taken.Load(); ahead > int64((aheadOf+2)*max(limit, 1)) {
				t.Errorf("%d are begun and not taken", ahead)
			}
			running.Add(-1)
			return i
		}, func(i, v int) bool {
			taken.Add(1)
			if i != next || v != next {
				t.Errorf("%d, %d instead of %d", i, v, next)
			}
			next++
			return true
		})
		if next != n || most.Load() > int64(max(limit, 1)) {
			t.Errorf("limit %d: %d done, %d at once", limit, next, most.Load())
		}
	}
}

// When no more is wanted nothing more is begun, and what runs is waited for.
func TestInOrderStops(t *testing.T) {
	var begun, ended atomic.Int64
	taken := 0
	inOrder(1000, 4, func(int) int {
		begun.Add(1)
		time.Sleep(time.Millisecond)
		ended.Add(1)
		return 0
	}, func(int, int) bool { taken++; return taken < 5 })
	if taken != 5 || begun.Load() != ended.Load() || begun.Load() > 100 {
		t.Errorf("%d taken, %d begun, %d ended", taken, begun.Load(), ended.Load())
	}
	inOrder(0, 4, func(int) int { t.Error("there is nothing to do"); return 0 }, func(int, int) bool { return true })
}

// What many images say comes in the order of the images, on the right output, with
// one code, as if they had been checked one after the other.
func TestManyImages(t *testing.T) {
	f := newFake(t)
	args := []string{"check"}
	for i := range 40 {
		problems := []byte{[]byte{pWarning, pSafe, pLossy, pInfo}[i%4]}
		if i%5 == 0 {
			problems = nil
		}
		name := fmt.Sprintf("%s.%02d", f.image, i)
		f.write(name, fakeVolumeBytes(problems...))
		args = append(args, name)
		if i%7 == 0 {
			args = append(args, name+".none")
		}
	}
	one := f.run(append(args, "-j", "1")...)
	for _, jobs := range []string{"2", "16"} {
		many := f.run(append(args, "-j", jobs)...)
		if many != one || one.code != exitLeft|exitFailed {
			t.Errorf("-j %s: exit %d, alone %d\n%s%s\nalone\n%s%s", jobs, many.code, one.code, many.out, many.err, one.out, one.err)
		}
	}
	repaired := f.run(append(args, "-y", "--dry-run")...)
	repaired.want(t, exitLeft|exitFailed, "would be repaired")
	if last := one.out[strings.LastIndex(strings.TrimSpace(one.out), "\n")+1:]; !strings.Contains(last, "46 images, 40 volumes: ") {
		t.Errorf("the last line is %q", last)
	}
}

// Images on the same file are repaired one after the other, by whatever names, and
// the first one finds what there is to repair.
func TestSameImageTwice(t *testing.T) {
	f := twoPartitions(t, fakeVolumeBytes(pSafe), fakeVolumeBytes(pSafe, pWarning))
	link := f.image + ".link"
	if err := os.Link(f.image, link); err != nil {
		needs.Lacks(t, "hard links: %v", err)
	}
	for range 5 {
		before := f.read()
		got := f.run("check", "-p", "-j", "8", "IMAGE:1", link, "IMAGE", "IMAGE:2", "IMAGE:1")
		got.want(t, exitCorrected, "card.img.link:2: error   FAKE-0002", "5 images, 9 volumes: 5 clean, 2 repaired, 2 skipped; 3 repaired\n")
		if strings.Contains(got.err, "in use") {
			t.Error(got.err)
		}
		f.write(f.image, before)
	}
}

// cutter cancels the run as soon as something is printed.
type cutter struct {
	bytes.Buffer
	cancel func()
}

func (c *cutter) Write(p []byte) (int, error) {
	c.cancel()
	return c.Buffer.Write(p)
}

// A run that is cancelled between two images is cancelled, though what it looked at is
// clean.
func TestCancelledBetweenImages(t *testing.T) {
	f := newFake(t)
	for _, cmd := range []string{"check", "mount-scan"} {
		for _, jobs := range []string{"1", "2"} {
			ctx, cancel := context.WithCancel(t.Context())
			out, errw := &cutter{cancel: cancel}, &bytes.Buffer{}
			a := newApp([]*vol.Driver{fakeDriver(nil)}, nil, out, errw)
			code := a.run(ctx, []string{"fatkit", cmd, "-j", jobs, f.image, f.image, f.image, f.image, f.image, f.image})
			if code&exitCancelled == 0 || !strings.Contains(errw.String(), "not looked at") {
				t.Errorf("%s -j %s: exit %d\n%s%s", cmd, jobs, code, out.String(), errw.String())
			}
		}
	}
}

// Meters of parts come to one of the whole.
func TestMeterOfParts(t *testing.T) {
	var w bytes.Buffer
	a := newApp(nil, nil, io.Discard, &w)
	a.terminal = func(any) bool { return true }
	board := a.newMeter("all")
	board.parts, board.start = 2, board.start.Add(-2*patience)
	a.board = board
	x, y := a.newMeter("x"), a.newMeter("y")
	x.begin("one", 1, 2)
	x.update(1, 2)
	y.update(1, 2)
	if board.done != 0.125+0.25 {
		t.Errorf("%v", board.done)
	}
	x.finish()
	y.finish()
	if board.done != 1 {
		t.Errorf("%v", board.done)
	}
	a.aside("writing").update(1, 2)
	board.clear()
	if !strings.Contains(w.String(), "all") || board.done != 1 {
		t.Errorf("%q, %v", w.String(), board.done)
	}
}

// systemdPercent is what systemd-fsck makes of a line of progress: passes from 1
// to 5 have weights.
func systemdPercent(pass int, cur, total float64) float64 {
	weights := []float64{0, 70, 90, 92, 95, 100}
	switch {
	case pass <= 0:
		return 0
	case pass >= len(weights) || total == 0:
		return 100
	}
	return weights[pass-1] + (weights[pass]-weights[pass-1])*cur/total
}

// TestFsckProgress: what a reader of e2fsck's protocol makes of it never goes
// back, and does not come to its end before the check does.
func TestFsckProgress(t *testing.T) {
	for _, passes := range []int{1, 2, 5, 7, 11} {
		var b bytes.Buffer
		p := &fsckProgress{w: &b}
		for pass := 1; pass <= passes; pass++ {
			for done := range int64(11) {
				p.tell("my card\n.img", pass, passes, done, 10)
			}
		}
		last := -1.0
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if len(lines) != passes*11 {
			t.Fatalf("%d lines", len(lines))
		}
		for i, line := range lines {
			var pass int
			var cur, total float64
			if n, err := fmt.Sscanf(line, "%d %f %f my", &pass, &cur, &total); n != 3 || err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			percent := systemdPercent(pass, cur, total)
			if percent < last || percent >= 100 || cur >= total {
				t.Errorf("%d passes: %q is %v %% after %v %%", passes, line, percent, last)
			}
			if last = percent; i == len(lines)-1 && percent < 90 {
				t.Errorf("%d passes: the end is %v %%", passes, percent)
			}
		}
	}
}
