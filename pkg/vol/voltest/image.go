package voltest

import (
	"fmt"
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
