package source

import (
	"bytes"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
)

// archiveInMemory is an archive of bytes.
type archiveInMemory struct{ *bytes.Reader }

func (archiveInMemory) Close() error { return nil }

// A sparse file is read in pieces, of which an image of a disk has hundreds of
// thousands: that takes no longer than these.
func TestManyPieces(t *testing.T) {
	const n = 200_000
	var runs []run
	for i := range int64(n) {
		runs = append(runs, run{dev.Range{Off: 2 * i, Len: i % 2}, i / 2}) // every second one is empty
	}
	m := &member{a: archiveInMemory{bytes.NewReader(bytes.Repeat([]byte("x"), n/2))}, stored: stored{size: 2 * n, runs: &runs}}
	start := time.Now()
	var p [4]byte
	for off := int64(0); off < m.size; off += 4 {
		if _, err := m.ReadAt(p[:], off); err != nil || string(p[:]) != "\x00\x00x\x00" {
			t.Fatalf("at %d: %q, %v", off, p, err)
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
