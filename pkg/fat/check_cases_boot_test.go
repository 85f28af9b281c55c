package fat

import (
	"bytes"

	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// Reasons why fsck.fat does not judge a repaired volume as we do.
const (
	peerNoBackup = "it asks for a backup boot sector where the boot sector says that there is none"
	peerLabel    = "it takes a label in the boot sector alone for wrong"
	peerFew      = "it has a word to say on FAT32 with few clusters"
)

// bootDamages are those of the boot sector that can be mended.
func bootDamages() []damage {
	return []damage{
		{slug: "boot-sector-lost", name: "zeros", kinds: "32 4k", hit: func(l *lab) spot {
			l.put(0, make([]byte, 512)...)
			return spot{}
		}},
		{slug: "boot-sector-lost", name: "geometry", kinds: "32 4k", hit: func(l *lab) spot {
			l.put(13, l.get(13)*2)
			return spot{}
		}},
		{slug: "boot-sector-lost", name: "geometry and the media byte of FAT 1", kinds: "32 4k", hit: func(l *lab) spot {
			l.put(13, 0xC1)
			l.put(l.place(0, 0), 0xCB)
			return spot{}
		}, also: []string{"fats-differ"}},
		{slug: "boot-sector-lost", name: "zeros, and the first sector of FAT 1", kinds: "32 4k", hit: func(l *lab) spot {
			l.put(0, make([]byte, 512)...)
			l.put(l.place(0, 0), make([]byte, 512)...)
			return spot{}
		}, also: []string{"fats-differ"}},
		{slug: "no-signature", kinds: allKinds, hit: func(l *lab) spot {
			l.boot16(510, 0)
			return spot{off: 510}
		}},
		{slug: "jump", kinds: allKinds, hit: func(l *lab) spot {
			l.boot(0, 0, 0, 0)
			return spot{}
		}},
		{slug: "ext-signature", kinds: allKinds, hit: func(l *lab) spot {
			off := l.extSignature()
			l.boot(off, 0)
			return spot{off: off}
		}},
		{slug: "ext-signature", name: "the backup is good", kinds: "32 4k", hit: func(l *lab) spot {
			off := l.extSignature()
			l.put(off, 0x39)
			return spot{off: off}
		}, also: []string{"backup-boot-differs"}, then: func(l *lab, now *reader) {
			if b := l.get(6*l.sector + l.extSignature()); b != extBootSig {
				l.t.Errorf("the backup has %#x now", b)
			}
		}},
		{slug: "media-byte", kinds: allKinds, hit: func(l *lab) spot {
			l.boot(21, 0x12)
			return spot{off: 21}
		}},
		{slug: "media-byte", name: "F3", kinds: "12", hit: func(l *lab) spot {
			l.boot(21, 0xF3)
			return spot{off: 21}
		}, then: func(l *lab, now *reader) {
			if m := l.get(21); m != 0xF8 {
				l.t.Errorf("media byte is %#x, the FAT says F8", m)
			}
		}},
		{slug: "root-entries", kinds: "32 4k", hit: func(l *lab) spot {
			l.boot16(17, 512)
			return spot{off: 17}
		}},
		{slug: "totals-disagree", kinds: "16", hit: func(l *lab) spot {
			l.put32(32, 99999)
			return spot{off: 32}
		}},
		{slug: "version", kinds: "32", hit: func(l *lab) spot {
			l.boot16(42, 1)
			return spot{off: 42}
		}},
		{slug: "active-fat", kinds: "32", hit: func(l *lab) spot {
			l.boot16(40, 0x85)
			return spot{off: 40}
		}},
		{slug: "mirror-off", kinds: "32", hit: func(l *lab) spot {
			l.boot16(40, 0x81)
			l.setIn(0, l.node("/BIG.BIN").start, 0)
			return spot{off: 40}
		}},
		{slug: "mirror-off", name: "active FAT is broken", fix: fixChoose, kinds: "32", hit: func(l *lab) spot {
			l.boot16(40, 0x81)
			l.setIn(1, l.cells("/BIG.BIN")[3], 0)
			l.setIn(0, l.node("/ONE.BIN").start, 0)
			return spot{off: 40}
		}, also: []string{"chain-free", "lost-chains", "fsinfo-free-wrong"}, gone: []string{"/BIG.BIN"}},
		{slug: "mirror-off-equal", kinds: "32", hit: func(l *lab) spot {
			l.boot16(40, 0x80)
			return spot{off: 40}
		}},
		{slug: "volume-beyond-device", kinds: "16 32", hit: func(l *lab) spot {
			l.cut(l.last() - 100)
			return spot{off: 32}
		}, gone: []string{"/LAST.BIN"}, fix: fixTruncate, also: []string{"chain-out-of-range", "start-invalid", "fsinfo-free-wrong"}},
		{slug: "volume-beyond-device", kinds: "16 32", hit: func(l *lab) spot {
			l.erase("/LAST.BIN")
			l.cut(l.last() - 100)
			return spot{off: 32}
		}, gone: []string{"/LAST.BIN"}, fix: fixShrink, also: []string{"fsinfo-free-wrong"}},
		{slug: "volume-beyond-device", name: "another type", kinds: "16", stays: true, hit: func(l *lab) spot {
			l.cut(4000)
			return spot{off: 32}
		}, gone: []string{"/"}, also: []string{"chain-out-of-range", "start-invalid"}},
		{slug: "fat-too-small", kinds: "16 32", hit: func(l *lab) spot {
			total := (l.data + l.fatLen*8/int64(l.bits)*l.cluster + 99*l.cluster) / l.sector
			l.boot16(19, 0)
			l.boot32(32, uint32(total))
			l.resize(total * l.sector)
			return spot{off: 32}
		}, also: []string{"fsinfo-free-wrong"}},
		{slug: "fat-too-small", name: "that of a FAT12", kinds: "16", stays: true, hit: func(l *lab) spot {
			l.erase("/LAST.BIN")
			l.shortFATs(15)
			l.boot(54, []byte("FAT     ")...) // the type string is no witness
			return spot{off: 32}
		}},
		{slug: "type-boundary", kinds: "16", stays: true, hit: func(l *lab) spot {
			l.erase("/LAST.BIN")
			l.boot16(19, uint16((l.data+4085*l.cluster)/l.sector))
			l.boot32(32, 0)
			return spot{}
		}},
		{slug: "few-clusters", kinds: "32", fix: fixGrow, hit: func(l *lab) spot {
			l.put(l.offset(l.last()-1), make([]byte, 2*l.cluster)...)
			l.erase("/LAST.BIN")
			l.boot32(32, uint32((l.data+65000*l.cluster)/l.sector))
			l.count()
			return spot{off: 32}
		}, gone: []string{"/LAST.BIN"}, also: []string{"fsinfo-free-wrong"}},
		{slug: "few-clusters", name: "in use", kinds: "32", stays: true, hit: func(l *lab) spot {
			l.boot32(32, uint32((l.data+65000*l.cluster)/l.sector))
			return spot{off: 32}
		}, gone: []string{"/LAST.BIN"}, also: []string{"start-invalid", "fsinfo-free-wrong"}},
		{slug: "type-string", kinds: "16 32", stays: true, hit: func(l *lab) spot {
			l.boot(map[int]int64{16: 54, 32: 82}[l.bits], []byte("FAT12   ")...)
			return spot{}
		}},
		{slug: "root-count-wrong", kinds: "12 16", name: "more", hit: func(l *lab) spot {
			l.put16(17, l.get16(17)+2048)
			return spot{off: 17}
		}},
		{slug: "root-count-wrong", kinds: "12 16", name: "a few less", hit: func(l *lab) spot {
			l.put16(17, l.get16(17)-64)
			return spot{off: 17}
		}},
		{slug: "root-count-wrong", kinds: "12 16", name: "and one directory lacks its .", hit: func(l *lab) spot {
			l.put(l.slotOf("/SUB", 0), 0xE5)
			l.put16(17, l.get16(17)+2048)
			return spot{off: 17}
		}},
		{slug: "fat-count-wrong", kinds: "12 16", name: "one", hit: func(l *lab) spot {
			l.put(16, 1)
			return spot{off: 16}
		}},
		{slug: "fat-count-wrong", kinds: "12 16", name: "three", hit: func(l *lab) spot {
			l.put(16, 3)
			return spot{off: 16}
		}},
		{slug: "fat-count-wrong", kinds: "12 16", name: "none", hit: func(l *lab) spot {
			l.put(16, 0)
			return spot{off: 16}
		}},
	}
}

// fatalDamages are boot sectors on which nothing can be done.
func fatalDamages() []damage {
	fatal := func(slug, name, kinds string, hit func(l *lab)) damage {
		return damage{slug: slug, name: name, kinds: kinds, stays: true, hit: func(l *lab) spot {
			hit(l)
			return spot{}
		}}
	}
	return []damage{
		fatal("sector-size", "", "12 16 32", func(l *lab) { l.boot16(11, 500) }),
		fatal("cluster-size", "3", "12 16 32", func(l *lab) { l.boot(13, 3) }),
		fatal("cluster-size", "0", "12 16 32", func(l *lab) { l.boot(13, 0) }),
		fatal("reserved-zero", "", "12 16 32", func(l *lab) { l.boot16(14, 0) }),
		fatal("sector-size", "backup of another volume", "16", func(l *lab) {
			old := newLab(l.t, "32")
			l.put(6*512, old.read(6*512, 512)...) // would be the backup; the FAT begins before it
			l.put(0, make([]byte, 512)...)
		}),
		fatal("fat-count", "", "12 16 32", func(l *lab) {
			l.boot(16, 9)
			l.set(0, 0x123)
		}),
		fatal("fat-size-zero", "", "16 32", func(l *lab) { l.boot16(22, 0); l.boot32(36, 0) }),
		fatal("total-sectors-zero", "", "12 16 32", func(l *lab) { l.boot16(19, 0); l.boot32(32, 0) }),
		fatal("no-root", "", "12 16", func(l *lab) { l.boot16(17, 0) }),
		fatal("no-data-area", "", "12 16 32", func(l *lab) { l.boot16(19, 3); l.boot32(32, 3) }),
		fatal("too-many-clusters", "", "16", func(l *lab) { l.boot16(19, 0); l.boot32(32, 1<<20) }),
		fatal("root-cluster", "", "32", func(l *lab) { l.boot32(44, 0) }),
		fatal("type-ambiguous", "", "16", func(l *lab) {
			l.erase("/LAST.BIN")
			l.boot16(19, uint16((l.data+4084*l.cluster)/l.sector))
			l.boot32(32, 0)
		}),
		fatal("fat-beyond-device", "", "16 32", func(l *lab) { l.resize(l.data - 512) }),
		fatal("root-unreadable", "", "32", func(l *lab) { l.set(2, 0) }),
		fatal("root-garbage", "", "12 16 32 4k", func(l *lab) {
			for _, off := range l.places("/") {
				l.put(off, noise(off, 32)...)
			}
		}),
		fatal("fat-garbage", "zeros", "12 16", func(l *lab) {
			for k := range l.fats {
				l.put(l.fat0+int64(k)*l.fatLen+8, make([]byte, l.fatLen-8)...)
			}
		}),
		fatal("fat-garbage", "noise", "12 16 32", func(l *lab) {
			for k := range l.fats {
				l.put(l.place(k, 10), noise(1, int(l.fatLen)-100)...)
			}
		}),
		fatal("layout-doubtful", "root entries, and no directory has its .", "12 16", func(l *lab) {
			for _, dir := range []string{"/SUB", "/MANY"} {
				l.put(l.slotOf(dir, 0), 0xE5)
			}
			l.put16(17, l.get16(17)+2048)
		}),
		fatal("layout-doubtful", "moved", "16", func(l *lab) { l.boot16(14, 7) }),
		fatal("layout-doubtful", "cluster size", "12 16", func(l *lab) { l.boot(13, 2) }),
	}
}

// cut ends the device behind cluster c.
func (l *lab) cut(c uint32) { l.resize(l.offset(c) + l.cluster) }

// resize makes the device shorter or longer.
func (l *lab) resize(size int64) {
	m := voltest.Resized(l.t, l.m, size)
	l.m, l.d = m, m
}

// shortFATs makes the FATs n sectors long, with reserved sectors before them, so
// that all else stays where it is.
func (l *lab) shortFATs(n int64) {
	short := n * l.sector
	fats := l.read(l.fat0, short)
	l.boot16(14, uint16((l.root-int64(l.fats)*short)/l.sector))
	l.boot16(22, uint16(n))
	l.put(l.fat0, make([]byte, l.root-l.fat0)...)
	for k := range l.fats {
		l.put(l.root-int64(k+1)*short, fats...)
	}
}

// erase removes a file as it should be done.
func (l *lab) erase(path string) {
	n := l.node(path)
	for _, c := range l.cells(path) {
		l.set(c, 0)
	}
	for _, off := range append(n.longs, n.off) {
		l.put(off, 0xE5)
	}
	delete(l.known, path)
	l.count()
}

// noise is n bytes that look like nothing.
func noise(seed int64, n int) []byte {
	return bytes.ReplaceAll(data(string(rune(seed%1000+33)), int64(n)), []byte{0}, []byte{1})
}
