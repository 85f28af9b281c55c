package exfat

import (
	"bytes"
	"strings"
	"unicode/utf16"
)

// setInjuries are those of entry sets as such.
func setInjuries() []injury {
	kind := func(name, path string, at int, to byte) injury {
		return injury{slug: "entry-type", name: name, hit: func(l *lab) spot {
			n := l.edit(path, func(b []byte) { b[32*at] = to })
			return spot{path: path, off: n.slots[0]}
		}}
	}
	count := func(name string, n byte, redo bool) injury {
		return injury{slug: "set-count", name: name, also: []string{"set-checksum"}, hit: func(l *lab) spot {
			change := l.edit
			if redo {
				change = l.redo
			}
			x := change("/SUB/V.DAT", func(b []byte) { b[1] = n })
			return spot{path: "/SUB/V.DAT", off: x.slots[0]}
		}}
	}
	return []injury{
		{slug: "set-checksum", hit: func(l *lab) spot {
			n := l.edit("/BIG.BIN", func(b []byte) { b[2] ^= 1 })
			return spot{path: "/BIG.BIN", off: n.slots[0]}
		}},
		{slug: "set-checksum", name: "directory", hit: func(l *lab) spot {
			l.edit("/SUB", func(b []byte) { b[3] ^= 0x80 })
			return spot{path: "/SUB"}
		}},
		{slug: "set-checksum", name: "a bit of a time", hit: func(l *lab) spot {
			l.edit("/BIG.BIN", func(b []byte) { b[8] ^= 1 })
			return spot{path: "/BIG.BIN"}
		}},
		count("too small", 2, false), count("0", 0, false), count("too large", 200, false), count("one more", 5, false),
		{slug: "set-count", name: "1, with a checksum", also: []string{"set-checksum"}, hit: func(l *lab) spot {
			l.redo("/BIG.BIN", func(b []byte) { b[1] = 1 })
			return spot{path: "/BIG.BIN"}
		}},
		{slug: "set-count", name: "255, with a checksum", also: []string{"set-checksum"}, hit: func(l *lab) spot {
			l.redo("/BIG.BIN", func(b []byte) { b[1] = 255 })
			return spot{path: "/BIG.BIN"}
		}},
		{slug: "bitmap-free", name: "a start that fits by chance", also: []string{"set-checksum", "length-exceeds-clusters"}, kinds: "4k", hit: startByChance},
		{slug: "set-broken", name: "erased", hit: func(l *lab) spot {
			n := l.edit("/BIG.BIN", func(b []byte) { copy(b[32:], bytes.Repeat([]byte{0x11}, 64)) })
			return spot{off: n.slots[0]}
		}, also: []string{"lost-clusters"}, gone: []string{"/BIG.BIN"}},
		{slug: "set-broken", name: "flash", hit: func(l *lab) spot {
			n := l.edit("/BIG.BIN", func(b []byte) { copy(b[32:], bytes.Repeat([]byte{0xFF}, 64)) })
			return spot{off: n.slots[0]}
		}, also: []string{"lost-clusters", "stray-secondary"}, gone: []string{"/BIG.BIN"}},
		{slug: "set-broken", name: "cut off", kinds: "512", hit: func(l *lab) spot {
			set := newSetOf("/CUT.TXT", 0x20, 0, nil, 0, 0)
			dir := l.node("/SUB")
			places := l.places(dir)
			for i := l.end(places); i < len(places)-2; i++ {
				l.put(places[i], 0x05)
			}
			return spot{off: l.append(dir, set[:64])}
		}},
		kind("file unused", "/BIG.BIN", 0, 0x05), kind("file as bitmap", "/BIG.BIN", 0, 0x81), kind("file as label", "/HELLO.TXT", 0, 0x83),
		kind("file as critical", "/BIG.BIN", 0, 0x8D), kind("file as benign", "/BIG.BIN", 0, 0xA5), kind("file as secondary", "/SUB/LEAF.TXT", 0, 0xC5),
		kind("directory unused", "/SUB", 0, 0x05),
		kind("file as end", "/BIG.BIN", 0, 0), kind("directory as end", "/SUB", 0, 0), kind("empty file as end", "/EMPTY.DAT", 0, 0),
		kind("first as end", "/MANY/A.DAT", 0, 0), kind("last as end", "/MANY/I.DAT", 0, 0), kind("with vendor entries as end", "/SUB/V.DAT", 0, 0),
		kind("stream as end", "/BIG.BIN", 1, 0), kind("name as end", long, 3, 0),
		kind("stream unused", "/BIG.BIN", 1, 0x40), kind("stream as another", "/BIG.BIN", 1, 0xC8), kind("stream as primary", "/BIG.BIN", 1, 0x80),
		kind("name as stream", "/BIG.BIN", 2, 0xC0), kind("name unused", long, 3, 0x41), kind("name as vendor", long, 2, 0xE1),
		{slug: "name-length", name: "short", hit: func(l *lab) spot {
			n := l.redo("/BIG.BIN", func(b []byte) { b[35] = 3 })
			return spot{path: "/BIG.BIN", off: n.slots[0]}
		}},
		{slug: "name-length", name: "255", hit: func(l *lab) spot {
			l.redo("/BIG.BIN", func(b []byte) { b[35] = 255 })
			return spot{path: "/BIG.BIN"}
		}},
		{slug: "name-length", name: "0", hit: func(l *lab) spot {
			l.redo(long, func(b []byte) { b[35] = 0 })
			return spot{path: long}
		}},
		{slug: "name-hash", hit: func(l *lab) spot {
			n := l.redo("/BIG.BIN", func(b []byte) { b[36] ^= 1 })
			return spot{path: "/BIG.BIN", off: n.slots[0]}
		}},
		{slug: "unknown-critical", name: "primary", hit: func(l *lab) spot {
			return spot{off: l.append(l.rootNode(), append([]byte{0x8F}, make([]byte, 31)...))}
		}},
		{slug: "unknown-critical", name: "80", hit: func(l *lab) spot {
			return spot{off: l.append(l.node("/SUB"), append([]byte{0x80}, make([]byte, 31)...))}
		}},
		{slug: "unknown-critical", name: "80 before others", also: []string{"lost-clusters"}, gone: []string{"/MANY/B.DAT"}, hit: unknownBeforeOthers},
		{slug: "unknown-critical", name: "secondaries", peer: peerVendor, hit: func(l *lab) spot {
			set := newSetOf("/SUB/N", 0x20, 0, nil, 0, 0)
			for _, k := range []byte{0xC8, 0xE0, 0xC9, 0xC8, 0xC7} {
				set = append(set, vendorEntry(k, 0, 0, 0)...)
			}
			l.known["/SUB/N"] = ""
			return spot{path: "/SUB/N", off: l.append(l.node("/SUB"), sealed(set))}
		}, then: func(l *lab, now *reader) {
			n := l.node("/SUB/N")
			if len(n.slots) != 4 || l.get(n.slots[3]) != 0xE0 {
				l.t.Errorf("%d slots are left", len(n.slots))
			}
		}, kinds: "32k 4k"},
		{slug: "stray-secondary", hit: func(l *lab) spot {
			set := newSetOf("/SUB/N", 0x20, 0, nil, 0, 0)
			set[0] ^= 0x10 // as if the File entry were another's
			return spot{off: l.append(l.rootNode(), set[32:])}
		}},
		{slug: "stray-secondary", name: "benign", hit: func(l *lab) spot {
			l.put(l.places(l.rootNode())[l.end(l.places(l.rootNode()))], 0x05)
			return spot{off: l.append(l.rootNode(), vendorEntry(0xE0, 0, 0, 0))}
		}},
	}
}

