package voltest

import (
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
)

// SparseFile is a new file of size bytes without data. A file system that has
// no files of that size skips the test.
func SparseFile(t testing.TB, size int64) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "image")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(size); err != nil {
		needs.Lacks(t, "no file of %s: %v", vol.SizeText(size), err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// WriteImage makes a sparse image of the plan, by way of a file device: what it
// is told to zero stays a hole.
func WriteImage(t testing.TB, size int64, p *vol.Plan) string {
	t.Helper()
	name := SparseFile(t, size)
	d, err := dev.OpenFile(name, dev.OpenOptions{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// Copy writes all that from holds, and leaves its holes, to a file or device that had
// nothing.
func Copy(t testing.TB, to io.WriterAt, from dev.Device) {
	t.Helper()
	copyHead(t, to, from, from.Size())
}

// copyHead is Copy of the first size bytes.
func copyHead(t testing.TB, to io.WriterAt, from dev.Device, size int64) {
	t.Helper()
	for r := from.NextData(0); !r.Empty() && r.Off < size; r = from.NextData(r.End()) {
		b := make([]byte, r.Intersect(dev.Range{Len: size}).Len)
		if _, err := from.ReadAt(b, r.Off); err != nil {
			t.Fatal(err)
		}
		if _, err := to.WriteAt(b, r.Off); err != nil {
			t.Fatal(err)
		}
	}
}

// Copied is a copy of d in memory.
func Copied(t testing.TB, d dev.Device) *dev.Mem {
	t.Helper()
	return Resized(t, d, d.Size())
}

// Resized is what d holds on a device in memory of another size.
func Resized(t testing.TB, d dev.Device, size int64) *dev.Mem {
	t.Helper()
	m := dev.NewMem(size)
	copyHead(t, m, d, size)
	return m
}

// Saved is a sparse file with what d holds.
func Saved(t testing.TB, d dev.Device) string {
	t.Helper()
	name := SparseFile(t, d.Size())
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	Copy(t, f, d)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// HashOf is a checksum of what d holds. Holes are zeros.
func HashOf(t testing.TB, d dev.Device) uint64 {
	t.Helper()
	table, sum := crc64.MakeTable(crc64.ECMA), uint64(0)
	b := make([]byte, 1<<20)
	for r := d.NextData(0); !r.Empty(); {
		off := r.Off / int64(len(b)) * int64(len(b))
		p := b[:min(int64(len(b)), d.Size()-off)]
		if _, err := d.ReadAt(p, off); err != nil {
			t.Fatal(err)
		}
		if !dev.AllZero(p) {
			sum = crc64.Update(sum, table, binary.LittleEndian.AppendUint64(nil, uint64(off)))
			sum = crc64.Update(sum, table, p)
		}
		r = d.NextData(off + int64(len(p)))
	}
	return sum
}

// Occupied is how many bytes a file takes on the disk.
func Occupied(t testing.TB, name string) int64 {
	t.Helper()
	out, err := exec.Command(Peer(t, "du"), "-k", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	var kib int64
	if _, err := fmt.Sscan(string(out), &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
