package dev_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
)

// logOf is the bytes of the log of w.
func logOf(t testing.TB, w *devtest.World) []byte {
	t.Helper()
	lf, err := w.Journal().Open()
	must(t, err)
	size, err := lf.Size()
	must(t, err)
	b := make([]byte, size)
	if _, err := lf.ReadAt(b, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return b
}

// mend makes the checksums of header, mark and records right, as far as they
// can be found, so that fuzzing gets behind them.
func mend(b []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	if len(b) < 4096 {
		return b
	}
	b = bytes.Clone(b)
	var sum uint32
	for at := 4096; at+32 <= len(b); {
		n := 0
		if binary.LittleEndian.Uint32(b[at+16:]) == 1 {
			n = int(min(binary.LittleEndian.Uint64(b[at+8:]), uint64(len(b)-at-32)))
		}
		binary.LittleEndian.PutUint32(b[at+20:], crc32.Checksum(b[at+32:at+32+n], table))
		binary.LittleEndian.PutUint32(b[at+28:], crc32.Checksum(b[at:at+28], table))
		sum = crc32.Update(sum, table, b[at:at+32])
		at += 32 + n
	}
	binary.LittleEndian.PutUint32(b[40:], sum)
	binary.LittleEndian.PutUint32(b[508:], crc32.Checksum(b[:508], table))
	copy(b[520:524], b[508:512])
	binary.LittleEndian.PutUint32(b[524:], crc32.Checksum(b[512:524], table))
	return b
}

// FuzzUndoLog inspects and applies any bytes as a log: no panic, no memory
// that the log only claims to need, and no change of the image unless the log
// is good.
func FuzzUndoLog(f *testing.F) {
	image := speckled(100_000, 7)
	for _, keep := range []bool{false, true} {
		w := devtest.NewWorld(image)
		must(f, changes(dev.CommitOptions{Keep: true})(w.Device(), w.Journal()))
		b := logOf(f, w)
		if !keep {
			clear(b[512:1024])
		}
		f.Add(b, false)
		f.Add(b, true)
		f.Add(b[:5000], true)
	}
	f.Add([]byte{}, false)
	f.Add(make([]byte, 600), false)
	f.Fuzz(func(t *testing.T, b []byte, mended bool) {
		if mended {
			b = mend(b)
		}
		w := devtest.NewWorld(image)
		lf, err := w.Journal().Create()
		must(t, err)
		_, err = lf.WriteAt(b, 0)
		must(t, err)
		before := len(w.Ops())
		inspected, err := dev.InspectUndo(w.Journal(), w.Device())
		if err != nil || len(w.Ops()) != before {
			t.Fatalf("inspect: %v, %d operations", err, len(w.Ops())-before)
		}
		info, err := dev.ApplyUndo(context.Background(), w.Journal(), w.Device())
		if info != inspected {
			t.Fatalf("inspected %+v, applied %+v", inspected, info)
		}
		if (err == nil) != (info.State.Err() == nil) {
			t.Fatalf("state %v, error %v", info.State, err)
		}
		if err == nil && info.State != dev.UndoIncomplete {
			return
		}
		if d, err := devtest.Diff(w.Device(), image); err != nil || d.Len > 0 {
			t.Fatalf("state %v, but the image has changed at %v (%v)", info.State, d, err)
		}
	})
}
