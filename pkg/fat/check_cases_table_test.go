package fat

import (
	"testing"
)

// infoDamages are those of the backup boot sector, of FSInfo and of the marks.
func infoDamages() []damage {
	wrong := func(l *lab, off int64, v uint16) spot {
		l.put16(off, v)
		return spot{off: off}
	}
	return []damage{
		{slug: "backup-boot-none", kinds: "32", stays: true, peer: peerNoBackup, hit: func(l *lab) spot {
			l.boot16(50, 0)
			return spot{off: 50}
		}},
		{slug: "backup-boot-location", kinds: "32 4k", hit: func(l *lab) spot {
			l.boot16(50, l.get16(14)+3)
			return spot{off: 50}
		}},
		{slug: "backup-boot-location", name: "FSInfo", kinds: "32", hit: func(l *lab) spot { return wrong(l, 50, 1) },
			also: []string{"fsinfo-location"}},
		{slug: "backup-boot-location", name: "nothing there", kinds: "32", hit: func(l *lab) spot { return wrong(l, 50, 4) }},
		{slug: "backup-boot-differs", kinds: "32 4k", hit: func(l *lab) spot {
			l.put(6*l.sector+200, []byte("zzzz")...)
			return spot{off: 6*l.sector + 200}
		}},
		{slug: "backup-boot-differs", name: "geometry", kinds: "32", hit: func(l *lab) spot {
			l.put(6*l.sector+13, 8)
			return spot{off: 6*l.sector + 13}
		}},
		{slug: "fsinfo-none", kinds: "32", hit: func(l *lab) spot {
			l.boot16(48, 0)
			return spot{off: 48}
		}},
		{slug: "fsinfo-none", name: "FFFF", kinds: "4k", hit: func(l *lab) spot {
			l.boot16(48, 0xFFFF)
			return spot{off: 48}
		}},
		{slug: "fsinfo-location", kinds: "32", hit: func(l *lab) spot {
			l.boot16(48, 6)
			return spot{off: 48}
		}},
		{slug: "fsinfo-location", name: "in the data", kinds: "32 4k", hit: func(l *lab) spot {
			l.boot16(48, uint16(l.data/l.sector+3))
			return spot{off: 48}
		}},
		{slug: "fsinfo-location", name: "the third boot sector", kinds: "32 4k", hit: func(l *lab) spot {
			l.put(2*l.sector, noise(5, 500)...)
			l.boot16(48, 2)
			return spot{off: 48}
		}, then: func(l *lab, now *reader) {
			if string(l.read(2*l.sector, 500)) != string(noise(5, 500)) || l.get16(48) != 1 {
				l.t.Error("what boots is gone")
			}
		}},
		{slug: "fsinfo-location", name: "the backup, of which the place is lost", kinds: "32", hit: func(l *lab) spot {
			l.put32(l.sector, 0)
			l.put16(50, 9)
			l.boot16(48, 6)
			return spot{off: 48}
		}, also: []string{"backup-boot-location"}, then: func(l *lab, now *reader) {
			if l.get16(48) != 1 || l.get16(50) != 6 || l.get(6*l.sector) != l.get(0) {
				l.t.Error("FSInfo, or the backup, is not in its place")
			}
		}},
		{slug: "fsinfo-bad-signature", name: "in a place of its own", kinds: "32", hit: func(l *lab) spot {
			l.put32(l.sector, 0)
			l.boot16(48, 3)
			return spot{off: 3 * l.sector}
		}},
		{slug: "fsinfo-bad-signature", kinds: "32 4k", hit: func(l *lab) spot {
			l.put32(l.sector, 0)
			return spot{off: l.sector}
		}},
		{slug: "fsinfo-free-wrong", kinds: "32 4k", hit: func(l *lab) spot {
			l.put32(l.sector+488, 1234)
			return spot{off: l.sector + 488}
		}},
		{slug: "fsinfo-free-unknown", fix: fixSet, kinds: "32", stays: true, peer: "it offers to count", hit: func(l *lab) spot {
			l.put32(l.sector+488, 0xFFFFFFFF)
			return spot{off: l.sector + 488}
		}},
		{slug: "fsinfo-next", kinds: "32 4k", hit: func(l *lab) spot {
			l.put32(l.sector+492, l.last()+100)
			return spot{off: l.sector + 492}
		}},
		{slug: "fsinfo-backup", kinds: "32 4k", hit: func(l *lab) spot {
			l.put(7*l.sector, noise(7, 512)...)
			return spot{off: 7 * l.sector}
		}},
		{slug: "dirty-boot", kinds: allKinds, hit: func(l *lab) spot {
			off := map[bool]int64{false: 37, true: 65}[l.bits == 32]
			l.put(off, 1)
			return spot{off: off}
		}},
		{slug: "surface-test", kinds: "12 32", hit: func(l *lab) spot {
			off := map[bool]int64{false: 37, true: 65}[l.bits == 32]
			l.put(off, 2)
			return spot{off: off}
		}},
		{slug: "label-mismatch", kinds: allKinds, hit: func(l *lab) spot {
			off := map[bool]int64{false: 43, true: 71}[l.bits == 32]
			l.boot(off, []byte("OTHER      ")...)
			return spot{off: off}
		}},
		{slug: "label-boot-only", kinds: "16 32", stays: true, peer: peerLabel, hit: func(l *lab) spot {
			l.put(l.slotOf("/", 0), 0xE5)
			return spot{}
		}},
	}
}

