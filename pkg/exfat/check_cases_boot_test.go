package exfat

import (
	"bytes"
	"slices"
	"testing"
)

// Reasons why fsck.exfat 1.2.0 does not judge a repaired volume as we do.
const (
	peerGUID    = "it does not know the volume GUID"
	peerVendor  = "it does not know vendor entries"
	peerPadding = "it does not know benign entries"
)

// bootInjuries are those of the boot regions that can be mended.
func bootInjuries() []injury {
	flag := func(slug string, bit byte) injury {
		return injury{slug: slug, hit: func(l *lab) spot {
			l.put(106, l.get(106)|bit)
			return spot{off: 106}
		}}
	}
	mediaFailure := flag("media-failure", 4)
	mediaFailure.stays = true
	return []injury{
		{slug: "boot-region-lost", name: "zeros", hit: func(l *lab) spot {
			l.put(0, make([]byte, 12*l.sector)...)
			return spot{}
		}},
		{slug: "boot-region-lost", name: "sector size", hit: func(l *lab) spot {
			l.put(108, 31)
			return spot{}
		}},
		{slug: "boot-region-lost", name: "disk signature", hit: func(l *lab) spot {
			l.put32(440, 0x12345678)
			return spot{}
		}},
		{slug: "boot-region-lost", name: "name", hit: func(l *lab) spot {
			l.put(3, []byte("NTFS    ")...)
			return spot{}
		}},
		{slug: "boot-backup-bad", name: "zeros", hit: func(l *lab) spot {
			l.put(12*l.sector, make([]byte, 12*l.sector)...)
			return spot{off: 12 * l.sector}
		}},
		{slug: "boot-backup-bad", name: "differs", hit: func(l *lab) spot {
			l.put(21*l.sector+5, 1)
			return spot{off: 12 * l.sector}
		}},
		{slug: "boot-backup-bad", name: "serial", hit: func(l *lab) spot {
			main := l.read(0, 12*l.sector)
			l.put32(12*l.sector+100, 7)
			resealed(l.t, l.m, l.sector)
			l.put(0, main...)
			return spot{off: 12 * l.sector}
		}},
		{slug: "boot-checksum", hit: func(l *lab) spot {
			l.put(11*l.sector+3, l.get(11*l.sector+3)^1)
			l.put(23*l.sector+3, l.get(23*l.sector+3)^1)
			return spot{off: 11 * l.sector}
		}},
		{slug: "boot-signature", hit: func(l *lab) spot {
			l.region(510, 0, 0)
			return spot{off: 510}
		}},
		{slug: "boot-signature", name: "extended", hit: func(l *lab) spot {
			l.region(4*l.sector-1, 0)
			return spot{off: 3*l.sector + 510}
		}},
		{slug: "boot-jump", hit: func(l *lab) spot {
			l.region(0, 0, 0)
			return spot{}
		}},
		{slug: "boot-must-be-zero", hit: func(l *lab) spot {
			l.region(11, 0, 2)
			return spot{off: 11}
		}},
		{slug: "revision-minor", stays: true, hit: func(l *lab) spot {
			l.region(104, 5)
			return spot{off: 104}
		}},
		flag("active-fat", 1), flag("dirty", 2), mediaFailure,
		{slug: "percent-in-use", hit: func(l *lab) spot {
			l.put(112, 77)
			return spot{off: 112}
		}, then: percentIs},
		{slug: "percent-in-use", name: "150", hit: func(l *lab) spot {
			l.put(112, 150)
			return spot{off: 112}
		}, then: percentIs},
		{slug: "fat-head", name: "0", hit: func(l *lab) spot {
			l.setFAT(0, 0)
			return spot{off: l.fat0}
		}},
		{slug: "fat-head", name: "1", hit: func(l *lab) spot {
			l.setFAT(1, 0x0FFFFFFF)
			return spot{off: l.fat0 + 4}
		}},
	}
}

func percentIs(l *lab, _ *reader) {
	got := l.get(112)
	l.count()
	if want := l.get(112); got != want {
		l.t.Errorf("%d percent in use, should be %d", got, want)
	}
}

