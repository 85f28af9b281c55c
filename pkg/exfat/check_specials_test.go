package exfat

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestHugeClaim: a contiguous file whose length was hit claims what belongs to
// others, as the first in the root. Whatever speaks for the others, the bitmap,
// checksums or that they are several: they keep what they have.
func TestHugeClaim(t *testing.T) {
	claim := func(redo bool, n func(l *lab) uint64) func(l *lab) {
		return func(l *lab) {
			change := l.edit
			if redo {
				change = l.redo
			}
			change("/HELLO.TXT", lengths(n(l)*uint64(l.cluster), n(l)*uint64(l.cluster)))
		}
	}
	all := func(l *lab) uint64 { return uint64(l.last() - l.cells("/HELLO.TXT")[0] + 1) }
	upTo := func(path string) func(l *lab) uint64 {
		return func(l *lab) uint64 { return uint64(l.node(path).start - l.cells("/HELLO.TXT")[0] + 1) }
	}
	for name, hit := range map[string]func(l *lab){
		"to the end":          claim(true, all),
		"beyond the end":      claim(true, func(*lab) uint64 { return 1 << 40 }),
		"unsealed":            claim(false, all),
		"no cluster is free":  func(l *lab) { l.fill(); claim(true, all)(l) },
		"none free, unsealed": func(l *lab) { l.fill(); claim(false, all)(l) },
		"over one file": func(l *lab) {
			l.fill()
			claim(true, upTo("/ONE.BIN"))(l)
		},
		"over one directory": func(l *lab) {
			l.fill()
			claim(true, upTo("/SUB"))(l)
		},
	} {
		for _, kind := range strings.Fields(allKinds) {
			t.Run(name+" "+kind, func(t *testing.T) {
				l := newLab(t, kind)
				hit(l)
				fsckAll(t, l.m)
				l.compare(t, l.files(), []string{"/HELLO.TXT"})
			})
		}
	}
}

// fill marks all clusters as used.
func (l *lab) fill() {
	for c := uint32(2); c <= l.last(); c++ {
		l.bit(c, true)
	}
}

// TestAnyBit flips each bit of an entry set, one at a time: no other file is
// harmed, and what the file, or all in the directory, holds is there after the
// repair, by whatever name.
func TestAnyBit(t *testing.T) {
	l := newLab(t, "512")
	for _, path := range []string{"/HELLO.TXT", "/BIG.BIN", "/SUB", "/SUB/V.DAT", "/MANY"} {
		t.Run(path, func(t *testing.T) {
			n := l.node(path)
			for bit := 0; bit < len(n.slots)*256; bit++ {
				if bit%5 > 0 && (bit/256 != 1 || bit%256 < 64 || testing.Short()) {
					continue // what matters most are the lengths and the first cluster
				}
				c := l.clone(t)
				off := n.slots[bit/256] + int64(bit%256/8)
				c.put(off, c.get(off)^1<<(bit%8))
				tx := dev.Begin(c.m)
				res := fsck(t, tx, voltest.Always)
				if res.Unproven != nil {
					t.Errorf("bit %d: %v", bit, res.Unproven)
				}
				commit(t, tx)
				if lost := c.lostData(t, path); lost != "" {
					t.Errorf("bit %d of byte %d of slot %d: %s is lost", bit%8, bit%256/8, bit/256, lost)
					report(t, res)
				}
			}
		})
	}
}

// lostData is a file whose contents are nowhere any more. In the set or
// directory at path the names may have changed.
func (l *lab) lostData(t *testing.T, path string) string {
	t.Helper()
	got := l.files()
	have := map[string]bool{}
	for _, b := range got {
		have[b] = true
	}
	for p, b := range l.known {
		switch {
		case b == "": // empty, or a directory
		case strings.HasPrefix(p, path):
			if !have[b] {
				return p
			}
		case got[p] != b:
			return p
		}
	}
	return ""
}

// TestDCIM is what a camera left when its card was pulled out during a write:
// clusters of files marked as free, empty files that have a cluster, a dirty
// volume. Nothing of it costs anything.
func TestDCIM(t *testing.T) {
	l := newLab(t, "32k")
	for _, path := range []string{"/BIG.BIN", "/HELLO.TXT", long, "/MANY/C.DAT"} {
		for _, c := range l.cells(path)[1:] {
			l.bit(c, false)
		}
	}
	for i := range 3 {
		set := newSetOf(fmt.Sprintf("/MANY/E%d", i), 0x20, noFat, []uint32{l.spare(i)}, 0, 0)
		l.append(l.node("/SUB"), set)
		l.known[fmt.Sprintf("/SUB/E%d", i)] = ""
	}
	l.put(106, 2)
	res := fsckAll(t, l.m)
	for _, o := range res.Outcomes {
		if o.Repaired != nil && o.Repaired.Loss != vol.LossNone {
			t.Errorf("%s", line(o))
		}
	}
	l.compare(t, l.files(), nil)
	peerSilent(t, l.forPeer(t).m)
}

