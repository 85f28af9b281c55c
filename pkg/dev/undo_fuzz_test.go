package dev_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
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
		if binary.LittleEndian.Uint32(b[at+16:]) != 3 { // of a guard it is that of the image
			binary.LittleEndian.PutUint32(b[at+20:], crc32.Checksum(b[at+32:at+32+n], table))
		}
		sums := sumsLen(b[at:], len(b)-at-32-n)
		binary.LittleEndian.PutUint32(b[at+24:], crc32.Checksum(b[at+32+n:at+32+n+sums], table))
		binary.LittleEndian.PutUint32(b[at+28:], crc32.Checksum(b[at:at+28], table))
		sum = crc32.Update(sum, table, b[at:at+28])
		at += 32 + n + sums
	}
	binary.LittleEndian.PutUint32(b[40:], sum)
	binary.LittleEndian.PutUint32(b[508:], crc32.Checksum(b[:508], table))
	if b[512] != 0 {
		copy(b[520:524], b[508:512])
		binary.LittleEndian.PutUint32(b[524:], crc32.Checksum(b[512:524], table))
	}
	return b
}

// record is one of a log made by hand, its checksums missing.
// sumsLen is how many bytes of checksums the record at b has, at most left.
func sumsLen(b []byte, left int) int {
	n := binary.LittleEndian.Uint64(b[8:])
	switch {
	case binary.LittleEndian.Uint32(b[16:]) == 3:
		return 0
	case n > 1<<40:
		return left
	}
	return int(min((n+511)/512*4, uint64(left)))
}

// seen makes the checksums of a record of zeros those of what the image holds.
func seen(r []byte, image []byte) []byte {
	at, n := binary.LittleEndian.Uint64(r), binary.LittleEndian.Uint64(r[8:])
	sums := r[len(r)-int((n+511)/512*4):]
	for ; n > 0; sums = sums[4:] {
		step := min(n, 512)
		binary.LittleEndian.PutUint32(sums, crc32.Checksum(image[at:at+step], crc32.MakeTable(crc32.Castagnoli)))
		at, n = at+step, n-step
	}
	return r
}

func record(off, n int64, kind uint32, payload int) []byte {
	b := make([]byte, 32+payload)
	if n > 0 && n < 1<<20 && kind != 3 {
		b = append(b, make([]byte, (n+511)/512*4)...)
	}
	binary.LittleEndian.PutUint64(b[0:], uint64(off))
	binary.LittleEndian.PutUint64(b[8:], uint64(n))
	binary.LittleEndian.PutUint32(b[16:], kind)
	return b
}

