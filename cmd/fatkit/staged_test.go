package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

// TestHalfStaged: where the repairs of one of several volumes cannot all be staged,
// as the temporary file for what does not fit into memory cannot be made, nothing of
// the image is written.
func TestHalfStaged(t *testing.T) {
	const at, size = 1 << 20, 5 << 30
	path := filepath.Join(t.TempDir(), "disk.img")
	d, err := dev.OpenFile(path, dev.OpenOptions{Create: true, Size: at + 2*size})
	if err != nil {
		t.Fatal(err)
	}
	sector := make([]byte, 512)
	sector[510], sector[511] = 0x55, 0xAA
	for i := range 2 {
		e := sector[446+16*i:]
		e[4] = 0x0C // FAT32
		binary.LittleEndian.PutUint32(e[8:], uint32((at+int64(i)*size)/512))
		binary.LittleEndian.PutUint32(e[12:], size/512)
	}
	_, err = d.WriteAt(sector, 0)
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	fatkit := func(want int, args ...string) {
		t.Helper()
		var out, errw bytes.Buffer
		code := run(t.Context(), append([]string{"fatkit"}, args...), bytes.NewReader(nil), &out, &errw)
		if code != want {
			t.Fatalf("%v: exit %d, want %d\n%s%s", args, code, want, &out, &errw)
		}
	}
	for _, part := range []string{":1", ":2"} {
		fatkit(0, "format", "-t", "fat32", "-c", "512", path+part)
	}
	// The second FAT of each is another throughout, so that mirroring it takes
	// more than is kept in memory.
	d, err = dev.OpenFile(path, dev.OpenOptions{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	junk := bytes.Repeat([]byte{1, 0, 0, 0}, 1<<18)
	for i := range int64(2) {
		for off := int64(42 << 20); off < 78<<20; off += 1 << 20 {
			if _, err := d.WriteAt(junk, at+i*size+off); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := digest(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	fatkit(8, "check", "-y", path)
	d, err = dev.OpenFile(path, dev.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if digest(t, d) != before {
		t.Error("some of the repairs were written")
	}
}

// digest is one of all that is no hole.
func digest(t *testing.T, d dev.Device) [sha256.Size]byte {
	t.Helper()
	h := sha256.New()
	buf := make([]byte, 1<<20)
	for at := d.NextData(0); !at.Empty(); at = d.NextData(at.End()) {
		for off := at.Off; off < at.End(); off += int64(len(buf)) {
			p := buf[:min(int64(len(buf)), at.End()-off)]
			if _, err := d.ReadAt(p, off); err != nil {
				t.Fatal(err)
			}
			if !dev.AllZero(p) {
				h.Write(binary.LittleEndian.AppendUint64(nil, uint64(off)))
				h.Write(p)
			}
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}
