package exfat

import (
	"bytes"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// load is what is to be put: the contents of files by path, and nil for a
// directory. Directories that lead to something need not be named.
type load map[string][]byte

// dated is the time of an entry: with hundredths of a second, and told apart by
// the length of the path.
func dated(p string) time.Time {
	return time.Date(2024, 2, 29, 13, len(p)%60, len(p)%7+1, len(p)%100*10_000_000, time.UTC)
}

// request is what puts l on a volume.
func (l load) request() *vol.PutRequest {
	all := maps.Clone(l)
	for p := range l {
		for d := path.Dir(p); d != "."; d = path.Dir(d) {
			all[d] = nil
		}
	}
	r := &vol.PutRequest{}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		e := vol.Entry{Path: p, Same: -1, Size: int64(len(all[p]))}
		e.Kind, e.Modified = vol.KindDir, dated(p)
		e.Times = &vol.Times{Born: dated(p).Add(-time.Hour), Accessed: dated(p).Add(time.Hour)}
		if all[p] != nil {
			e.Kind, e.Flags = vol.KindFile, vol.FlagArchive
		}
		r.Entries = append(r.Entries, e)
	}
	r.Open = func(i int) (vol.Contents, error) {
		return memContents{bytes.NewReader(all[r.Entries[i].Path])}, nil
	}
	return r
}

// memContents is vol.Contents in memory.
type memContents struct{ *bytes.Reader }

func (memContents) Close() error { return nil }

// poured puts r and its contents on an open volume.
func poured(t testing.TB, tx, base dev.Device, v *volume, r *vol.PutRequest) *vol.PutResult {
	t.Helper()
	res, err := v.Put(context.Background(), r)
	must(t, err)
	must(t, vol.Pour(context.Background(), tx, base, r, res, func(int64) {}))
	return res
}

// putAll puts r on a volume and commits that.
func putAll(t testing.TB, base dev.Device, r *vol.PutRequest) *vol.PutResult {
	t.Helper()
	tx, v := begun(t, base)
	res := poured(t, tx, base, v, r)
	commit(t, tx)
	return res
}

// removedFrom takes paths away and commits that.
func removedFrom(t testing.TB, base dev.Device, paths ...string) *vol.RemoveResult {
	t.Helper()
	tx, v := begun(t, base)
	res, err := v.Remove(context.Background(), vol.RemoveRequest{Paths: paths, Recursive: true})
	must(t, err)
	commit(t, tx)
	return res
}

// holds compares what is on a volume, as the other implementation reads it,
// with l and what others made.
func holds(t testing.TB, d dev.Device, l load, others ...string) *plain {
	t.Helper()
	p := sound(t, d)
	want := map[string]bool{}
	for name := range l {
		for ; name != "."; name = path.Dir(name) {
			want["/"+name] = true
		}
	}
	for _, name := range others {
		want["/"+name] = true
	}
	if got := p.paths(); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("there is %q, not %q", got, slices.Sorted(maps.Keys(want)))
		return p
	}
	for name, data := range l {
		f := p.files["/"+name]
		if f.dir != (data == nil) || data != nil && (f.valid != f.length || !bytes.Equal(p.data("/"+name), data)) {
			t.Errorf("%s: a directory %v, %d of %d bytes valid, or other contents", name, f.dir, f.valid, f.length)
		}
	}
	return p
}

// text is n bytes that tell which file they are of.
func text(name string, n int64) []byte {
	return bytes.Repeat([]byte(name+"\n"), int(n)/(len(name)+1)+1)[:n:n]
}

// sample has what there is to be careful about with clusters of cs bytes.
// (exfatprogs 1.2.0 holds two clusters of a directory at a time, and never ends
// on a set that lies in three: names of 255 units take 608 bytes.)
func sample(cs int64) load {
	l := load{"empty": nil, "dir/none": {}, strings.Repeat("deep/", 40) + "x": text("deep", 3)}
	for name, n := range map[string]int64{"dir/one": 1, "dir/less": cs - 1, "dir/exact": cs, "dir/more": cs + 1, "many": 5*cs + 3, "dir/exact 3": 3 * cs,
		"日本/ärger ΩΣ": 12, "кириллица.TXT": 5} {
		l[name] = text(name, n)
	}
	if cs > 512 {
		maps.Copy(l, longNames())
	}
	return l
}

// longNames are names of 255 units.
func longNames() load {
	return load{strings.Repeat("x", 255): text("x", 7), strings.Repeat("😀", 127) + "y": text("y", 8)}
}
