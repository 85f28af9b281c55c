package lfs

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// tryChanges makes changes to a volume, whatever is in it, and takes them back.
// All that is expected is that they come back.
func tryChanges(ctx context.Context, d dev.Device) {
	for _, fn := range []func(v vol.Volume){
		func(v vol.Volume) {
			_, _ = v.Preallocate(ctx, vol.PreallocRequest{Create: true, Files: []vol.PreallocFile{
				{Path: "plain", Length: 1 << 20}, {Path: "inline", Length: 10_000}, {Path: "dir/new/file", Length: 8 << 20}, {Path: "double", Length: 50_000},
			}})
		},
		func(v vol.Volume) {
			_, _ = v.Preallocate(ctx, vol.PreallocRequest{Create: true, Contiguous: true, FillZero: true, Files: []vol.PreallocFile{{Path: "pinned", Length: 3 << 20}, {Path: "new", Length: 1}}})
		},
		func(v vol.Volume) {
			for _, path := range []string{"plain", "inline", "direct", "indirect", "extent", "kept", "dir/twice"} {
				_, _ = v.ZeroRanges(ctx, vol.ZeroRequest{Files: []vol.ZeroFile{{Path: path, Offset: 5, Length: 10 << 20}}})
			}
		},
		func(v vol.Volume) {
			s := &sourceOf{}
			s.file("plain", noise(5000))
			s.file("dir/twice", noise(100))
			s.file("dir/new/file", noise(10))
			s.dir("dir2")
			s.file("dir2/x", nil)
			_ = pourInto(ctx, v, s)
		},
		func(v vol.Volume) {
			for _, path := range []string{"plain", "dir", "direct", "double", "compressed", "dir2", "more attributes"} {
				_, _ = v.Remove(ctx, vol.RemoveRequest{Paths: []string{path}, Recursive: true})
			}
		},
		func(v vol.Volume) { _, _ = v.FreeRanges(ctx, true, func(dev.Range) error { return nil }) },
	} {
		txn := dev.Begin(d)
		if v, err := open(ctx, txn, vol.OpenOptions{Force: true}); err == nil {
			fn(v)
		}
		txn.Rollback()
	}
}
