package lfs

import (
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestBlocksBeyondSize: reservations beyond the end of a file are nobody's business,
// and blocks there stay beyond it: check -y does not make old contents of the medium
// those of a file. Who asks for it has the file reach to their end.
func TestBlocksBeyondSize(t *testing.T) {
	for name, c := range map[string]struct {
		file file
		want []string
	}{
		"reserved": {file: file{pages: []uint32{0}, reserved: []uint32{1, 2, 9}, size: 100}},
		"blocks":   {file: file{pages: []uint32{0, 1, 2}, reserved: []uint32{9}, size: 100}, want: []string{"inode-size-short"}},
	} {
		m := newBuilder(t, 64<<20, vol.FormatOptions{})
		m.file(m.root, name, c.file)
		m.finish()
		txn := dev.Begin(m.d)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
		if err != nil || !slices.Equal(slugs(res), c.want) || res.Left(vol.SevWarning) {
			t.Errorf("%s: found %q, %v", name, found(res), err)
		}
		if got := treeContents(t, txn, name); len(got) != 100 {
			t.Errorf("%s: the file has %d bytes then", name, len(got))
		}
		for _, o := range res.Outcomes {
			if want := uint64(3 * m.g.BlockSize); o.Want != want {
				t.Errorf("%s: it should have %v bytes, says the check, and not %d", name, o.Want, want)
			}
		}
		txn.Rollback()
		set := func(f *vol.Finding) int {
			return slices.IndexFunc(f.Offered(), func(r vol.Repair) bool { return r.Name == fixSet })
		}
		if res, err = vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, set, nil); err != nil || res.Left(vol.SevWarning) {
			t.Errorf("%s, set: found %q, %v", name, found(res), err)
		}
		if got := treeContents(t, txn, name); len(c.want) > 0 && int64(len(got)) != 3*m.g.BlockSize {
			t.Errorf("%s, set: the file has %d bytes then", name, len(got))
		}
		txn.Rollback()
	}
}
