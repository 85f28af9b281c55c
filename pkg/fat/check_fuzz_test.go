package fat

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// settles runs -y on what is staged in tx, and a check of the result: the
// repairs come to an end in one run, and what they say of it is true.
func settles(t *testing.T, tx *dev.Txn) {
	t.Helper()
	(&lab{}).honest(t, tx, fsck(t, tx, voltest.Always))
}

// FuzzBootSector gives the volume another first sector.
func FuzzBootSector(f *testing.F) {
	labs := []*lab{newLab(f, "12"), newLab(f, "16"), newLab(f, "32")}
	for _, l := range labs {
		f.Add(l.read(0, 512))
		l.boot(0, make([]byte, 512)...) // no backup that would hide what is fuzzed
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 512 {
			return
		}
		b = append(b, make([]byte, 512-len(b))...)
		if g, fault := parseGeometry(b); fault == nil {
			if g.Clusters < 1 || g.entryBytes() > g.FatBytes() || g.DataOff() <= g.FatOff(g.Fats-1) || !g.Valid(g.Last()) || g.Valid(g.Last()+1) {
				t.Errorf("%+v", g)
			}
		}
		for _, l := range labs {
			tx := dev.Begin(l.m)
			put(t, tx, b, 0)
			lookAt(t, tx)
			settles(t, tx)
			tx.Rollback()
		}
	})
}

func put(t *testing.T, d dev.Device, b []byte, off int64) {
	t.Helper()
	if _, err := d.WriteAt(b, off); err != nil {
		t.Fatal(err)
	}
}

// lookAt is all that reads a volume.
func lookAt(t *testing.T, d dev.Device) {
	t.Helper()
	ctx := context.Background()
	probe(d)
	_, _ = describe(d)
	_, _ = mountScan(ctx, d, vol.ScanOptions{})
	for _, force := range []bool{false, true} {
		if v, err := open(ctx, d, vol.OpenOptions{Force: force}); err == nil {
			_, _ = v.FreeRanges(ctx, true, func(dev.Range) error { return nil })
		}
	}
}

// FuzzDirectory gives the slots of a directory: of the root, or of others.
func FuzzDirectory(f *testing.F) {
	l := newLab(f, "16")
	var dirs [][]int64
	for i, path := range []string{"/", "/SUB", "/SUB/DEEP", "/MANY"} {
		places := l.places(path)
		dirs = append(dirs, places)
		var b []byte
		for _, off := range places[:min(48, len(places))] {
			b = append(b, l.read(off, 32)...)
		}
		f.Add(byte(i), b)
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		places := dirs[int(which)%len(dirs)]
		if len(b) > min(64, len(places))*32 {
			return
		}
		tx := dev.Begin(l.m)
		for i := 0; i < len(b); i += 32 {
			put(t, tx, b[i:min(len(b), i+32)], places[i/32])
		}
		lookAt(t, tx)
		settles(t, tx)
		tx.Rollback()
	})
}

// FuzzFAT gives the first bytes of the FATs, both the same or each its own.
func FuzzFAT(f *testing.F) {
	labs := []*lab{newLab(f, "12"), newLab(f, "16"), newLab(f, "32")}
	for i, l := range labs {
		b := l.read(l.fat0, 90*int64(l.bits)/8)
		f.Add(byte(i), b, []byte(nil))
		f.Add(byte(i), b, b)
	}
	f.Fuzz(func(t *testing.T, which byte, a, b []byte) {
		l := labs[int(which)%len(labs)]
		if int64(len(a)) > min(1024, l.fatLen) || int64(len(b)) > min(1024, l.fatLen) {
			return
		}
		tx := dev.Begin(l.m)
		put(t, tx, a, l.fat0)
		if len(b) == 0 {
			b = a
		}
		put(t, tx, b, l.fat0+l.fatLen)
		lookAt(t, tx)
		settles(t, tx)
		tx.Rollback()
	})
}

// FuzzCheck changes single bytes of the metadata of a whole volume: four bytes
// of input are where, and what to.
func FuzzCheck(f *testing.F) {
	labs := []*lab{newLab(f, "12"), newLab(f, "16"), newLab(f, "32")}
	var areas [][]dev.Range
	for i, l := range labs {
		rs := []dev.Range{{Off: 0, Len: 512}, {Off: l.fat0, Len: 128}, {Off: l.fat0 + l.fatLen, Len: 128}}
		if l.bits == 32 {
			rs = append(rs, dev.Range{Off: 512, Len: 512}, dev.Range{Off: 6 * 512, Len: 1024})
		}
		for _, path := range []string{"/", "/SUB", "/SUB/DEEP", "/MANY"} {
			ps := l.places(path)
			for k := 0; k < min(48, len(ps)); k += 16 {
				rs = append(rs, dev.Range{Off: ps[k], Len: 512})
			}
		}
		areas = append(areas, rs)
		f.Add(byte(i), []byte{0, 0, 13, 3})
		f.Add(byte(i), []byte{0, 1, 30, 7, 0, 3, 26, 3})
	}
	f.Fuzz(func(t *testing.T, which byte, edits []byte) {
		i := int(which) % len(labs)
		if len(edits) > 256 {
			return
		}
		tx := dev.Begin(labs[i].m)
		for ; len(edits) >= 4; edits = edits[4:] {
			r := areas[i][int(edits[0])%len(areas[i])]
			off := int64(binary.BigEndian.Uint16(edits[1:])) % r.Len
			put(t, tx, edits[3:4], r.Off+off)
		}
		lookAt(t, tx)
		settles(t, tx)
		tx.Rollback()
	})
}
