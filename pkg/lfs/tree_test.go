package lfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// readTree reads all that there is on a volume, whatever is in it. All that is
// expected is that it comes back, with nodes that can be.
func readTree(ctx context.Context, t testing.TB, d dev.Device) (files int) {
	t.Helper()
	tr, err := read(ctx, d, vol.ReadOptions{})
	if err != nil {
		return 0
	}
	root, err := tr.Root()
	if err != nil {
		return 0
	}
	buf := make([]byte, 64<<10)
	err = vol.Walk(ctx, tr, root, func(n *vol.Node, err error) error {
		files++
		if err != nil {
			if !errors.Is(err, vol.ErrDamaged) && ctx.Err() == nil {
				t.Errorf("%s: %v", n.Path, err)
			}
			return nil
		}
		if n.Kind == 0 || n.Size < 0 || n.Path == "" {
			t.Errorf("a node is %+v", n)
		}
		_ = tr.Details(n)
		ms, err := tr.Mappings(n)
		pos := int64(0)
		for _, m := range ms {
			if err == nil && (m.Pos < pos || m.Length <= 0) {
				t.Errorf("%s: mapping %+v behind %d", n.Path, m, pos)
			}
			pos = m.Pos + m.Length
		}
		if n.Kind != vol.KindFile {
			return nil
		}
		r, err := tr.Contents(n)
		if err != nil {
			return nil
		}
		for _, off := range []int64{0, n.Size / 2, n.Size - 1} {
			if off < 0 {
				continue
			}
			if _, err := r.ReadAt(buf, off); err != nil && err != io.EOF && !errors.Is(err, dev.ErrRange) && !errors.Is(err, vol.ErrDamaged) {
				t.Errorf("%s at %d: %v", n.Path, off, err)
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		t.Errorf("the walk: %v", err)
	}
	at := int64(0)
	err = tr.Uses(ctx, func(u vol.UseRange) error {
		if u.Off != at || u.Len <= 0 {
			t.Errorf("use %+v behind %d", u, at)
		}
		at = u.End()
		return nil
	})
	if err == nil && at != tr.Info().Size {
		t.Errorf("uses end at %d of %d", at, tr.Info().Size)
	}
	return files
}

// TestTree reads volumes that have every structure, on blocks of every size.
func TestTree(t *testing.T) {
	for _, o := range []vol.FormatOptions{{}, {Features: labFeatures}, {ClusterSize: 16384}} {
		l := fillLab(newBuilder(t, 256<<20, o))
		if n := readTree(t.Context(), t, l.d); n < len(l.all)-4 {
			t.Errorf("%+v: %d nodes of %d", o, n, len(l.all))
		}
		tr, all := nodesOf(t, l.d)
		r, err := tr.Contents(all["inline"])
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(io.NewSectionReader(r, 0, 1000)); err != nil || string(b) != "hello, inline" {
			t.Errorf("inline is %q, %v", b, err)
		}
		if _, err := tr.Lookup(all[""], "nothing"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("nothing is found: %v", err)
		}
		if _, err := tr.Lookup(all["plain"], "x"); !errors.Is(err, vol.ErrRequest) {
			t.Errorf("in a file: %v", err)
		}
		if _, err := tr.Contents(all[""]); !errors.Is(err, vol.ErrRequest) {
			t.Errorf("of a directory: %v", err)
		}
		if n := all["encrypted"]; n != nil && slices.Contains(n.Attributes, "encrypted") {
			if _, err := tr.Contents(n); !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), "encrypted") {
				t.Errorf("encrypted: %v", err)
			}
		}
		if n := all["compressed"]; n != nil {
			r, err := tr.Contents(n)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(io.NewSectionReader(r, 8, 16)); err != nil || string(b) != "89abcdef01234567" {
				t.Errorf("compressed is %q, %v", b, err)
			}
		}
	}
}

// TestTreeDamaged: what is damaged is said with its path, and the rest is there.
func TestTreeDamaged(t *testing.T) {
	l := newLab(t, "")
	l.edit(l.at["plain"].addr, func(b []byte) { nodeBlock(b).put32(len(b)-footerNid, 7) })
	tr, err := read(t.Context(), l.d, vol.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	root, err := tr.Root()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = tr.List(t.Context(), root, func(*vol.Node) error { n++; return nil })
	if !errors.Is(err, vol.ErrDamaged) || !strings.Contains(err.Error(), "/plain") || n < 10 {
		t.Errorf("%d files, and %v", n, err)
	}
	if _, err := tr.Lookup(root, "plain"); !errors.Is(err, vol.ErrDamaged) || !strings.Contains(err.Error(), "/plain") {
		t.Errorf("%v", err)
	}
}

// TestTreeLoop: a node that leads to itself is damage, and no endless file.
func TestTreeLoop(t *testing.T) {
	l := newLab(t, "")
	x := l.at["double"]
	for place, n := range x.nodes {
		if isIndirect(place, uint32(l.g.per().nodeSlots())) {
			l.edit(n.addr, func(b []byte) {
				for i := range l.g.per().nodeSlots() {
					nodeBlock(b).put32(4*i, n.nid)
				}
			})
		}
	}
	tr, err := read(t.Context(), l.d, vol.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := vol.Resolve(tr, "double")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Mappings(n); !errors.Is(err, vol.ErrDamaged) {
		t.Errorf("%v", err)
	}
}

// FuzzTree has a block of a volume hold anything, and reads all files.
func FuzzTree(f *testing.F) {
	labs := [2]*lab{fuzzLab(f, ""), fuzzLab(f, labFeatures)}
	blocks := func(l *lab) []uint32 {
		out := []uint32{l.g.Main, l.g.NAT, l.g.PackBlock(0)}
		for _, x := range l.all {
			out = append(out, x.addr)
			for _, n := range x.nodes {
				out = append(out, n.addr)
			}
			if x.node.isDir() {
				for _, a := range x.pages {
					out = append(out, a)
				}
			}
		}
		slices.Sort(out)
		return out
	}
	all := [2][]uint32{blocks(labs[0]), blocks(labs[1])}
	for which, list := range all {
		for i, blk := range list {
			f.Add(byte(which), uint16(i), uint16(0), labs[which].read(blk))
			f.Add(byte(which), uint16(i), uint16(360), []byte{255, 255, 255, 255, 1, 0, 0, 0, 254, 255, 255, 255})
		}
	}
	f.Fuzz(func(t *testing.T, which byte, at, off uint16, b []byte) {
		l, list := labs[which%2], all[which%2]
		blk := list[int(at)%len(list)]
		txn := dev.Begin(l.d)
		defer txn.Rollback()
		o := int64(off) % l.g.BlockSize
		b = b[:min(int64(len(b)), l.g.BlockSize-o)]
		if _, err := txn.WriteAt(b, l.g.BlockOff(blk)+o); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), looksTime)
		defer cancel()
		readTree(ctx, t, txn)
		if ctx.Err() != nil {
			t.Error("it takes too long")
		}
	})
}