// TestUndoHostile has logs whose checksums are right, but that promise what
// they do not hold, or would write where they must not.
func TestUndoHostile(t *testing.T) {
	image := speckled(100_000, 7)
	tests := []struct {
		name    string
		records [][]byte
		spoil   func(b []byte) []byte
		want    dev.UndoState
	}{
		{"good", [][]byte{seen(record(80_000, 100, 1, 100), image.b), seen(record(80_100, 19_900, 2, 0), image.b)}, nil, dev.UndoArmed},
		{"empty", nil, nil, dev.UndoArmed},
		{"behind the end", [][]byte{record(80_000, 20_001, 2, 0)}, nil, dev.UndoDamaged},
		{"negative offset", [][]byte{record(-1, 10, 2, 0)}, nil, dev.UndoDamaged},
		{"overflow", [][]byte{record(1<<62, 1<<62, 2, 0)}, nil, dev.UndoDamaged},
		{"no length", [][]byte{record(80_000, 0, 2, 0)}, nil, dev.UndoDamaged},
		{"kind", [][]byte{record(80_000, 10, 4, 0)}, nil, dev.UndoDamaged},
		{"overlap", [][]byte{record(80_000, 100, 2, 0), record(80_099, 1, 2, 0)}, nil, dev.UndoDamaged},
		{"order", [][]byte{record(90_000, 100, 2, 0), record(80_000, 1, 2, 0)}, nil, dev.UndoDamaged},
		{"guard", [][]byte{record(80_000, 100, 2, 0), record(80_000, 100, 3, 0), record(0, 1, 3, 0)}, nil, dev.UndoDamaged},
		{"data behind a guard", [][]byte{record(70_000, 100, 3, 0), record(80_000, 100, 2, 0)}, nil, dev.UndoDamaged},
		{"guard behind the end", [][]byte{record(99_999, 2, 3, 0)}, nil, dev.UndoDamaged},
		{"guard with more", [][]byte{record(90_000, 100, 3, 0), make([]byte, 4)}, func(b []byte) []byte { b[24] = 1; return b }, dev.UndoDamaged},
		{"huge guard", [][]byte{record(0, 1<<40, 3, 0)}, nil, dev.UndoDamaged},
		{"violated guard", [][]byte{record(0, 90_000, 3, 0)}, nil, dev.UndoStale},
		{"huge payload", [][]byte{record(0, 90_000, 1, 100)}, nil, dev.UndoDamaged},
		{"rest", [][]byte{record(80_000, 100, 2, 0), make([]byte, 7)}, func(b []byte) []byte { b[24] = 1; return b }, dev.UndoDamaged},
		{"fewer records", [][]byte{record(80_000, 100, 2, 0)}, func(b []byte) []byte { b[24] = 0; return b }, dev.UndoDamaged},
		{"more records", [][]byte{record(80_000, 100, 2, 0)}, func(b []byte) []byte { b[24] = 2; return b }, dev.UndoDamaged},
		{"very many records", nil, func(b []byte) []byte { b[30] = 1; return b }, dev.UndoDamaged},
		{"longer", nil, func(b []byte) []byte { b[34] = 1; return b }, dev.UndoDamaged},
		{"negative length", nil, func(b []byte) []byte { b[39] = 0x80; return b }, dev.UndoDamaged},
		{"label", nil, func(b []byte) []byte { b[13] = 2; return b }, dev.UndoDamaged},
		{"longer file", nil, func(b []byte) []byte { return append(b, 1, 2, 3) }, dev.UndoArmed},
		{"larger image", nil, func(b []byte) []byte { b[22] = 1; return b }, dev.UndoForeign},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := make([]byte, 4096)
			copy(b, "FATKITUN\x02")
			for _, r := range tt.records {
				b = append(b, r...)
			}
			binary.LittleEndian.PutUint64(b[16:], uint64(image.Size()))
			binary.LittleEndian.PutUint64(b[24:], uint64(len(tt.records)))
			binary.LittleEndian.PutUint64(b[32:], uint64(len(b)))
			sum := sha256.Sum256(image.b[:64<<10])
			copy(b[48:], sum[:])
			if tt.spoil != nil {
				b = tt.spoil(b)
			}
			b = mend(b)
			w := devtest.NewWorld(image)
			lf, err := w.Journal().Create()
			must(t, err)
			_, err = lf.WriteAt(b, 0)
			must(t, err)
			info, err := dev.ApplyUndo(context.Background(), w.Journal(), w.Device())
			if info.State != tt.want || !errors.Is(err, tt.want.Err()) {
				t.Errorf("%+v, %v, want %v", info, err, tt.want)
			}
			if d, err := devtest.Diff(w.Device(), image); err != nil || d.Len > 0 && info.State.Err() != nil {
				t.Errorf("the image has changed at %v (%v)", d, err)
			}
		})
	}
}

// TestUndoForeignRecord has a record of another log in the place of one.
func TestUndoForeignRecord(t *testing.T) {
	w := cutMidway(t)
	b := logOf(t, w)
	other := bytes.Clone(b)
	other[4096]++ // one byte further
	other = mend(other)
	copy(b[4096:4096+32], other[4096:])
	lf, err := w.Journal().Open()
	must(t, err)
	_, err = lf.WriteAt(b, 0)
	must(t, err)
	if info, err := dev.InspectUndo(context.Background(), w.Journal(), w.Device()); err != nil || info.State != dev.UndoDamaged {
		t.Errorf("%+v, %v", info, err)
	}
}

// FuzzUndoLog inspects and applies any bytes as a log: no panic, no memory
// that the log only claims to need, and no change of the image unless the log
// is good.
func FuzzUndoLog(f *testing.F) {
	image := &ram{b: bytes.Repeat([]byte("old"), 3000)} // small, for small logs: the fuzzer is slow with large ones
	for _, keep := range []bool{false, true} {
		w := devtest.NewWorld(image)
		txn := dev.Begin(w.Device())
		must(f, write(txn, 0, 1), write(txn, 8192, 808))
		must(f, commitWith(txn, dev.CommitOptions{Undo: w.Journal(), Keep: true, Guard: []dev.Range{{Off: 100, Len: 8500}}}))
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
		inspected, err := dev.InspectUndo(context.Background(), w.Journal(), w.Device())
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