// TestDirtyStays: the mark that asks for a check goes with the last error, and not
// before.
func TestDirtyStays(t *testing.T) {
	l := newLab(t, "512")
	l.put(106, 2)
	l.setFAT(l.cells("/BIG.BIN")[8], 0)
	l.edit("/HELLO.TXT", func(b []byte) { b[2] ^= 1 })
	tx := dev.Begin(l.m)
	fsck(t, tx, func(f *vol.Finding) int {
		if f.Slug == "chain-broken" {
			return -1
		}
		return 0
	})
	commit(t, tx)
	if l.get(106) != 2 {
		t.Errorf("flags %#x with an error left", l.get(106))
	}
	fsckAll(t, l.m)
	if l.get(106) != 0 {
		t.Errorf("flags %#x after the last repair", l.get(106))
	}
}

// TestLargeOrphans: runs of 4 GiB and more become files of the right size.
func TestLargeOrphans(t *testing.T) {
	m := formatted(t, 16<<30, 128<<10)
	r, err := newReader(m)
	must(t, err)
	l := &lab{reader: r, t: t, m: m}
	sizes := []uint64{4 << 30, 5 << 30, 128 << 10}
	c := uint32(4096)
	for _, n := range sizes {
		run := uint32(n >> 17)
		for range run {
			l.bit(c, true)
			c++
		}
		c += 9
	}
	tx := dev.Begin(m)
	res := fsck(t, tx, choose("lost-clusters", fixRescue))
	if res.Unproven != nil {
		t.Fatal(res.Unproven)
	}
	commit(t, tx)
	for i, n := range sizes {
		f, ok := l.find(fmt.Sprintf("/FOUND.000/FILE%04d.CHK", i))
		if !ok || f.length != n || f.valid != n || !f.noFat() {
			t.Errorf("file %d: %+v, should have %d bytes", i, f, n)
		}
	}
	sound(t, m)
	fsckClean(t, m)
}

// TestFullVolumeRescue: where there is no room for a directory nothing is
// changed, and the volume is not said to be mended.
func TestFullVolumeRescue(t *testing.T) {
	l := newLab(t, "512")
	l.fill()
	before := voltest.HashOf(t, l.m)
	tx := dev.Begin(l.m)
	res := fsck(t, tx, func(f *vol.Finding) int {
		if f.Slug != "lost-clusters" {
			return -1
		}
		return 1
	})
	if res.Repaired || res.Unproven != nil || !res.Left(vol.SevError) {
		t.Errorf("repaired %v, unproven %v", res.Repaired, res.Unproven)
	}
	commit(t, tx)
	if voltest.HashOf(t, l.m) != before {
		t.Error("something was changed")
	}
}

// TestFATBeyond4GiB: a FAT entry is written where it is, not 4 GiB before.
func TestFATBeyond4GiB(t *testing.T) {
	const shift = 4<<30 + 1<<20
	old := newLab(t, "512")
	m := dev.NewMem(old.m.Size() + shift)
	for r := old.m.NextData(0); !r.Empty(); r = old.m.NextData(r.End()) {
		for off := r.Off; off < r.End(); off += 512 {
			to := off
			if off >= old.fat0 {
				to += shift
			}
			_, err := m.WriteAt(old.read(off, 512), to)
			must(t, err)
		}
	}
	for _, base := range []int64{0, 12 * 512} {
		patched(t, m, base, 512, func(b []byte) {
			e := bootSector(b)
			e.put32(offFatOffset, e.u32(offFatOffset)+shift/512)
			e.put32(offHeapOffset, e.u32(offHeapOffset)+shift/512)
			put64(b[offVolumeLength:], e.u64(offVolumeLength)+shift/512)
		})
	}
	resealed(t, m, 512)
	r, err := newReader(m)
	must(t, err)
	l := &lab{reader: r, t: t, kind: "512", m: m, known: old.known}
	cs := l.cells("/BIG.BIN")
	l.setFAT(cs[8], 0)
	l.setFAT(cs[2], 0)
	fsckAll(t, m)
	l.compare(t, l.files(), nil)
	if d := m.NextData(64 << 10); d.Off < 4<<30 {
		t.Errorf("something was written at %d", d.Off)
	}
}

