package fat

import (
	"bytes"
	"context"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestBridge frees one cluster of a file, at the start and in the middle: the
// file is made whole again, not cut, as what lies behind fits its size.
func TestBridge(t *testing.T) {
	for name, at := range map[string]uint32{"start": 0, "middle": 7, "last but one": 18} {
		t.Run(name, func(t *testing.T) {
			d := dev.NewMem(40 << 20)
			p, err := planFormat(vol.Target{Size: d.Size()}, vol.FormatOptions{Type: "fat32"})
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			if _, err := p.Apply(ctx, d); err != nil {
				t.Fatal(err)
			}
			txn := dev.Begin(d)
			v, err := open(ctx, txn, vol.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			size := int64(20*p.ClusterSize - 1)
			res, err := v.Preallocate(ctx, vol.PreallocRequest{Create: true, Files: []vol.PreallocFile{{Path: "F.BIN", Length: size}}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := txn.Commit(ctx, dev.CommitOptions{}); err != nil {
				t.Fatal(err)
			}
			e := res.Files[0].Extents[0]
			want := bytes.Repeat([]byte("contents"), int(e.Length/8))
			if _, err := d.WriteAt(want, e.Off); err != nil {
				t.Fatal(err)
			}
			for k := range 2 {
				if err := pokeFAT(d, k, e.Start+at, entryFree); err != nil {
					t.Fatal(err)
				}
			}
			r, err := vol.Fsck(ctx, d, Driver(), vol.CheckOptions{}, voltest.Always, nil)
			if err != nil || r.Unproven != nil || r.Left(vol.SevWarning) {
				t.Fatalf("repair: %v, %+v", err, r)
			}
			v, err = open(ctx, dev.Begin(d), vol.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			again, err := v.Preallocate(ctx, vol.PreallocRequest{Files: []vol.PreallocFile{{Path: "F.BIN", Length: 1}}})
			if err != nil || again.Files[0].Size != size || len(again.Files[0].Extents) != 1 {
				t.Errorf("after the repair: %v, %+v", err, again)
			}
		})
	}
}
