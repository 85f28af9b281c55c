package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// inMemory is the contents of a file.
type inMemory struct {
	io.ReaderAt
	err error // of Close
}

func (m inMemory) Close() error { return m.err }

// found are the pieces of a file between its holes.
func found(t interface{ Fatal(...any) }, b []byte, known []dev.Range, unit, inside int64) []dev.Range {
	es := []vol.Entry{{Path: "f", Size: int64(len(b)), Data: known, Same: -1}}
	es[0].Kind = vol.KindFile
	err := FindHoles(context.Background(), es, func(int) (vol.Contents, error) { return inMemory{bytes.NewReader(b), nil}, nil }, unit, inside)
	if err != nil {
		t.Fatal(err)
	}
	return es[0].Data
}

// TestFindHoles: whole units of zeros are holes and nothing else is.
func TestFindHoles(t *testing.T) {
	for _, c := range []struct {
		b      string // a letter stands for four bytes, a dot for four zeros
		known  []dev.Range
		inside int64
		want   []dev.Range
	}{
		{b: "ab", want: nil},
		{b: "..", want: []dev.Range{}},
		{b: ".a..b.c.", want: []dev.Range{{Off: 4, Len: 4}, {Off: 16, Len: 4}, {Off: 24, Len: 4}}},
		{b: "a.", want: []dev.Range{{Off: 0, Len: 4}}},
		{b: ".", inside: 4, want: nil},
		{b: "a.b", inside: 12, known: []dev.Range{{Off: 0, Len: 4}, {Off: 8, Len: 4}}, want: nil},
		{b: "abcd", known: []dev.Range{{Off: 2, Len: 1}, {Off: 7, Len: 2}}, want: []dev.Range{{Off: 0, Len: 12}}},
		{b: "a..d", known: []dev.Range{{Off: 0, Len: 16}}, want: []dev.Range{{Off: 0, Len: 4}, {Off: 12, Len: 4}}},
		{b: "abcd", known: []dev.Range{}, want: []dev.Range{}},
	} {
		var b []byte
		for _, x := range []byte(c.b) {
			if x == '.' {
				x = 0
			}
			b = append(b, x, x, x, x)
		}
		if got := found(t, b, c.known, 4, c.inside); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v, should be %v", c.b, got, c.want)
		}
	}
	if got, want := found(t, []byte("abcd\x00\x00\x00\x00e"), nil, 4, 0), []dev.Range{{Off: 0, Len: 4}, {Off: 8, Len: 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("a last piece that is short: %v", got)
	}
	if got := found(t, []byte("abcd\x00\x00"), nil, 4, 0); !reflect.DeepEqual(got, []dev.Range{{Off: 0, Len: 4}}) {
		t.Errorf("a last hole that is short: %v", got)
	}
}

// TestFindHolesRandom: what the source knows of holes makes no difference, and
// what is found holds all that is not zero.
func TestFindHolesRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]int64{1, 8, 512, 4096}).Draw(t, "unit")
		b := make([]byte, rapid.IntRange(1, 40_000).Draw(t, "size"))
		var known []dev.Range
		for at := 0; at < len(b); {
			hole, data := rapid.IntRange(0, 9000).Draw(t, "hole"), rapid.IntRange(1, 9000).Draw(t, "data")
			at = min(at+hole, len(b))
			end := min(at+data, len(b))
			if rapid.Bool().Draw(t, "zeros") {
				clear(b[at:end])
			} else {
				for i := at; i < end; i++ {
					b[i] = byte(i) | 1
				}
			}
			if at < end {
				known = append(known, dev.Range{Off: int64(at), Len: int64(end - at)})
			}
			at = end
		}
		all, some := found(t, b, nil, unit, 0), found(t, b, known, unit, 0)
		if !reflect.DeepEqual(all, some) {
			t.Fatalf("%v, and with known holes %v", all, some)
		}
		if all == nil {
			all = []dev.Range{{Len: int64(len(b))}}
		}
		rest, end := bytes.Clone(b), int64(0)
		for _, r := range all {
			if r.Off%unit != 0 || r.Off < end || r.End() > int64(len(b)) {
				t.Fatalf("piece %v", r)
			}
			for at := r.Off; at < r.End(); at += unit {
				if dev.AllZero(b[at:min(at+unit, r.End())]) {
					t.Fatalf("the unit at %d of piece %v is zeros", at, r)
				}
			}
			clear(rest[r.Off:r.End()])
			end = r.End()
		}
		if !dev.AllZero(rest) {
			t.Fatal("something is no zero, and in a hole")
		}
	})
}

// TestFindManyHoles: of a file that is all holes only long ones are kept, and the
// same ones whatever the source knows.
func TestFindManyHoles(t *testing.T) {
	const unit = 8
	b := make([]byte, 2*unit*3*maxPieces)
	var known []dev.Range
	for at := 0; at < len(b); at += 2 * unit {
		b[at] = 1
		known = append(known, dev.Range{Off: int64(at), Len: 1})
	}
	long := len(b) / 2
	clear(b[long : long+10*unit])
	all, some := found(t, b, nil, unit, 0), found(t, b, known, unit, 0)
	if !reflect.DeepEqual(all, some) {
		t.Errorf("%d pieces, and with known holes %d", len(all), len(some))
	}
	want := []dev.Range{{Off: 0, Len: int64(long) - unit}, {Off: int64(long) + 10*unit, Len: int64(len(b)-long) - 11*unit}}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("%d pieces, the first is %v; want %v", len(all), all[0], want)
	}
}

// TestFindHolesErrors: what cannot be read names the file, and a cancelled run ends.
func TestFindHolesErrors(t *testing.T) {
	broken := errors.New("broken")
	file := func() []vol.Entry {
		es := []vol.Entry{{Path: "d", Same: -1}, {Path: "d/f", Size: 100, Same: -1}, {Path: "d/g", Size: 100, Same: 1}}
		es[0].Kind, es[1].Kind, es[2].Kind = vol.KindDir, vol.KindFile, vol.KindFile
		return es
	}
	for name, open := range map[string]func(i int) (vol.Contents, error){
		"broken":                       func(int) (vol.Contents, error) { return nil, broken },
		"changed":                      func(int) (vol.Contents, error) { return inMemory{bytes.NewReader(make([]byte, 100)), ErrChanged}, nil },
		"became shorter":               func(int) (vol.Contents, error) { return inMemory{bytes.NewReader(make([]byte, 60)), nil}, nil },
		"it ends at byte 60: unexpect": func(int) (vol.Contents, error) { return inMemory{bytes.NewReader(make([]byte, 60)), nil}, nil },
	} {
		err := FindHoles(t.Context(), file(), open, 8, 0)
		if err == nil || !strings.Contains(err.Error(), "/d/f: ") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := FindHoles(ctx, file(), func(int) (vol.Contents, error) { return inMemory{bytes.NewReader(make([]byte, 100)), nil}, nil }, 8, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
