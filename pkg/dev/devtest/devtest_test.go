package devtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/google/go-cmp/cmp"
)

// blank is size bytes that begin with text.
func blank(t testing.TB, size int64, text string) dev.Device {
	t.Helper()
	m := dev.NewMem(size)
	if _, err := m.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
	return m
}

func put(t testing.TB, d interface {
	WriteAt([]byte, int64) (int, error)
}, text string, off int64) {
	t.Helper()
	if _, err := d.WriteAt([]byte(text), off); err != nil {
		t.Fatal(err)
	}
}

func text(t testing.TB, d dev.Device, off int64, n int) string {
	t.Helper()
	p := make([]byte, n)
	if _, err := d.ReadAt(p, off); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(p), "\x00", ".")
}

func TestWorldSurvival(t *testing.T) {
	w := NewWorld(blank(t, 1<<20, "base"))
	d := w.Device()
	put(t, d, "sync", 512)
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	put(t, d, "one", 1024)
	put(t, d, "two", 4096)
	if err := d.Zero(dev.Range{Len: 3}); err != nil {
		t.Fatal(err)
	}
	put(t, d, strings.Repeat("x", 1024), 8192)
	all := func(d dev.Device) string {
		return strings.Join([]string{text(t, d, 0, 4), text(t, d, 512, 4), text(t, d, 1024, 3), text(t, d, 4096, 3),
			text(t, d, 8192, 1), text(t, d, 8704, 1)}, " ")
	}
	tests := []struct {
		s    Survival
		want string
	}{
		{None(), "base sync ... ... . ."},
		{All(), "...e sync one two x x"},
		{Even(), "...e sync one ... . ."},
		{Odd(), "base sync ... two x x"},
		{Prefix(), "...e sync one two x ."},
	}
	for _, tt := range tests {
		if got := all(w.After(tt.s).Device()); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.s, got, tt.want)
		}
	}
	seen := map[string]bool{}
	for seed := range uint64(200) {
		got := all(w.After(Random(seed)).Device())
		if again := all(w.After(Random(seed)).Device()); got != again {
			t.Errorf("seed %d: %s, then %s", seed, got, again)
		}
		seen[got] = true
	}
	if len(seen) < 20 || !seen["base sync one ... . x"] {
		t.Errorf("200 seeds gave %d outcomes", len(seen))
	}
	if got := all(d); got != "...e sync one two x x" {
		t.Errorf("asking changed the world: %s", got)
	}
}

func TestWorldCut(t *testing.T) {
	w := NewWorld(blank(t, 1<<20, ""))
	w.CutAt(1)
	d := w.Device()
	put(t, d, "a", 0)
	for range 2 {
		if _, err := d.WriteAt([]byte("b"), 512); !errors.Is(err, ErrPowerCut) {
			t.Errorf("write: %v", err)
		}
	}
	if _, err := d.ReadAt(make([]byte, 1), 0); !errors.Is(err, ErrPowerCut) {
		t.Errorf("read: %v", err)
	}
	if err := d.Sync(); !errors.Is(err, ErrPowerCut) {
		t.Errorf("sync: %v", err)
	}
	if got := text(t, w.After(All()).Device(), 0, 1) + text(t, w.After(All()).Device(), 512, 1); got != "ab" {
		t.Errorf("the write at the cut can not survive: %q", got)
	}
	if diff := cmp.Diff([]string{"write 0+1", "write 512+1"}, names(w.Ops())); diff != "" {
		t.Error(diff)
	}
}

func names(ops []Op) []string {
	var s []string
	for _, o := range ops {
		s = append(s, o.String())
	}
	return s
}

