package lfs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// cutCases are changes for power cuts, by name.
func cutCases() map[string]func(ctx context.Context, v vol.Volume) error {
	reserve := func(r vol.PreallocRequest) func(ctx context.Context, v vol.Volume) error {
		return func(ctx context.Context, v vol.Volume) error {
			_, err := v.Preallocate(ctx, r)
			return err
		}
	}
	return map[string]func(ctx context.Context, v vol.Volume) error{
		"prealloc": reserve(vol.PreallocRequest{Create: true, Files: []vol.PreallocFile{
			{Path: "plain", Length: 1 << 20}, {Path: "inline", Length: 10_000}, {Path: "dir/a/b", Length: 8 << 20}, {Path: "double", Length: 50_000},
		}}),
		"pin": reserve(vol.PreallocRequest{Create: true, Contiguous: true, FillZero: true, Files: []vol.PreallocFile{{Path: "dir/new", Length: 3 << 20}}}),
		"put": func(ctx context.Context, v vol.Volume) error {
			s := &sourceOf{}
			s.file("plain", noise(20_000))
			s.file("inline", noise(50))
			s.dir("dir/a").Xattrs = []vol.Xattr{{Name: "user.x", Value: noise(900)}}
			s.file("dir/a/b", noise(9000)).UID = 1000
			for i := range 300 {
				s.file(fmt.Sprintf("dir/a/file %d", i), noise(i*10))
			}
			s.entries = append(s.entries, vol.Entry{Path: "dir/new", Same: 0})
			return pourInto(ctx, v, s)
		},
		"remove": func(ctx context.Context, v vol.Volume) error {
			_, err := v.Remove(ctx, vol.RemoveRequest{Paths: []string{"plain", "direct", "dir"}, Recursive: true})
			return err
		},
		"zero": func(ctx context.Context, v vol.Volume) error {
			_, err := v.ZeroRanges(ctx, vol.ZeroRequest{Files: []vol.ZeroFile{{Path: "plain", Offset: 100, Length: 9000}, {Path: "inline", Length: -1}, {Path: "direct", Offset: 4 << 20, Length: 1 << 20}, {Path: "dir/twice", Offset: 3, Length: 9}}})
			return err
		},
	}
}

// pourInto puts files on an open volume.
func pourInto(ctx context.Context, v vol.Volume, s *sourceOf) error {
	r := &vol.PutRequest{Entries: s.entries, Open: s.open, Replace: true, Parents: true}
	res, err := v.Put(ctx, r)
	if err != nil {
		return err
	}
	x := v.(*volume)
	return vol.Pour(ctx, x.d, cmp.Or(x.raw, x.d), r, res, func(int64) {})
}

// two changes are made on one volume before either is written.
func twoChanges(ctx context.Context, v vol.Volume) error {
	for _, f := range []vol.ZeroFile{{Path: "plain", Offset: 100, Length: 9000}, {Path: "plain", Offset: 8200, Length: 2}} {
		if _, err := v.ZeroRanges(ctx, vol.ZeroRequest{Files: []vol.ZeroFile{f}}); err != nil {
			return err
		}
	}
	return nil
}

// TestCutOfTwo: two changes that are written together count together, or not
// at all. That takes the undo log, as each has a checkpoint of its own.
func TestCutOfTwo(t *testing.T) {
	l := newLab(t, labFeatures)
	fillFile(t, l.d, "plain", bytes.Repeat([]byte("plain "), 16384/6))
	devtest.Matrix(t, devtest.Case{
		Image: func() dev.Device { return l.d }, Max: 40,
		Change: func(d dev.Device, j dev.Journal) error {
			txn := dev.Begin(d)
			v, err := open(context.Background(), txn, vol.OpenOptions{Raw: d, Now: 1700000001})
			if err == nil {
				err = twoChanges(context.Background(), v)
			}
			if err == nil {
				_, err = txn.Commit(context.Background(), dev.CommitOptions{Undo: j})
			}
			return err
		},
	})
}

// signature is what a volume holds, as far as the changes are concerned: the
// check finds nothing, or that, and the files are these.
func signature(t testing.TB, d dev.Device) string {
	t.Helper()
	s := ""
	for _, slug := range slugs(checked(t, d)) {
		if slug != "cp-tail" && slug != "cp-checksum" { // the other pack was being written
			s += slug
		}
	}
	for _, path := range []string{"plain", "inline", "direct", "dir/twice", "dir/a/b", "dir/new"} {
		b, err := readAll(t.Context(), d, path)
		if err != nil {
			s += "; " + err.Error()
			continue
		}
		s += textf("; %s %d %x", path, len(b), crcUpdate(1, b))
	}
	return s
}

// TestCutWithoutLog: without any undo log a power cut at any write leaves the
// volume as before or as after: what is in use is nowhere overwritten, and the
// last block of the checkpoint pack comes last.
func TestCutWithoutLog(t *testing.T) {
	for name, fn := range cutCases() {
		t.Run(name, func(t *testing.T) {
			cutWithoutLog(t, fn)
		})
	}
}