// TestCaseTwins: equal names are found in time that is linear in the number of
// names, whatever their hashes.
func TestCaseTwins(t *testing.T) {
	const n, twins = 50_000, 100
	m := formatted(t, 64<<20, 4096)
	r, err := newReader(m)
	must(t, err)
	l := &lab{reader: r, t: t, m: m, next: 100}
	var b []byte
	for i := range n {
		b = append(b, newSet15(fmt.Sprintf("IMG_%06d.JPG", i))...)
		if i%(n/twins) == 0 {
			b = append(b, newSet15(fmt.Sprintf("img_%06d.jpg", i))...)
		}
	}
	cs := l.run(int(l.need(uint64(len(b)))))
	for _, c := range cs {
		l.bit(c, true)
	}
	l.put(l.offset(cs[0]), b...)
	size := uint64(int64(len(cs)) * l.cluster)
	l.append(l.rootNode(), newSetOf("/DCIM", 0x10, noFat, cs, size, size))
	start := time.Now()
	res := fsck(t, m, nil)
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
	found := 0
	for _, o := range res.Outcomes {
		if o.Slug == "name-twice" {
			found++
		}
	}
	if found != twins || res.Stats.Files != n+twins {
		t.Errorf("%d twins among %d files", found, res.Stats.Files)
	}
	fsckAll(t, m)
}

// newSet15 is the set of an empty file with a name of ASCII, quickly.
func newSet15(name string) []byte {
	b := make([]byte, 96)
	b[0], b[1], b[4] = 0x85, 2, 0x20
	for _, o := range []int{8, 12, 16} {
		put32(b[o:], 40<<25|5<<21|17<<16)
	}
	b[32], b[33], b[35], b[64] = 0xC0, 1, byte(len(name)), 0xC1
	hash := uint16(0)
	for i := range name {
		b[66+2*i] = name[i]
		u := uint16(strings.ToUpper(name[i : i+1])[0])
		hash = hash<<15 + hash>>1 + u
		hash = hash<<15 + hash>>1
	}
	b[36], b[37] = byte(hash), byte(hash>>8)
	return summed(b)
}

// TestHostile: volumes made to keep a check busy do not: thousands of files, all
// of which lead into one loop through all clusters, by the FAT or as one run,
// with or without the right checksum.
func TestHostile(t *testing.T) {
	const files = 1500
	m := formatted(t, 1<<30, 4096)
	r, err := newReader(m)
	must(t, err)
	base := &lab{reader: r, t: t, m: m, next: 100}
	dir := base.run(int(base.need(files * 96)))
	from := base.next
	fat := make([]byte, 0, 4*r.n)
	for c := from; c <= r.last(); c++ {
		v := c + 1
		if c == r.last() {
			v = from
		}
		fat = append(fat, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	base.put(r.link(from), fat...)
	base.put(base.bitPlace(98)&^7, bytes.Repeat([]byte{0xFF}, int(r.n/8-98/8-8))...)
	size := uint64(int64(len(dir)) * base.cluster)
	base.append(base.rootNode(), newSetOf("/D", 0x10, noFat, dir, size, size))
	for name, set := range map[string]func(i int, b []byte){
		"chains of 2^62 bytes": func(_ int, b []byte) { lengths(1<<62, 1<<62)(b) },
		"chains of all":        func(_ int, b []byte) { n := uint64(r.last()-from+1) * 4096; lengths(n, n)(b) },
		"chains, unsealed":     func(_ int, b []byte) { n := uint64(r.last()-from+1) * 4096; lengths(n, n)(b); b[8] ^= 4 },
		"runs":                 func(i int, b []byte) { b[33] |= 2; n := uint64(r.last()-from-uint32(i)+1) * 4096; lengths(n, n)(b) },
		"runs, unsealed":       func(i int, b []byte) { b[33] |= 2; lengths(1<<28, 1<<28)(b); b[8] ^= 4 },
		"one cluster each":     func(_ int, b []byte) { lengths(4096, 4096)(b) },
		"all the same":         func(_ int, b []byte) { b[33] |= 2; lengths(8192, 8192)(b); put32(b[52:], from) },
		"directories":          func(_ int, b []byte) { b[4] = 0x10; lengths(4096, 4096)(b) },
	} {
		t.Run(name, func(t *testing.T) {
			l := base.clone(t)
			var all []byte
			for i := range files {
				b := newSet15(fmt.Sprintf("IMG_%06d.JPG", i))
				put32(b[52:], from+uint32(i))
				set(i, b)
				if b[8]&4 == 0 {
					b = summed(b)
				}
				all = append(all, b...)
			}
			l.put(l.offset(dir[0]), all...)
			start := time.Now()
			tx := dev.Begin(l.m)
			res := fsck(t, tx, voltest.Always)
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
			if res.Unproven != nil {
				t.Error(res.Unproven)
			}
		})
	}
}