// streamInjuries are those of the fields of an entry set.
func streamInjuries() []injury {
	redo := func(slug, name, path string, change func(b []byte)) injury {
		return injury{slug: slug, name: name, hit: func(l *lab) spot {
			n := l.redo(path, change)
			return spot{path: path, off: n.slots[0]}
		}}
	}
	info := func(slug, name, path string, change func(b []byte)) injury {
		d := redo(slug, name, path, change)
		d.stays = true
		return d
	}
	stamp := func(v uint32) func(b []byte) { return func(b []byte) { put32(b[12:], v) } }
	return []injury{
		{slug: "valid-length", fix: fixSet, hit: func(l *lab) spot {
			n := l.node("/BIG.BIN")
			l.redo("/BIG.BIN", lengths(n.length, n.length+1))
			return spot{path: "/BIG.BIN", off: n.slots[0]}
		}},
		redo("directory-valid", "", "/SUB", func(b []byte) { put64(b[40:], 32) }),
		{slug: "directory-valid", name: "with a wrong checksum", also: []string{"set-checksum"}, hit: func(l *lab) spot {
			l.edit("/SUB", func(b []byte) { put64(b[40:], 32) })
			return spot{path: "/SUB"}
		}},
		{slug: "directory-length", hit: func(l *lab) spot {
			n := uint64(l.cluster) - 32
			l.redo("/SUB", lengths(n, n))
			return spot{path: "/SUB"}
		}},
		{slug: "directory-length", name: "a quarter of a cluster", hit: func(l *lab) spot {
			n := uint64(l.cluster + l.cluster/4) // what some dashcams write
			l.redo("/SUB/DEEP", lengths(n, n))
			return spot{path: "/SUB/DEEP"}
		}},
		redo("empty-no-fat-chain", "", "/EMPTY.DAT", func(b []byte) { b[33] = 3 }),
		redo("alloc-possible", "", "/BIG.BIN", func(b []byte) { b[33] = 0 }),
		info("reserved-bits", "flags", "/BIG.BIN", func(b []byte) { b[33] |= 0xF0 }),
		info("reserved-bits", "attributes", "/BIG.BIN", func(b []byte) { b[5] = 0xFF }),
		info("time-invalid", "month", "/BIG.BIN", stamp(44<<25|15<<21)),
		info("time-invalid", "hour", "/BIG.BIN", stamp(44<<25|1<<21|1<<16|0xFFFF)),
		info("time-invalid", "zero", "/BIG.BIN", stamp(0)),
		info("time-invalid", "hundredths", "/BIG.BIN", func(b []byte) { b[20] = 255 }),
		info("name-flags", "", "/BIG.BIN", func(b []byte) { b[65] = 3 }),
		nameTail("", false), nameTail("with a wrong checksum", true),
		info("vendor-guid", "", "/SUB/V.DAT", func(b []byte) { clear(b[98:114]) }),
	}
}

