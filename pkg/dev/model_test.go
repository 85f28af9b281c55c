package dev

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// Ramp is a pattern that goes up every 100 bytes, by so much; of 0 it is zeros.
type Ramp byte

func (k Ramp) Fill(p []byte, off int64) {
	for i := range p {
		p[i] = byte((off + int64(i)) / 100 * int64(k))
	}
}

// modelDevice checks d, which is all zeros, against a []byte by random
// operations.
func modelDevice(t *rapid.T, d Device) {
	model := make([]byte, d.Size())
	ranges := rapid.Custom(func(t *rapid.T) Range {
		off := rapid.Int64Range(0, d.Size()).Draw(t, "off")
		most := d.Size() - off
		if rapid.Bool().Draw(t, "short") {
			most = min(most, 5000)
		}
		return Range{Off: off, Len: rapid.Int64Range(0, most).Draw(t, "len")}
	})
	zero := func(name string, fn func(Range) error) func(*rapid.T) {
		return func(t *rapid.T) {
			r := ranges.Draw(t, name)
			if err := fn(r); err != nil {
				t.Fatal(err)
			}
			clear(model[r.Off:r.End()])
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"write": func(t *rapid.T) {
			r := ranges.Draw(t, "write")
			p := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, int(r.Len))
			if n, err := d.WriteAt(p, r.Off); err != nil || n != len(p) {
				t.Fatalf("write: %d, %v", n, err)
			}
			copy(model[r.Off:], p)
		},
		"pattern": func(t *rapid.T) {
			r := ranges.Draw(t, "pattern")
			if err := WritePattern(d, r, Ramp(3)); err != nil {
				t.Fatal(err)
			}
			Ramp(3).Fill(model[r.Off:r.End()], r.Off)
		},
		"zero": zero("zero", d.Zero),
		"keep": zero("keep", func(r Range) error { return ZeroKeep(d, r) }),
		"read": func(t *rapid.T) {
			r := ranges.Draw(t, "read")
			p := make([]byte, r.Len)
			if n, err := d.ReadAt(p, r.Off); err != nil || n != len(p) {
				t.Fatalf("read: %d, %v", n, err)
			}
			if !bytes.Equal(p, model[r.Off:r.End()]) {
				t.Fatalf("%v: wrong contents", r)
			}
		},
		"next": func(t *rapid.T) {
			off := rapid.Int64Range(-1, d.Size()+1).Draw(t, "next")
			checkNextData(t, d, model, off)
		},
		"": func(t *rapid.T) {
			for off, n := int64(0), 0; off < d.Size(); n++ {
				off = checkNextData(t, d, model, off).End()
				if n > len(model)/512 {
					t.Fatal("more ranges of data than there can be")
				}
			}
		},
	})
}

// checkNextData checks that what NextData skips is zeros.
func checkNextData(t *rapid.T, d Device, model []byte, off int64) Range {
	r := d.NextData(off)
	from := min(max(off, 0), d.Size())
	if r.Off < from || r.Len < 0 || r.End() > d.Size() || r.Len == 0 && r.Off != d.Size() {
		t.Fatalf("NextData(%d) = %v on %d bytes", off, r, d.Size())
	}
	for _, b := range model[from:r.Off] {
		if b != 0 {
			t.Fatalf("NextData(%d) = %v skips data", off, r)
		}
	}
	return r
}

func TestMemModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		modelDevice(t, NewMem(rapid.Int64Range(1, 5*memChunk).Draw(t, "size")))
	})
}

func TestFileModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(dir, "model.img")
		size := rapid.Int64Range(1, 300000).Draw(t, "size")
		f, err := OpenFile(path, OpenOptions{Create: true, Size: size})
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
		defer f.Close()
		f.noPunch.Store(rapid.Bool().Draw(t, "no punch"))
		f.noZero.Store(rapid.Bool().Draw(t, "no zero range"))
		modelDevice(t, f)
	})
}

func TestSectionModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewMem(4 * memChunk)
		off := rapid.Int64Range(0, m.Size()-1).Draw(t, "off")
		s, err := Section(m, Range{Off: off, Len: rapid.Int64Range(1, m.Size()-off).Draw(t, "len")})
		if err != nil {
			t.Fatal(err)
		}
		modelDevice(t, s)
	})
}
