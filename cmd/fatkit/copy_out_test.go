package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// A file is written beside the one that it is to be under a name that is short and
// free, whatever it is called itself and whatever a run that was killed left.
func TestCopyOutTemporary(t *testing.T) {
	t.Chdir(t.TempDir())
	long := strings.Repeat("n", 255)
	writeFiles(t, map[string]string{"src/" + long: "long", "src/" + tempSuffix + "-1": "taken", "out/" + tempSuffix + "-1": "left", "out/" + tempSuffix + "-2": "left"})
	realRun(t, "format", "-t", "f2fs", "-s", "64M", "-d", "src", "v.img").want(t, 0)
	realRun(t, "copy", "-r", "v.img::/", "out").want(t, 0)
	for name, want := range map[string]string{long: "long", tempSuffix + "-1": "taken", tempSuffix + "-2": "left"} {
		if b, err := os.ReadFile(filepath.Join("out", name)); err != nil || string(b) != want {
			t.Errorf("%.20s: %q, %v, want %q", name, b, err, want)
		}
	}
	if es, err := os.ReadDir("out"); err != nil || len(es) != 3 {
		t.Errorf("%d files are there: %v, %v", len(es), es, err)
	}
}

// pieces are contents of a file of which a part is known to be a hole.
type pieces struct {
	data dev.Range
	read []dev.Range
}

func (p *pieces) ReadAt(b []byte, off int64) (int, error) {
	p.read = append(p.read, dev.Range{Off: off, Len: int64(len(b))})
	for i := range b {
		b[i] = byte(off+int64(i))%7 + 1
	}
	return len(b), nil
}

func (p *pieces) NextData(pos int64) dev.Range {
	if pos >= p.data.End() {
		return dev.Range{}
	}
	return dev.Range{Off: max(pos, p.data.Off), Len: p.data.End() - max(pos, p.data.Off)}
}

// Of a file with holes only what is none is read: it may have a size of terabytes.
func TestPumpSparse(t *testing.T) {
	const size = 1 << 40
	p := &pieces{data: dev.Range{Off: 1<<39 + 4096, Len: 3<<20 + 5}}
	m := dev.NewMem(size)
	if err := pumpSparse(context.Background(), m, p, size); err != nil {
		t.Fatal(err)
	}
	at := p.data.Off
	for _, r := range p.read {
		if r.Off != at {
			t.Errorf("read at %d, want %d", r.Off, at)
		}
		at = r.End()
	}
	if at != p.data.End() {
		t.Errorf("read up to %d, want %d", at, p.data.End())
	}
	got, want := make([]byte, p.data.Len), make([]byte, p.data.Len)
	if _, err := m.ReadAt(got, p.data.Off); err != nil {
		t.Fatal(err)
	}
	if _, _ = p.ReadAt(want, p.data.Off); !bytes.Equal(got, want) {
		t.Error("what was written is not what was read")
	}
	if d := m.NextData(0); d.Off < p.data.Off-1<<20 {
		t.Errorf("something was written at %v", d)
	}
}

// Contents that do not know their holes are read as a whole.
func TestPumpSparsePlain(t *testing.T) {
	m := dev.NewMem(1 << 20)
	in := strings.NewReader(strings.Repeat("x", 10_000))
	if err := pumpSparse(context.Background(), m, in, 10_000); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10_001)
	if _, err := m.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) || string(b) != strings.Repeat("x", 10_000)+"\x00" {
		t.Errorf("%.20q, %v", b, err)
	}
}

// lockedTree is a tree of which no file called locked can be read.
type lockedTree struct{ vol.Tree }

func (lockedTree) Details(*vol.Node) error                   { return nil }
func (lockedTree) Mappings(*vol.Node) ([]vol.Mapping, error) { return nil, nil }
func (lockedTree) Contents(n *vol.Node) (io.ReaderAt, error) {
	if n.Path == "/locked" {
		return nil, vol.Refusef("%s: it is encrypted", n.Path)
	}
	return strings.NewReader(""), nil
}

// toldSink notes what it is told to make.
type toldSink struct {
	sink
	told []string
}

func (s *toldSink) file(_ context.Context, name string, _ *vol.Node, _ io.ReaderAt, _ []vol.Mapping) error {
	s.told = append(s.told, name)
	return nil
}

func (s *toldSink) same(name, before string, _ *vol.Node) error {
	s.told = append(s.told, name+"="+before)
	return nil
}

// A file that cannot be read does not keep others from being copied, and what was
// not copied gets no second name.
func TestCopyOutLocked(t *testing.T) {
	to := &toldSink{}
	o := &outCopy{to: to, from: &reading{tree: lockedTree{}}, names: map[uint64]string{}}
	for _, p := range []string{"/locked", "/a", "/b"} {
		n := &vol.Node{Path: p, ID: 7, Nlink: 3}
		n.Kind = vol.KindFile
		err := o.node(context.Background(), n, p[1:])
		if (err != nil) != (p == "/locked") || err != nil && (!o.passes(err) || !errors.Is(err, vol.ErrRequest)) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if got := strings.Join(to.told, " "); got != "a b=a" {
		t.Errorf("it made %q", got)
	}
}