// madeWhole is a volume of which the cut left half of the block that makes the newer
// checkpoint count as check -p makes it, and any other as it is.
func madeWhole(t testing.TB, g *Geometry, d dev.Device) dev.Device {
	t.Helper()
	packs, err := readPacks(d, g)
	if err != nil {
		t.Fatal(err)
	}
	if newer, _, err := g.newerAgain(d, packs); err != nil || newer == nil {
		return d
	}
	txn := dev.Begin(d)
	t.Cleanup(func() { txn.Rollback() })
	if _, err := vol.Fsck(context.Background(), txn, Driver(), vol.CheckOptions{}, voltest.Lossless, nil); err != nil {
		t.Fatal(err)
	}
	return txn
}

func cutWithoutLog(t *testing.T, fn func(ctx context.Context, v vol.Volume) error) {
	l := newLab(t, labFeatures)
	fillFile(t, l.d, "plain", bytes.Repeat([]byte("plain "), 16384/6))
	before := signature(t, l.d)
	after := ""
	var states [3]int
	run := func(d dev.Device, _ dev.Journal) error {
		ctx := context.Background()
		txn := dev.Begin(d)
		v, err := open(ctx, txn, vol.OpenOptions{Raw: d, Now: 1700000001})
		if err == nil {
			err = fn(ctx, v)
		}
		if err == nil {
			_, err = txn.Commit(ctx, dev.CommitOptions{})
		}
		return err
	}
	w := devtest.NewWorld(l.d)
	if err := run(w.Device(), nil); err != nil {
		t.Fatal(err)
	}
	after = signature(t, w.Device())
	if after == before || !strings.HasPrefix(after, ";") || !strings.HasPrefix(before, ";") {
		t.Fatalf("before %q, after %q", before, after)
	}
	devtest.Matrix(t, devtest.Case{
		Image: func() dev.Device { return l.d }, Change: run, Max: 24,
		Verify: func(t testing.TB, step string, got dev.Device) {
			whole := madeWhole(t, l.g, got)
			s := signature(t, whole)
			if whole != got && s != after {
				t.Errorf("%s: made whole it is not after: %s", step, s)
			}
			switch s {
			case before:
				states[0]++
			case after:
				states[1]++
			default:
				states[2]++
				t.Errorf("%s: neither before nor after: %s", step, s)
			}
		},
	})
	if states[0] == 0 || states[1] == 0 {
		t.Errorf("the cuts left before, after and neither %v times", states)
	}
}

// TestPutFaults: whatever fails while files are put or removed, the volume is as
// before, or the log says that undoing is called for.
func TestPutFaults(t *testing.T) {
	for _, name := range []string{"put", "remove"} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, labFeatures)
			fillFile(t, l.d, "plain", bytes.Repeat([]byte("plain "), 16384/6))
			fn := cutCases()[name]
			before, after := signature(t, l.d), ""
			c := devtest.Case{
				Image: func() dev.Device { return l.d }, Max: 40,
				Change: func(d dev.Device, j dev.Journal) error {
					txn := dev.Begin(d)
					defer txn.Rollback()
					v, err := open(t.Context(), txn, vol.OpenOptions{Raw: d, Now: 1700000001})
					if err == nil {
						err = fn(t.Context(), v)
					}
					if err == nil {
						_, err = txn.Commit(context.Background(), dev.CommitOptions{Undo: j})
					}
					return err
				},
				Verify: func(t testing.TB, step string, got dev.Device) {
					s := signature(t, got)
					if after == "" && s != before {
						after = s
					}
					if s != before && s != after {
						t.Errorf("%s: neither before nor after: %s", step, s)
					}
				},
			}
			w := devtest.NewWorld(l.d)
			if err := c.Change(w.Device(), w.Journal()); err != nil {
				t.Fatal(err)
			}
			after = signature(t, w.Device())
			devtest.FaultMatrix(t, c)
			c.Max = 30
			devtest.Matrix(t, c)
		})
	}
}

// TestPutOften makes one change after the other before any is written: what one
// gave back the next does not write to, as contents go below the transaction.
func TestPutOften(t *testing.T) {
	d := emptyVolume(t, 64<<20, "")
	first := &sourceOf{}
	for i := range 400 {
		first.file(fmt.Sprint(i), noise(9000+i))
	}
	if _, err := first.put(t, d, vol.PutRequest{}); err != nil {
		t.Fatal(err)
	}
	was := sumOf(t, d)
	second := &sourceOf{}
	for i := range 400 {
		second.file(fmt.Sprintf("new %d", i), noise(8000+i))
	}
	txn := dev.Begin(d)
	v, err := open(t.Context(), txn, vol.OpenOptions{Raw: d, Now: 1700000001})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range first.entries[:300] {
		names = append(names, first.entries[i].Path)
	}
	if _, err := v.Remove(t.Context(), vol.RemoveRequest{Paths: names}); err != nil {
		t.Fatal(err)
	}
	if err := pourInto(t.Context(), v, second); err != nil {
		t.Fatal(err)
	}
	if sumOf(t, d) != was {
		t.Error("the volume changed before the changes were written")
	}
	if _, err := txn.Commit(t.Context(), dev.CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	clean(t, d)
	second.verify(t, d)
}
