package exfat

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// spots are the bytes of a lab that a check reads, one after another.
func (l *lab) spots() (out []dev.Range) {
	out = append(out, dev.Range{Len: 512}, dev.Range{Off: 11 * 512, Len: 1024}, dev.Range{Off: l.fat0, Len: 400}, dev.Range{Off: l.bitPlace(2), Len: 16})
	for _, path := range []string{"/", "/SUB", "/SUB/DEEP", "/MANY"} {
		for _, c := range l.cells(path) {
			out = append(out, dev.Range{Off: l.offset(c), Len: 512})
		}
	}
	return append(out, dev.Range{Off: l.offset(l.get32(l.special(0x82) + 20)), Len: 512})
}

// spotAt is where byte i of the spots lies.
func spotAt(rs []dev.Range, i int64) int64 {
	total := int64(0)
	for _, r := range rs {
		total += r.Len
	}
	i %= total
	for _, r := range rs {
		if i < r.Len {
			return r.Off + i
		}
		i -= r.Len
	}
	return 0
}

// edits are the bytes in which an injury changed a lab, as FuzzCheck has them.
func (l *lab) edits(rs []dev.Range, old *lab) (out []byte) {
	i := 0
	for _, r := range rs {
		a, b := old.read(r.Off, r.Len), l.read(r.Off, r.Len)
		for k := range a {
			if a[k] != b[k] && len(out) < 4*64 {
				out = binary.LittleEndian.AppendUint16(out, uint16(i))
				out = append(out, b[k])
			}
			i++
		}
	}
	return out
}

// FuzzCheck changes bytes of a small volume, given as place and value, and has
// everything look at it and repair it.
func FuzzCheck(f *testing.F) {
	l := newLab(f, "512")
	rs := l.spots()
	all := injuries()
	for i := range all {
		c := l.clone(f)
		if i%4 == 0 && all[i].labs()[0] == "512" && c.try(&all[i]) {
			f.Add(c.edits(rs, l))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := l.clone(t)
		for ; len(b) >= 3; b = b[3:] {
			c.put(spotAt(rs, int64(binary.LittleEndian.Uint16(b))), b[2])
		}
		c.survives(t)
	})
}

// survives has all that reads look at a volume, and all that repairs mend it.
func (l *lab) survives(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	drv := Driver()
	drv.Probe(l.m)
	_, _ = drv.Describe(l.m)
	_, _ = drv.MountScan(ctx, l.m, vol.ScanOptions{})
	_, _ = drv.Open(ctx, dev.Begin(l.m), vol.OpenOptions{Raw: l.m, Force: true})
	for _, decide := range []vol.Decider{voltest.Lossless, voltest.Always, choose("lost-clusters", fixRescue)} {
		tx := dev.Begin(l.m)
		l.honest(t, tx, fsck(t, tx, decide))
	}
}

// FuzzBootRegion changes bytes of the boot sector, and gives it the right
// checksum: what the fields say is all that is left to doubt.
func FuzzBootRegion(f *testing.F) {
	l := newLab(f, "512")
	for _, d := range fatalInjuries() {
		c := l.clone(f)
		if c.try(&d) {
			f.Add(c.edits([]dev.Range{{Len: 512}}, l), true)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, both bool) {
		c := l.clone(t)
		for ; len(b) >= 3; b = b[3:] {
			off := int64(binary.LittleEndian.Uint16(b)) % 512
			c.put(off, b[2])
			if both {
				c.put(12*512+off, b[2])
			}
		}
		resealed(t, c.m, 512)
		c.survives(t)
	})
}

// FuzzEntrySets puts bytes where a directory lies.
func FuzzEntrySets(f *testing.F) {
	l := newLab(f, "512")
	deep := l.offset(l.cells("/SUB/DEEP")[0])
	f.Add(l.read(deep, 1024))
	f.Add(append(newSetOf("/A", 0x20, noFat, []uint32{l.spare(0)}, 512, 512), newSetOf("/B", 0x10, 0, l.cells("/BIG.BIN"), 4608, 4608)...))
	f.Add(append(append(guidEntry(), vendorEntry(0xA5, 1, 9, 9)...), vendorEntry(0xE1, 3, l.spare(0), 700)...))
	f.Add(append(newSetOf("/LAST", 0x20, 0, nil, 0, 0), append(make([]byte, 32), newSetOf("/HIDDEN", 0x20, 0, nil, 0, 0)...)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := l.clone(t)
		page := make([]byte, 1024)
		copy(page, b)
		c.put(deep, page...)
		c.survives(t)
	})
}
