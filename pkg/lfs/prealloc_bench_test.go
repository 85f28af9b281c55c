package lfs

import (
	"fmt"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// BenchmarkPrealloc64x64M makes 64 files of 64 MiB: from opening the volume to
// the staged checkpoint, without what writing that takes.
func BenchmarkPrealloc64x64M(b *testing.B) {
	d, _ := newVolume(b, 8*gib, vol.FormatOptions{})
	r := vol.PreallocRequest{Create: true, FillZero: true}
	for i := range 64 {
		r.Files = append(r.Files, vol.PreallocFile{Path: fmt.Sprintf("f%d", i), Length: 64 << 20})
	}
	for b.Loop() {
		txn := dev.Begin(d)
		v, err := open(b.Context(), txn, vol.OpenOptions{Raw: d})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := v.Preallocate(b.Context(), r); err != nil {
			b.Fatal(err)
		}
		txn.Rollback()
	}
}

// BenchmarkCreate20000 makes 20000 files of a block in one directory.
func BenchmarkCreate20000(b *testing.B) {
	d, _ := newVolume(b, gib, vol.FormatOptions{})
	r := vol.PreallocRequest{Create: true, FillZero: true}
	for i := range 20000 {
		r.Files = append(r.Files, vol.PreallocFile{Path: fmt.Sprintf("dir/file number %d", i), Length: 4096})
	}
	for b.Loop() {
		txn := dev.Begin(d)
		v, err := open(b.Context(), txn, vol.OpenOptions{Raw: d})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := v.Preallocate(b.Context(), r); err != nil {
			b.Fatal(err)
		}
		txn.Rollback()
	}
}