func TestWorldLog(t *testing.T) {
	w := NewWorld(blank(t, 4096, ""))
	j := w.Journal()
	if _, err := j.Open(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open: %v", err)
	}
	if err := j.Remove(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("remove: %v", err)
	}
	lf, err := j.Create()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Create(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create: %v", err)
	}
	put(t, lf, "head", 0)
	if err := lf.Sync(); err != nil {
		t.Fatal(err)
	}
	put(t, lf, "tail", 5000)
	logOf := func(w *World) string {
		lf, err := w.Journal().Open()
		if err != nil {
			return "none"
		}
		b, err := io.ReadAll(io.NewSectionReader(lf, 0, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d %s", len(b), bytes.ReplaceAll(b, []byte{0}, nil))
	}
	if got := logOf(w.After(None())) + ", " + logOf(w.After(All())); got != "4 head, 5004 headtail" {
		t.Errorf("the log is %s", got)
	}
	if err := errors.Join(lf.Truncate(2), lf.Truncate(4), lf.Sync()); err != nil {
		t.Fatal(err)
	}
	if got := logOf(w.After(None())); got != "4 he" {
		t.Errorf("the truncated log is %s", got)
	}
	if err := j.Remove(); err != nil {
		t.Fatal(err)
	}
	if got := logOf(w.After(None())) + ", " + logOf(w.After(All())); got != "4 he, none" {
		t.Errorf("the removed log is %s", got)
	}
	w.CutAt(len(w.Ops()))
	if _, err := j.Create(); !errors.Is(err, ErrPowerCut) {
		t.Errorf("create: %v", err)
	}
	if got := logOf(w.After(None())) + ", " + logOf(w.After(All())); got != "4 he, 0 " {
		t.Errorf("the log created at the cut is %s", got)
	}
}

func TestFault(t *testing.T) {
	eio, enospc := errors.New("EIO"), errors.New("ENOSPC")
	f := NewFault(blank(t, 1<<20, ""))
	f.Once(Read, 1, eio)
	f.From(Write, 2, enospc)
	f.Where(func(o Op) bool { return o.Kind == Zero && o.Off == 512 }, eio)
	var got []string
	note := func(err error) {
		switch {
		case errors.Is(err, eio):
			got = append(got, "EIO")
		case errors.Is(err, enospc):
			got = append(got, "ENOSPC")
		case err == nil:
			got = append(got, "ok")
		}
	}
	for range 3 {
		_, err := f.ReadAt(make([]byte, 4), 0)
		note(err)
	}
	for range 4 {
		_, err := f.WriteAt([]byte("a"), 0)
		note(err)
	}
	note(f.Zero(dev.Range{Off: 512, Len: 1}))
	note(f.Zero(dev.Range{Off: 513, Len: 1}))
	note(f.Sync())
	want := "ok EIO ok ok ok ENOSPC ENOSPC EIO ok ok"
	if s := strings.Join(got, " "); s != want || f.Hits() != 4 {
		t.Errorf("%s, %d hits; want %s", s, f.Hits(), want)
	}
}

func TestTrace(t *testing.T) {
	w := NewWorld(blank(t, 1<<20, ""))
	trace := NewTrace(w.Device())
	j := trace.Journal(w.Journal())
	lf, err := j.Create()
	if err != nil {
		t.Fatal(err)
	}
	put(t, lf, "abc", 4)
	put(t, trace, "defg", 512)
	trace.Readahead(dev.Range{Off: 9, Len: 1})
	if err := errors.Join(lf.Sync(), trace.Sync(), trace.Zero(dev.Range{Len: 512}), lf.Close(), j.Remove()); err != nil {
		t.Fatal(err)
	}
	want := []string{"create log", "write log 4+3", "write 512+4", "sync log", "sync", "zero 0+512", "remove log"}
	if diff := cmp.Diff(want, names(trace.Ops())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"write 512+4", "sync"}, names(trace.Ops(Write, Sync))); diff != "" {
		t.Error(diff)
	}
	c := trace.Counts()
	if c.Ops[Write] != 1 || c.Bytes[Write] != 4 || c.Bytes[LogWrite] != 3 || c.Bytes[Zero] != 512 {
		t.Errorf("%+v", c)
	}
	if got := trace.Readaheads(); len(got) != 1 {
		t.Errorf("readaheads: %v", got)
	}
	trace.Reset()
	if len(trace.Ops()) != 0 || trace.Counts() != (Counts{}) {
		t.Error("reset leaves something")
	}
}

func TestDiff(t *testing.T) {
	a, b := blank(t, 1<<30, "abcdef"), blank(t, 1<<30, "abXdYf")
	check := func(want dev.Range, ignore ...dev.Range) {
		t.Helper()
		if got, err := Diff(a, b, ignore...); err != nil || got != want {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	check(dev.Range{Off: 2, Len: 3})
	check(dev.Range{Off: 4, Len: 1}, dev.Range{Off: 1, Len: 3})
	check(dev.Range{}, dev.Range{Off: 0, Len: 3}, dev.Range{Off: 4, Len: 1 << 20})
	put(t, b, "far", 1<<29)
	check(dev.Range{Off: 1 << 29, Len: 3}, dev.Range{Len: 100})
	if _, err := Diff(a, blank(t, 1<<20, "")); err == nil {
		t.Error("sizes do not count")
	}
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	said []string
}

type stopped struct{}

func (r *recorder) Helper()                      {}
func (r *recorder) Failed() bool                 { return len(r.said) > 0 }
func (r *recorder) Error(args ...any)            { r.said = append(r.said, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) { r.said = append(r.said, fmt.Sprintf(f, args...)) }
func (r *recorder) Fatalf(f string, args ...any) {
	r.Errorf(f, args...)
	panic(stopped{})
}

// says is what a matrix says about a case.
func says(t *testing.T, matrix func(testing.TB, Case), c Case) (said []string) {
	r := &recorder{TB: t}
	defer func() {
		if p := recover(); p != nil && p != (stopped{}) {
			panic(p)
		}
		said = r.said
	}()
	matrix(r, c)
	return r.said
}

// commit writes text to two places through a Txn.
func commit(d dev.Device, o dev.CommitOptions) error {
	txn := dev.Begin(d)
	for _, off := range []int64{100, 50_000} {
		if _, err := txn.WriteAt([]byte("after"), off); err != nil {
			return err
		}
		_ = txn.Sync()
	}
	_, err := txn.Commit(context.Background(), o)
	return err
}

// TestMatricesBite gives the matrices changes that lose something.
func TestMatricesBite(t *testing.T) {
	direct := func(d dev.Device, sync bool) error {
		if _, err := d.WriteAt([]byte("after"), 100); err != nil {
			return err
		}
		if _, err := d.WriteAt([]byte("after"), 50_000); err != nil {
			return err
		}
		if sync {
			return d.Sync()
		}
		return nil
	}
	tests := []struct {
		name        string
		change      func(dev.Device, dev.Journal) error
		cut, faults bool // does the matrix see it?
	}{
		{"a commit", func(d dev.Device, j dev.Journal) error { return commit(d, dev.CommitOptions{Undo: j}) }, false, false},
		{"a commit that keeps", func(d dev.Device, j dev.Journal) error { return commit(d, dev.CommitOptions{Undo: j, Keep: true}) }, false, false},
		{"no log", func(d dev.Device, j dev.Journal) error { return commit(d, dev.CommitOptions{}) }, true, true},
		{"direct", func(d dev.Device, j dev.Journal) error { return direct(d, true) }, true, true},
		{"one atomic write", func(d dev.Device, j dev.Journal) error {
			_, err := d.WriteAt([]byte("x"), 1)
			return errors.Join(err, d.Sync())
		}, false, false},
		{"no sync", func(d dev.Device, j dev.Journal) error { _, err := d.WriteAt([]byte("x"), 1); return err }, true, true},
		{"error swallowed", func(d dev.Device, j dev.Journal) error { _ = commit(d, dev.CommitOptions{Undo: j}); return nil }, true, true},
		{"a log that does not survive", func(d dev.Device, j dev.Journal) error { return commit(d, dev.CommitOptions{Undo: lazy{j}}) }, true, false},
		{"fails by itself", func(d dev.Device, j dev.Journal) error { return errors.New("no") }, true, true},
		{"after a log", func(d dev.Device, j dev.Journal) error {
			_, err := d.WriteAt([]byte("x"), 1)
			return errors.Join(commit(d, dev.CommitOptions{Undo: j}), err)
		}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Case{Image: func() dev.Device { return blank(t, 1<<20, "before") }, Change: tt.change}
			if said := says(t, Matrix, c); (len(said) > 0) != tt.cut {
				t.Errorf("Matrix says %q", said)
			}
			if said := says(t, FaultMatrix, c); (len(said) > 0) != tt.faults {
				t.Errorf("FaultMatrix says %q", said)
			}
		})
	}
}

// lazy is a journal whose log is never synced.
type lazy struct{ dev.Journal }

func (l lazy) Create() (dev.LogFile, error) {
	lf, err := l.Journal.Create()
	return lazyLog{lf}, err
}

type lazyLog struct{ dev.LogFile }

func (lazyLog) Sync() error { return nil }

func TestMatrixIgnore(t *testing.T) {
	c := Case{
		Image: func() dev.Device { return blank(t, 1<<20, "before") },
		Change: func(d dev.Device, j dev.Journal) error {
			if err := d.Zero(dev.Range{Off: 0, Len: 50}); err != nil { // a free cluster
				return err
			}
			return commit(d, dev.CommitOptions{Undo: j})
		},
	}
	if said := says(t, Matrix, c); len(said) == 0 {
		t.Error("Matrix does not see the free cluster")
	}
	// What is ignored must not be part of a log's identity: it is here.
	c.Verify = func(t testing.TB, step string, got dev.Device) {
		if s := text(t, got, 50_000, 5); s != "....." && s != "after" {
			t.Errorf("%s: %q", step, s)
		}
	}
	if said := says(t, Matrix, c); len(said) > 0 {
		t.Errorf("Matrix says %q", said)
	}
}

func TestSample(t *testing.T) {
	ops := make([]Op, 1000)
	for i := range ops {
		ops[i].Kind = Write
	}
	ops[333].Kind = Sync
	got := sample(ops, 50)
	if len(got) > 53 || got[0] != 0 || got[len(got)-1] != 999 {
		t.Errorf("%v", got)
	}
	near := 0
	for _, i := range got {
		if i >= 332 && i <= 334 {
			near++
		}
	}
	if near != 3 {
		t.Errorf("the sync is not sampled: %v", got)
	}
	if got := sample(ops[:7], 50); len(got) != 7 {
		t.Errorf("%v", got)
	}
}
