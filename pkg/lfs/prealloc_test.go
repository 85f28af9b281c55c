package lfs

import (
	"context"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// changed opens a volume, changes it, and writes that.
func changed(t testing.TB, d dev.Device, fn func(ctx context.Context, v vol.Volume) error) error {
	t.Helper()
	txn := dev.Begin(d)
	v, err := open(t.Context(), txn, vol.OpenOptions{Raw: d, Now: 1700000001})
	if err == nil {
		err = fn(t.Context(), v)
	}
	if err == nil {
		_, err = txn.Commit(context.Background(), dev.CommitOptions{})
	}
	return err
}

// TestPreallocHoles fills the holes of files of all shapes.
func TestPreallocHoles(t *testing.T) {
	l := newLab(t, labFeatures)
	per := int64(l.g.per().nodeSlots())
	far := (int64(l.g.per().inodeSlots()) + 2*per + 2*per*per + per*per) * l.g.BlockSize
	err := changed(t, l.d, func(ctx context.Context, v vol.Volume) error {
		_, err := v.Preallocate(ctx, vol.PreallocRequest{FillZero: true, Files: []vol.PreallocFile{
			{Path: "plain", Offset: 4096, Length: 100_000}, {Path: "inline", Length: 100}, {Path: "empty", Offset: 1 << 20, Length: 5 << 20},
			{Path: "indirect", Length: 10 << 20}, {Path: "double", Offset: far - 50_000, Length: 100_000}, {Path: "direct", Length: 1},
			{Path: "dir/inner", Length: 8192},
		}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if res := checked(t, l.d); len(slugs(res)) > 0 {
		t.Errorf("found %q", found(res))
	}
}
