package main

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

// TestWithout holds what is left of ranges against a naive set of bytes.
func TestWithout(t *testing.T) {
	ranges := func(bits uint) (out []dev.Range) {
		for i := range int64(8) {
			switch n := len(out); {
			case bits>>i&1 == 0:
			case n > 0 && out[n-1].End() == i:
				out[n-1].Len++
			default:
				out = append(out, dev.Range{Off: i, Len: 1})
			}
		}
		return out
	}
	for a := range uint(256) {
		for b := range uint(256) {
			var got []dev.Range
			for r, err := range without(all(ranges(a), nil), all(ranges(b), nil)) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r)
			}
			if want := ranges(a &^ b); !slices.Equal(got, want) {
				t.Fatalf("%v without %v is %v, want %v", ranges(a), ranges(b), got, want)
			}
		}
	}
}

// all are the ranges, and then err.
func all(ranges []dev.Range, err error) iter.Seq2[dev.Range, error] {
	return func(yield func(dev.Range, error) bool) {
		for _, r := range ranges {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(dev.Range{}, err)
		}
	}
}

// TestWithoutFails: an error of either side comes out, and what follows does not.
func TestWithoutFails(t *testing.T) {
	wrong, some := errors.New("wrong"), []dev.Range{{Off: 0, Len: 4}, {Off: 8, Len: 4}}
	for name, seq := range map[string]iter.Seq2[dev.Range, error]{
		"of the first":  without(all(some, wrong), all(some[1:], nil)),
		"of the second": without(all(some, nil), all(some[:1], wrong)),
	} {
		var last error
		n := 0
		for _, err := range seq {
			if last != nil {
				t.Errorf("%s: it goes on", name)
			}
			if last = err; err == nil {
				n++
			}
		}
		if !errors.Is(last, wrong) || n > 1 {
			t.Errorf("%s: %v after %d ranges", name, last, n)
		}
	}
}

// TestUndoOutOfTurn: the kept log of a run is refused when another run changed the
// volume since, also where neither wrote to the sectors of the other: what a file held
// that the first took away, and what a second checkpoint of F2FS counts on. Runs that
// are taken back in turn are.
func TestUndoOutOfTurn(t *testing.T) {
	t.Chdir(t.TempDir())
	spare := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	back := func(name string, b []byte) {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	back("x", bytes.Repeat([]byte("contents of x\n"), 30_000))
	back("y", bytes.Repeat([]byte("and those of y\n"), 20_000))
	for _, format := range []string{"fat16", "fat32", "exfat", "f2fs"} {
		t.Run(format, func(t *testing.T) {
			do := func(code int, args ...string) { t.Helper(); realRun(t, args...).want(t, code) }
			do(0, "format", "-f", "-t", format, "-s", "48M", "v.img")
			do(0, "copy", "x", "v.img::x")
			do(0, "mkdir", "v.img", "d", "e")
			do(0, "rm", "--keep-undo", "--undo", "rm.log", "v.img", "x")
			removed, log := spare("v.img"), spare("rm.log")
			for name, others := range map[string][][]string{
				"written over and removed": {{"copy", "y", "v.img::d/y"}, {"rm", "v.img", "d/y"}},
				"zeroed":                   {{"zero", "--free", "v.img"}},
			} {
				back("v.img", removed)
				for _, other := range others {
					do(0, other...)
				}
				after := spare("v.img")
				realRun(t, "undo", "--undo", "rm.log", "v.img").want(t, 8, "was changed since")
				if !bytes.Equal(spare("v.img"), after) {
					t.Errorf("%s: it was written to", name)
				}
			}
			back("v.img", removed)
			back("rm.log", log)
			do(0, "mkdir", "--keep-undo", "--undo", "mkdir.log", "v.img", "new")
			made := spare("v.img")
			do(0, "copy", "y", "v.img::new/y")
			realRun(t, "undo", "--undo", "mkdir.log", "v.img").want(t, 8, "was changed since")
			back("v.img", made)
			do(0, "undo", "--undo", "mkdir.log", "v.img")
			do(0, "undo", "--undo", "rm.log", "v.img")
			do(0, "check", "v.img")
			if do(0, "copy", "v.img::x", format); !bytes.Equal(spare(format), spare("x")) {
				t.Error("x is not as before")
			}
			do(4, "ls", "v.img", "new")
		})
	}
}

// TestUndoInterruptedF2FS: a run on F2FS that was cut short when its checkpoint was
// there already is not taken back from under one that followed.
func TestUndoInterruptedF2FS(t *testing.T) {
	t.Chdir(t.TempDir())
	realRun(t, "format", "-t", "f2fs", "-s", "48M", "v.img").want(t, 0)
	realRun(t, "mkdir", "--keep-undo", "--undo", "cut.log", "v.img", "a").want(t, 0)
	log, err := os.ReadFile("cut.log")
	if err != nil {
		t.Fatal(err)
	}
	clear(log[512:1024]) // the mark of the end
	if err := os.WriteFile("cut.log", log, 0o644); err != nil {
		t.Fatal(err)
	}
	realRun(t, "mkdir", "v.img", "a/b").want(t, 0)
	realRun(t, "undo", "--undo", "cut.log", "v.img").want(t, 8, "was changed since")
	realRun(t, "check", "v.img").want(t, 0, "2 directories")
}