// tableDamages are those of the FATs.
func tableDamages() []damage {
	return []damage{
		{slug: "media-mismatch", kinds: allKinds, hit: func(l *lab) spot {
			l.set(0, 0x0FFFFFF0)
			return spot{off: l.fat0}
		}},
		{slug: "media-mismatch", name: "bits", kinds: "32", hit: func(l *lab) spot {
			l.set(0, 0xF8)
			return spot{}
		}},
		{slug: "entry1-garbage", kinds: allKinds, hit: func(l *lab) spot {
			l.set(1, 0x0C000005)
			return spot{off: l.fat0}
		}},
		{slug: "dirty-fat", kinds: "16", hit: func(l *lab) spot {
			l.set(1, 0x7FFF)
			return spot{}
		}},
		{slug: "dirty-fat", kinds: "32 4k", name: "32", hit: func(l *lab) spot {
			l.set(1, 0x07FFFFFF)
			return spot{}
		}},
		{slug: "hard-error", kinds: "16", hit: func(l *lab) spot {
			l.set(1, 0xBFFF)
			return spot{}
		}},
		{slug: "hard-error", kinds: "32", name: "32", hit: func(l *lab) spot {
			l.set(1, 0x0BFFFFFF)
			return spot{}
		}},
		{slug: "fats-differ", name: "first", fix: fixMirror, kinds: allKinds, hit: func(l *lab) spot {
			l.setIn(0, l.cells("/BIG.BIN")[3], 0)
			return spot{}
		}},
		{slug: "fats-differ", name: "second", fix: fixMirror, kinds: allKinds, hit: func(l *lab) spot {
			l.setIn(1, l.cells("/BIG.BIN")[3], 0)
			return spot{}
		}},
		{slug: "fats-differ", name: "first is blank", fix: fixMirror, kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.fat0, make([]byte, l.fatLen)...)
			return spot{off: l.fat0 + l.fatLen}
		}},
		{slug: "fats-differ", name: "second is noise", fix: fixMirror, kinds: "12 16", hit: func(l *lab) spot {
			l.put(l.fat0+l.fatLen+3, noise(1, int(l.fatLen)-3)...)
			return spot{off: l.fat0 + l.fatLen}
		}},
		{slug: "fats-differ", name: "both", fix: fixChoose, kinds: allKinds, hit: func(l *lab) spot {
			c := l.cells("/BIG.BIN")[3]
			l.setIn(0, c, 0)
			l.setIn(1, c, l.last()+3)
			return spot{}
		}, also: []string{"chain-free", "chain-out-of-range", "lost-chains", "fsinfo-free-wrong"}, gone: []string{"/BIG.BIN"}},
		{slug: "fats-differ", name: "first byte of one, and of the root", fix: fixChoose, kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.place(1, 0), 0x5A)
			l.put(l.slotOf("/", 0), 0)
			return spot{off: l.fat0 + l.fatLen}
		}, also: []string{"after-end", "lost-chains"}, peer: peerLabel},
		{slug: "fats-differ", name: "first byte of the first, and of the root", fix: fixChoose, kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.place(0, 0), 0xA0)
			l.put(l.slotOf("/", 0), 0)
			return spot{}
		}, also: []string{"after-end", "lost-chains"}, peer: peerLabel},
		{slug: "fats-differ", name: "each in another file", fix: fixMirror, kinds: allKinds, hit: func(l *lab) spot {
			l.setIn(0, l.cells("/BIG.BIN")[3], 0)
			l.setIn(0, l.cells("/SUB/LEAF.TXT")[0], l.cells("/HELLO.TXT")[1])
			l.setIn(1, l.cells("/A rather long name.bin")[2], l.last()+3)
			return spot{}
		}, also: []string{"chain-out-of-range", "lost-chains", "fsinfo-free-wrong"}},
		{slug: "fats-differ", name: "two in one chain, one in another", fix: fixMirror, kinds: allKinds, hit: func(l *lab) spot {
			big := l.cells("/BIG.BIN")
			l.setIn(0, l.cells("/A rather long name.bin")[2], l.last()+3)
			l.setIn(1, big[5], l.last()+7)
			l.setIn(1, big[6], big[2])
			return spot{}
		}, also: []string{"chain-out-of-range", "lost-chains", "fsinfo-free-wrong"}},
		{slug: "tail-nonzero", kinds: "32", stays: true, hit: func(l *lab) spot {
			for k := range l.fats {
				l.put32(l.fat0+int64(k+1)*l.fatLen-4, 0x12345)
			}
			return spot{off: l.fat0 + l.fatLen - 4}
		}},
		{slug: "bad-clusters", kinds: allKinds, stays: true, hit: func(l *lab) spot {
			for i := range 10 {
				l.set(l.spare(i), l.bad())
			}
			l.count()
			return spot{}
		}},
	}
}

// Reserved bits of FAT32 entries are kept: they mean nothing, but may to
// somebody.
func TestReservedBitsAreKept(t *testing.T) {
	l := newLab(t, "32")
	cs := l.cells("/BIG.BIN")
	l.set(cs[0], cs[1]|0xA0000000)
	sound(t, l.m)
	l.set(cs[2], 0xA0000000) // a free one, in the middle of the chain
	fsckAll(t, l.m)
	if v := l.get32(l.place(0, cs[0])); v != cs[1]|0xA0000000 {
		t.Errorf("entry %#x", v)
	}
	if v := l.get32(l.place(1, cs[2])); v&0xF0000000 != 0xA0000000 {
		t.Errorf("entry %#x", v)
	}
}
