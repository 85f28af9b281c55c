package voltest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/source"
)

// content is what is to be on a volume: entries, and their contents by path.
type content struct {
	entries []vol.Entry
	data    map[string][]byte
}

func newContent() *content { return &content{data: map[string][]byte{}} }

// when is the time of entry n, such as every format can hold: whole pairs of
// seconds.
func when(n int) time.Time { return time.Unix(1_600_000_000+int64(n)*86_402, 0).UTC() }

func (c *content) entry(path string, kind vol.Kind) *vol.Entry {
	e := vol.Entry{Path: path, Same: -1}
	e.Kind, e.Mode = kind, 0o644
	if kind == vol.KindDir {
		e.Mode = 0o755
	}
	e.Modified = when(len(c.entries))
	c.entries = append(c.entries, e)
	return &c.entries[len(c.entries)-1]
}

func (c *content) file(path string, data []byte) *vol.Entry {
	e := c.entry(path, vol.KindFile)
	e.Size = int64(len(data))
	c.data[path] = data
	return e
}

// bytesContents is vol.Contents over memory.
type bytesContents struct{ *bytes.Reader }

func (bytesContents) Close() error { return nil }

// request is what puts c on a volume, in the order that sources give.
func (c *content) request() *vol.PutRequest {
	slices.SortStableFunc(c.entries, func(a, b vol.Entry) int { return source.ComparePaths(a.Path, b.Path) })
	r := &vol.PutRequest{Entries: c.entries}
	r.Open = func(i int) (vol.Contents, error) {
		return bytesContents{bytes.NewReader(c.data[r.Entries[i].Path])}, nil
	}
	return r
}

// putOn puts a request on an open volume.
func putOn(ctx context.Context, x vol.Volume, d, raw dev.Device, r *vol.PutRequest) (*vol.PutResult, error) {
	res, err := x.Put(ctx, r)
	if err != nil {
		return nil, err
	}
	return res, vol.Pour(ctx, d, raw, r, res, func(int64) {})
}

func (v volume) mustPut(t rapid.TB, d dev.Device, r *vol.PutRequest) *vol.PutResult {
	t.Helper()
	x, txn := v.open(t, d)
	res, err := putOn(context.Background(), x, txn, d, r)
	if err != nil {
		t.Fatalf("put: %v", err)
	}
	commit(t, txn)
	v.mustBeClean(t, d, "put")
	return res
}

// randomContent draws a tree with names of many scripts.
func randomContent(rt *rapid.T, v volume) *content {
	c := newContent()
	dirs := []string{""}
	seen := map[string]bool{}
	name := rapid.StringOfN(rapid.RuneFrom([]rune("abcXYZ019 ._-~+,;=[]äß日本ж😀\u0130\u1e9e")), 1, 40, v.longest())
	n := rapid.IntRange(0, 40).Draw(rt, "entries")
	for range n {
		base := strings.TrimRight(name.Draw(rt, "name"), ". ")
		dir := rapid.SampledFrom(dirs).Draw(rt, "directory")
		path := strings.TrimPrefix(dir+"/"+base, "/")
		key := strings.ToUpper(path)
		if base == "" || seen[key] {
			continue
		}
		seen[key] = true
		if rapid.IntRange(0, 3).Draw(rt, "kind") == 0 {
			c.entry(path, vol.KindDir)
			dirs = append(dirs, path)
			continue
		}
		size := rapid.SampledFrom([]int{0, 1, 511, 512, 513, 4095, 4096, 4097, 9000}).Draw(rt, "size")
		c.file(path, pattern(int64(size), len(c.entries)))
	}
	return c
}