// dirInjuries are those of directories.
func dirInjuries() []injury {
	hide := func(l *lab) spot {
		l.put(l.places(l.node("/MANY"))[3], 0)
		return spot{path: "/MANY"}
	}
	return []injury{
		{slug: "after-end", name: "hidden", fix: fixReveal, hit: hide, also: []string{"lost-clusters"}},
		{slug: "after-end", name: "hidden, with gaps", fix: fixReveal, hit: func(l *lab) spot {
			for i, p := range l.places(l.node("/MANY")) {
				if l.get(p) == 0x05 && i%2 == 1 {
					l.put(p, 0)
				}
			}
			return hide(l)
		}, also: []string{"lost-clusters"}},
		{slug: "after-end", name: "hidden", fix: fixRemove, hit: hide, also: []string{"lost-clusters"}, gone: []string{"/MANY/"}, then: func(l *lab, now *reader) {
			if got := now.files()["/MANY/A.DAT"]; got != l.known["/MANY/A.DAT"] {
				l.t.Error("A.DAT is lost")
			}
		}},
		{slug: "after-end", name: "leftovers", fix: fixRemove, hit: func(l *lab) spot {
			places := l.places(l.node("/SUB/DEEP"))
			ghost := newSetOf("/GHOST", 0x20, noFat, l.cells("/BIG.BIN"), uint64(l.cluster), 5)
			at := l.end(places) + 2
			for k := range len(ghost) / 32 {
				l.put(places[at+k], ghost[32*k:32*k+32]...)
			}
			return spot{path: "/SUB/DEEP", off: places[at]}
		}},
		{slug: "after-end", name: "leftovers before a text that the chain leads to", fix: fixRemove, kinds: "32k 4k", hit: func(l *lab) spot {
			cs := l.cells("/SUB/LEAF.TXT")
			text := []byte(strings.Repeat("no byte of this text has bit 7. ", int(l.cluster)/32))
			for _, c := range cs {
				l.put(l.offset(c), text...)
			}
			l.known["/SUB/LEAF.TXT"] = strings.Repeat(string(text), len(cs))[:len(l.known["/SUB/LEAF.TXT"])]
			places := l.places(l.node("/MANY"))
			ghost := newSetOf("/GHOST", 0x20, noFat, l.cells("/BIG.BIN"), uint64(l.cluster), 5)
			at := l.end(places) + 2
			for k := range len(ghost) / 32 {
				l.put(places[at+k], ghost[32*k:32*k+32]...)
			}
			l.setFAT(l.cells("/MANY")[int64(at)*32/l.cluster], cs[0])
			return spot{path: "/MANY", off: places[at]}
		}, also: []string{"lost-clusters", "cross-linked", "clusters-beyond-length"}},
		{slug: "after-end", name: "leftovers at the mark", fix: fixRemove, hit: func(l *lab) spot {
			dir := l.node("/SUB/DEEP")
			off := l.append(dir, newSetOf("/GHOST", 0x20, noFat, []uint32{l.spare(0)}, 5, 5))
			l.put(off, 0) // its clusters are free
			return spot{path: "/SUB/DEEP", off: off + 32}
		}, then: func(l *lab, now *reader) {
			if _, ok := now.find("/SUB/DEEP/GHOST"); ok {
				l.t.Error("the ghost has come back")
			}
		}},
		{slug: "after-end", name: "hidden among leftovers", fix: fixReveal, kinds: "32k 4k", hit: func(l *lab) spot {
			dir := l.node("/SUB/DEEP")
			places := l.places(dir)
			ghost := newSetOf("/GHOST", 0x20, noFat, l.cells("/BIG.BIN"), uint64(l.cluster), 5)
			end := l.end(places)
			l.put(places[end], 0x05)
			l.append(dir, ghost)
			l.append(dir, newSetOf("/LATE", 0x20, 0, nil, 0, 0))
			l.append(dir, bytes.Repeat([]byte{0xC7}, 32))
			l.append(dir, ghost)
			l.put(places[end], 0)
			l.known["/SUB/DEEP/LATE"] = ""
			return spot{path: "/SUB/DEEP", off: places[end+1]}
		}},
		{slug: "directory-too-long", kinds: "big", hit: func(l *lab) spot {
			cs := l.run(256<<20/int(l.cluster) + 5)
			for i := 0; i < len(cs); i += 8 {
				if cs[i]%8 == 2 && i+8 <= len(cs) {
					l.put(l.bitPlace(cs[i]), 0xFF)
					continue
				}
				for k := i; k < min(i+8, len(cs)); k++ {
					l.bit(cs[k], true)
				}
			}
			n := uint64(len(cs)) * uint64(l.cluster)
			l.add("/VAST", newSetOf("/VAST", 0x10, noFat, cs[:1], n, n))
			l.known["/VAST/"] = ""
			l.add("/VAST/F", newSetOf("/VAST/F", 0x20, 0, nil, 0, 0))
			l.known["/VAST/F"] = ""
			l.count()
			return spot{path: "/VAST"}
		}},
		{slug: "directory-empty", stays: true, hit: func(l *lab) spot {
			set := newSetOf("/SUB/NONE", 0x10, 0, nil, 0, 0)
			l.known["/SUB/NONE/"] = ""
			return spot{path: "/SUB/NONE", off: l.append(l.node("/SUB"), set)}
		}},
		{slug: "directory-garbage", name: "noise", hit: func(l *lab) spot {
			for _, p := range l.places(l.node("/SUB/DEEP")) {
				l.put(p, dataOf(string(rune(p%1000)), 32)...)
			}
			return spot{path: "/SUB/DEEP"}
		}, gone: []string{"/SUB/DEEP/"}, also: []string{"lost-clusters"}, then: isFile("/SUB/DEEP", 2)},
		{slug: "directory-garbage", name: "flash", hit: func(l *lab) spot {
			for _, p := range l.places(l.node("/SUB/DEEP")) {
				l.put(p, bytes.Repeat([]byte{0xFF}, 32)...)
			}
			return spot{path: "/SUB/DEEP"}
		}, gone: []string{"/SUB/DEEP/"}, also: []string{"lost-clusters"}, then: isFile("/SUB/DEEP", 2)},
		{slug: "directory-garbage", name: "a file with the attribute", hit: func(l *lab) spot {
			n := uint64(9 * l.cluster)
			l.put(l.offset(l.cells("/BIG.BIN")[8])+l.cluster-7, []byte("1234567")...)
			l.redo("/BIG.BIN", func(b []byte) { b[4] = 0x10; lengths(n, n)(b) })
			return spot{path: "/BIG.BIN"}
		}, gone: []string{"/BIG.BIN"}, then: isFile("/BIG.BIN", 9)},
	}
}