// fatalInjuries are boot regions on which nothing can be done.
func fatalInjuries() []injury {
	fatal := func(slug, name string, off int64, b ...byte) injury {
		return injury{slug: slug, name: name, stays: true, gone: []string{"/"}, hit: func(l *lab) spot {
			l.region(off, b...)
			return spot{off: off}
		}}
	}
	return []injury{
		fatal("boot-name", "", 3, []byte("NTFS    ")...),
		fatal("sector-size", "8", 108, 8),
		fatal("sector-size", "13", 108, 13),
		fatal("sector-size", "200", 108, 200),
		fatal("cluster-size", "30", 109, 30),
		fatal("cluster-size", "200", 109, 200),
		fatal("volume-length", "2^63", 72, 0, 0, 0, 0, 0, 0, 0, 0x80),
		fatal("volume-length", "2^55", 72, 0, 0, 0, 0, 0, 0, 0x80, 0),
		fatal("volume-length", "0", 72, 0, 0, 0, 0, 0, 0, 0, 0),
		fatal("revision", "2.00", 104, 0, 2),
		fatal("revision", "1.100", 104, 100, 1),
		fatal("fat-count", "2", 110, 2),
		fatal("fat-count", "0", 110, 0),
		fatal("fat-offset", "", 80, 10, 0, 0, 0),
		fatal("fat-length", "", 84, 1, 0, 0, 0),
		fatal("heap-offset", "in the FAT", 88, 25, 0, 0, 0),
		fatal("heap-offset", "behind all", 88, 0xFF, 0xFF, 0xFF, 0xFF),
		fatal("cluster-count", "0", 92, 0, 0, 0, 0),
		fatal("cluster-count", "2^32-1", 92, 0xFF, 0xFF, 0xFF, 0xFF),
		fatal("root-cluster", "1", 96, 1, 0, 0, 0),
		fatal("root-cluster", "2^32-1", 96, 0xFF, 0xFF, 0xFF, 0xFF),
		{slug: "volume-beyond-device", stays: true, gone: []string{"/"}, hit: func(l *lab) spot {
			n := l.get64(72) + 1
			l.region(72, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
			return spot{off: 72}
		}},
		{slug: "root-unreadable", stays: true, gone: []string{"/"}, hit: func(l *lab) spot {
			for _, p := range l.places(l.rootNode()) {
				l.put(p, bytes.Repeat([]byte{0xFF}, 32)...)
			}
			return spot{path: "/"}
		}},
		{slug: "bitmap-none", name: "nowhere", stays: true, hit: func(l *lab) spot {
			l.put(l.bitPlace(2), make([]byte, 100)...)
			l.put(l.special(0x81), 0x01)
			return spot{path: "/"}
		}},
		{slug: "bitmap-none", name: "something else", stays: true, hit: func(l *lab) spot {
			l.put(l.bitPlace(2), make([]byte, 100)...)
			c := l.cells("/HELLO.TXT")[0]
			l.put(l.offset(c), make([]byte, 100)...)
			l.put32(l.special(0x81)+20, c)
			return spot{path: "/"}
		}, gone: []string{"/HELLO.TXT"}},
	}
}

// TestFatalIsLeftAlone: where the geometry cannot be, nothing is repaired, and
// nothing is looked at that could take long.
func TestFatalIsLeftAlone(t *testing.T) {
	l := newLab(t, "512")
	for _, d := range fatalInjuries() {
		t.Run(d.title(), func(t *testing.T) {
			l := l.clone(t)
			d.hit(l)
			l.m.SetReadOnly(true) // whatever is repaired fails
			res := fsck(t, l.m, choose("", ""))
			if !res.Stopped || res.Repaired || len(res.Outcomes) != 1 {
				report(t, res)
				t.Errorf("stopped: %v, repaired: %v", res.Stopped, res.Repaired)
			}
		})
	}
}

// specialInjuries are those of the entries that only the root has.
func specialInjuries() []injury {
	again := func(slug string, kind byte, more ...string) injury {
		return injury{slug: slug, also: more, hit: func(l *lab) spot {
			return spot{path: "/", off: l.append(l.rootNode(), l.read(l.special(kind), 32))}
		}}
	}
	guid := func(slug, name, fix string, change func(b []byte)) injury {
		return injury{slug: slug, name: name, fix: fix, peer: peerGUID, hit: func(l *lab) spot {
			b := guidEntry()
			change(b)
			return spot{path: "/", off: l.append(l.rootNode(), b)}
		}, then: noFurtherGUID(fix)}
	}
	upcase := func(name, fix string, hit func(l *lab, e int64)) injury {
		return injury{slug: "upcase-table", name: name, fix: fix, hit: func(l *lab) spot {
			e := l.special(0x82)
			hit(l, e)
			return spot{path: "/", off: e}
		}}
	}
	return append(slices.Concat(labelInjuries(), rootMarkInjuries(), upcaseInjuries()), []injury{
		{slug: "bitmap-none", name: "entry is gone", hit: func(l *lab) spot {
			l.put(l.special(0x81), 0x01)
			return spot{path: "/"}
		}},
		{slug: "bitmap-none", name: "cluster 0", hit: func(l *lab) spot {
			l.put32(l.special(0x81)+20, 0)
			return spot{path: "/"}
		}},
		{slug: "bitmap-none", name: "another cluster", hit: func(l *lab) spot {
			l.put32(l.special(0x81)+20, l.cells("/HELLO.TXT")[0])
			return spot{path: "/"}
		}},
		{slug: "bitmap-free", name: "all are free", hit: func(l *lab) spot {
			l.put(l.bitPlace(2), make([]byte, 100)...)
			return spot{}
		}},
		{slug: "bitmap-free", name: "the bitmap holds something else", hit: func(l *lab) spot {
			l.put(l.bitPlace(2), dataOf("noise", 100)...)
			return spot{}
		}, also: []string{"lost-clusters"}},
		again("bitmap-twice", 0x81), again("upcase-twice", 0x82), again("label-twice", 0x83),
		{slug: "bitmap-flags", hit: func(l *lab) spot {
			l.put(l.special(0x81)+1, 1)
			return spot{path: "/", off: l.special(0x81)}
		}},
		{slug: "bitmap-length", name: "short", hit: bitmapLength(1)},
		{slug: "bitmap-length", name: "2^62", hit: bitmapLength(1 << 62)},
		{slug: "bitmap-length", name: "0", hit: bitmapLength(0)},
		{slug: "bitmap-chain", name: "0", hit: func(l *lab) spot {
			l.setFAT(l.get32(l.special(0x81)+20), 0)
			return spot{path: "/", off: l.special(0x81)}
		}},
		{slug: "bitmap-chain", name: "goes on", kinds: "4k 32k", hit: func(l *lab) spot {
			l.setFAT(l.get32(l.special(0x81)+20), l.cells("/BIG.BIN")[2])
			return spot{path: "/", off: l.special(0x81)}
		}},
		{slug: "bitmap-pieces", kinds: "512", stays: true, hit: func(l *lab) spot {
			l.move(l.special(0x81), 3)
			return spot{path: "/", off: l.special(0x81)}
		}},
		{slug: "upcase-none", hit: func(l *lab) spot {
			l.put(l.special(0x82), 0x02)
			return spot{path: "/"}
		}, also: []string{"lost-clusters"}},
		{slug: "upcase-chain", hit: func(l *lab) spot {
			l.setFAT(l.get32(l.special(0x82)+20), 0)
			return spot{path: "/", off: l.special(0x82)}
		}},
		upcase("checksum", fixSet, func(l *lab, e int64) { l.put(e+4, l.get(e+4)^1) }),
		upcase("length 0", fixSet, func(l *lab, e int64) { l.put64(e+24, 0) }),
		upcase("length 2^62", fixSet, func(l *lab, e int64) { l.put64(e+24, 1<<62) }),
		upcase("odd length", fixSet, func(l *lab, e int64) { l.put64(e+24, l.get64(e+24)-1) }),
		upcase("contents", fixRestore, func(l *lab, e int64) { l.put16(l.offset(l.get32(e+20))+400, 0x41) }),
		upcase("mandatory", fixRestore, func(l *lab, e int64) {
			first := l.offset(l.get32(e + 20))
			l.put16(first+2*'b', 'b')
			l.put32(e+4, sumOfTable(l.read(first, int64(l.get64(e+24)))))
		}),
		{slug: "upcase-table", name: "another one", fix: fixSet, kinds: "4k 32k", peer: "it knows the standard table alone", hit: func(l *lab) spot {
			// The volume's own table has no upper case for ä, and the name's hash fits that.
			e := l.special(0x82)
			l.put16(l.offset(l.get32(e+20))+2*'ä', 'ä')
			l.redo("/A rather long name with ä.bin", func(b []byte) {
				t := standardTable()
				t.to['ä'] = 'ä'
				hash := t.hash(entrySet(b).units(nil))
				b[36], b[37] = byte(hash), byte(hash>>8)
			})
			return spot{path: "/", off: e}
		}, then: func(l *lab, _ *reader) {
			if got := l.read(l.offset(l.get32(l.special(0x82)+20))+2*'ä', 1)[0]; got != 0xE4 {
				l.t.Errorf("the table was written")
			}
		}},
		{slug: "upcase-table", name: "cluster 0", fix: fixRestore, hit: func(l *lab) spot {
			l.put32(l.special(0x82)+20, 0)
			return spot{path: "/", off: l.special(0x82)}
		}, also: []string{"lost-clusters"}},
		guid("guid-checksum", "sum", fixSet, func(b []byte) { b[2] ^= 1 }),
		guid("guid-checksum", "count", fixSet, func(b []byte) { b[1] = 1 }),
		guid("guid-checksum", "null", fixRemove, func(b []byte) { clear(b[6:22]) }),
		{slug: "guid-twice", peer: peerGUID, hit: func(l *lab) spot {
			l.append(l.rootNode(), guidEntry())
			return spot{path: "/", off: l.append(l.rootNode(), guidEntry())}
		}, then: noFurtherGUID(fixSet)},
		{slug: "special-misplaced", name: "bitmap", hit: func(l *lab) spot {
			return spot{path: "/SUB", off: l.append(l.node("/SUB"), l.read(l.special(0x81), 32))}
		}},
		{slug: "special-misplaced", name: "GUID", hit: func(l *lab) spot {
			return spot{path: "/SUB", off: l.append(l.node("/SUB"), guidEntry())}
		}},
		{slug: "texfat-padding", stays: true, hit: func(l *lab) spot {
			return spot{path: "/", off: l.append(l.rootNode(), append([]byte{0xA1}, make([]byte, 31)...))}
		}},
	}...)
}

func labelInjuries() []injury {
	label := func(slug, name string, change func(b []byte), want string) injury {
		return injury{slug: slug, name: name, hit: func(l *lab) spot {
			off := l.special(0x83)
			b := l.read(off, 32)
			change(b)
			l.put(off, b...)
			return spot{path: "/", off: off}
		}, then: func(l *lab, _ *reader) {
			b := l.read(l.special(0x83), 32)
			got := ""
			for i := range int(b[1]) {
				got += string(rune(b[2+2*i]))
			}
			if got != want {
				l.t.Errorf("the label is %q, should be %q", got, want)
			}
		}}
	}
	return []injury{
		label("label-length", "", func(b []byte) { b[1] = 12 }, "LABEL"),
		label("label-invalid", "colon", func(b []byte) { b[4] = ':' }, "L_BEL"),
		label("label-invalid", "surrogate", func(b []byte) { b[5] = 0xD8 }, "L_BEL"),
	}
}

// guidEntry is a volume GUID, [exFAT] §7.5.
func guidEntry() []byte {
	b := vendorEntry(0xA0, 0, 0, 0)
	copy(b[6:], "0123456789ABCDEF")
	clear(b[22:])
	clear(b[2:6])
	return summed(b)
}

// noFurtherGUID proves that there is one GUID that is right, or none.
func noFurtherGUID(fix string) func(l *lab, now *reader) {
	return func(l *lab, now *reader) {
		n := 0
		for _, p := range now.places(now.rootNode()) {
			if b := now.read(p, 32); b[0] == 0xA0 {
				n++
				if !bytes.Equal(b, guidEntry()) {
					l.t.Errorf("GUID entry % x", b)
				}
			}
		}
		if want := map[string]int{fixSet: 1, fixRemove: 0}[fix]; n != want {
			l.t.Errorf("%d GUIDs", n)
		}
	}
}

func bitmapLength(n uint64) func(l *lab) spot {
	return func(l *lab) spot {
		l.put64(l.special(0x81)+24, n)
		return spot{path: "/", off: l.special(0x81)}
	}
}

// sumOfTable is the checksum of an up-case table.
func sumOfTable(b []byte) (sum uint32) {
	for _, c := range b {
		sum = sum>>1 + sum<<31 + uint32(c)
	}
	return sum
}
