package vol

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
)

// tornContents are ones that cannot be read from byte end on.
type tornContents struct{ end int64 }

var errTorn = errors.New("torn")

func (c tornContents) ReadAt(p []byte, off int64) (int, error) {
	n := int(max(0, min(int64(len(p)), c.end-off)))
	for i := range p[:n] {
		p[i] = 'n'
	}
	if n < len(p) {
		return n, errTorn
	}
	return n, nil
}

func (tornContents) Close() error { return nil }

// What was a hole before files were poured is one again when they end in an
// error, and the space below is given back.
func TestPourGivesHolesBack(t *testing.T) {
	const size, file = 16 << 20, 8 << 20
	raw, err := dev.OpenFile(filepath.Join(t.TempDir(), "image"), dev.OpenOptions{Create: true, Size: size})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	kept := bytes.Repeat([]byte("old"), 1<<14)
	for _, at := range []int64{0, size - 1<<20} {
		if _, err := raw.WriteAt(kept, at); err != nil {
			t.Fatal(err)
		}
	}
	before := make([]byte, size)
	if _, err := raw.ReadAt(before, 0); err != nil {
		t.Fatal(err)
	}
	for _, end := range []int64{file, file - 1, 3<<20 + 17, 0} {
		r := &PutRequest{Entries: []Entry{{Path: "a", Same: -1}}, Open: func(int) (Contents, error) { return tornContents{end}, nil }}
		r.Entries[0].Kind, r.Entries[0].Size = KindFile, file
		res := &PutResult{Files: [][]Place{{{Pos: 0, At: dev.Range{Off: 1 << 20, Len: 3 << 20}}, {Pos: 3 << 20, At: dev.Range{Off: 6 << 20, Len: file - 3<<20}}}}}
		txn := dev.Begin(raw)
		err := Pour(context.Background(), txn, raw, r, res, func(int64) {})
		txn.Rollback()
		if end == file {
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range res.Files[0] { // for the rounds that follow
				if err := raw.Zero(p.At); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		if !errors.Is(err, errTorn) || errors.Is(err, io.EOF) {
			t.Errorf("torn at %d: %v", end, err)
		}
		after := make([]byte, size)
		if _, err := raw.ReadAt(after, 0); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, after) {
			t.Errorf("torn at %d: what was a hole is none", end)
		}
	}
}

// The holes of a range are found whatever is in them.
func TestFreshHoles(t *testing.T) {
	d := dev.NewMem(8 << 20)
	if _, err := d.WriteAt([]byte{1}, 4<<20); err != nil {
		t.Fatal(err)
	}
	var h FreshHoles
	for off := int64(0); off < 8<<20; off += 1 << 20 {
		h.Note(d, dev.Range{Off: off, Len: 1 << 20})
	}
	if len(h) != 2 || h[0].Off != 0 || h[0].End() > 4<<20 || h[1].Off <= 4<<20 || h[1].End() != 8<<20 {
		t.Errorf("holes %v", h)
	}
}

// What was poured is durable when Pour returns: the metadata that leads there may be
// committed without a log, which syncs nothing before.
func TestPourSyncs(t *testing.T) {
	raw := devtest.NewTrace(dev.NewMem(1 << 20))
	r := &PutRequest{Entries: []Entry{{Path: "a", Same: -1}}, Open: func(int) (Contents, error) { return tornContents{5000}, nil }}
	r.Entries[0].Kind, r.Entries[0].Size = KindFile, 5000
	res := &PutResult{Files: [][]Place{{{At: dev.Range{Off: 4096, Len: 8192}}}}}
	if err := Pour(context.Background(), dev.Begin(raw), raw, r, res, func(int64) {}); err != nil {
		t.Fatal(err)
	}
	ops := raw.Ops(devtest.Write, devtest.Zero, devtest.Sync)
	if n := len(ops); n < 2 || ops[n-1].Kind != devtest.Sync {
		t.Errorf("operations %v, want a sync at the end", ops)
	}
}