func isFile(path string, clusters int64) func(l *lab, now *reader) {
	return func(l *lab, now *reader) {
		if n, ok := now.find(path); !ok || n.isDir() || n.length != uint64(clusters*l.cluster) {
			l.t.Errorf("%s is %+v", path, n)
		}
	}
}

// nameInjuries are those of names.
func nameInjuries() []injury {
	name := func(slug, what, to, want string) injury {
		d := injury{slug: slug, name: what, gone: []string{"/SUB/LEAF.TXT"}, hit: func(l *lab) spot {
			n := l.redo("/SUB/LEAF.TXT", named(to))
			return spot{off: n.slots[0]}
		}, then: func(l *lab, now *reader) {
			got, ok := now.files()["/SUB/"+want]
			if !ok || got != l.known["/SUB/LEAF.TXT"] {
				l.t.Errorf("there is no %s", want)
			}
		}}
		return d
	}
	info := name("name-trailing", "dot", "LEAF.", "LEAF.")
	info.stays = true
	half := name("name-surrogate", "", "LEAF.TXT", "LE_F.TXT")
	half.hit = func(l *lab) spot {
		n := l.redo("/SUB/LEAF.TXT", func(b []byte) { b[64+2+4], b[64+2+5] = 0x00, 0xD8; hashed(b) })
		return spot{off: n.slots[0]}
	}
	twin := func(what, to, want string) injury {
		return injury{slug: "name-twice", name: what, gone: []string{"/MANY/B.DAT"}, hit: func(l *lab) spot {
			n := l.redo("/MANY/B.DAT", named(to))
			return spot{path: "/MANY/" + to, off: n.slots[0]}
		}, then: func(l *lab, now *reader) {
			if got, ok := now.files()["/MANY/"+want]; !ok || got != l.known["/MANY/B.DAT"] {
				l.t.Errorf("there is no %s", want)
			}
		}}
	}
	return []injury{
		name("name-illegal", "colon", "LE:F.TXT", "LE_F.TXT"),
		name("name-illegal", "control", "LE\x1fF.TXT", "LE_F.TXT"),
		name("name-illegal", "dots", "..", "__"),
		name("name-illegal", "dot", ".", "_"),
		half, info,
		twin("exact", "A.DAT", "A~1.DAT"), twin("case", "a.Dat", "a~1.Dat"),
		{slug: "name-illegal", name: "and twice", also: []string{"name-twice"}, gone: []string{"/SUB/LEAF.TXT"}, hit: func(l *lab) spot {
			l.add("/SUB/x", newSetOf("/SUB/LE:F", 0x20, 0, nil, 0, 0))
			l.redo("/SUB/LEAF.TXT", named("LE:F"))
			return spot{path: "/SUB/LE:F"}
		}, then: func(l *lab, now *reader) {
			got := now.files()
			if got["/SUB/LE_F"] != l.known["/SUB/LEAF.TXT"] && got["/SUB/LE_F~1"] != l.known["/SUB/LEAF.TXT"] {
				l.t.Error("the file is lost")
			}
		}},
	}
}

// named gives a set another name, of at most 15 units.
func named(to string) func(b []byte) {
	return func(b []byte) {
		u := utf16.Encode([]rune(strings.TrimPrefix(to, "/")))
		clear(b[66:96])
		b[35] = byte(len(u))
		for i, c := range u {
			b[66+2*i], b[67+2*i] = byte(c), byte(c>>8)
		}
		hashed(b)
	}
}
