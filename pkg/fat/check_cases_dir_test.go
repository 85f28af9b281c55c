package fat

import (
	"fmt"
	"strings"
)

// dirDamages are those of directories and of entries.
func dirDamages() []damage {
	return append(slotDamages(), []damage{
		{slug: "directory-garbage", fix: fixKeep, kinds: allKinds, hit: func(l *lab) spot {
			for _, off := range l.places("/SUB/DEEP") {
				l.put(off, noise(off, 32)...)
			}
			return spot{path: "/SUB/DEEP"}
		}, also: []string{"lost-chains"}, gone: []string{"/SUB/DEEP/"}, then: func(l *lab, now *reader) {
			if n := now.mustFind(l, "/SUB/DEEP"); n.isDir() || n.size != uint32(l.cluster) {
				l.t.Errorf("DEEP is %+v", n)
			}
		}},
		{slug: "directory-garbage", fix: fixKeep, name: "a file with the attribute", kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.node("/BIG.BIN").off+11, 0x30)
			return spot{path: "/BIG.BIN"}
		}},
		{slug: "directory-garbage", fix: fixKeep, name: "text", kinds: allKinds, hit: func(l *lab) spot {
			text := "The quick brown fox jumps over the lazy dog, and so on. "
			for i := range l.cluster {
				l.put(l.offset(l.node("/BIG.BIN").start)+i, text[i%int64(len(text))])
			}
			n := l.node("/BIG.BIN")
			l.put(n.off+11, 0x30)
			l.put32(n.off+28, 0)
			return spot{path: "/BIG.BIN"}
		}, gone: []string{"/BIG.BIN"}, then: func(l *lab, now *reader) {
			if got := now.files()["/BIG.BIN"]; len(got) != 9*int(l.cluster) || got[:9] != "The quick" {
				l.t.Errorf("BIG.BIN has %d bytes", len(got))
			}
		}},
		{slug: "directory-garbage", fix: fixRemove, name: "all but some slots", kinds: allKinds, hit: mostlyErased,
			also: []string{"lost-chains", "dots-missing"}, gone: manyBefore(30)},
		{slug: "directory-garbage", fix: fixKeep, name: "all but some slots", kinds: allKinds, hit: mostlyErased,
			also: []string{"lost-chains", "dots-missing"}, gone: []string{"/MANY/"}},
		{slug: "dots-missing", fix: fixRecreate, name: "overwritten", kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/SUB/DEEP", 0), slot("X1      TXT", 0x20, 0, 0)...)
			l.put(l.slotOf("/SUB/DEEP", 1), slot("X2      TXT", 0x20, 0, 0)...)
			return spot{path: "/SUB/DEEP"}
		}, then: func(l *lab, now *reader) {
			now.mustFind(l, "/SUB/DEEP/X1.TXT")
			now.mustFind(l, "/SUB/DEEP/X2.TXT")
		}},
		{slug: "dots-missing", fix: fixRecreate, name: "name and attribute of .", kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/MANY", 0)+1, 'A')
			l.put(l.slotOf("/MANY", 0)+11, 0x20)
			return spot{path: "/MANY"}
		}, then: noRemains("/MANY")},
		{slug: "dots-missing", fix: fixRecreate, name: "name of .", kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/SUB/DEEP", 0), 'A')
			return spot{path: "/SUB/DEEP"}
		}, then: noRemains("/SUB/DEEP")},
		{slug: "dots-missing", fix: fixRecreate, name: "name and attribute of ..", kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/SUB/DEEP", 1)+10, 0xAA, 0)
			return spot{path: "/SUB/DEEP"}
		}, then: noRemains("/SUB/DEEP")},
		{slug: "dots-missing", fix: fixRecreate, name: "name and attribute of .. in the root", kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/SUB", 1)+10, 'A', 0x20)
			return spot{path: "/SUB"}
		}, then: noRemains("/SUB")},
		{slug: "dots-missing", fix: fixRecreate, name: "both, in two directories", kinds: allKinds, hit: func(l *lab) spot {
			for _, dir := range []string{"/SUB/DEEP", "/SUB"} {
				l.put(l.slotOf(dir, 0)+2, 0xA0)
				l.put(l.slotOf(dir, 0)+11, 0)
				l.put(l.slotOf(dir, 1)+10, 0xAA, 0)
			}
			return spot{path: "/SUB/DEEP"}
		}, then: noRemains("/SUB/DEEP")},
		{slug: "dots-missing", fix: fixRecreate, name: "remains beside a wrong first cluster", kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/SUB/DEEP", 1)+10, 0, 4)
			l.start(l.node("/SUB/LEAF.TXT"), l.last()+7)
			return spot{path: "/SUB/DEEP"}
		}, also: []string{"start-invalid", "lost-chains"}, then: noRemains("/SUB/DEEP")},
		{slug: "dots-missing", fix: fixRecreate, name: "freed", kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/SUB/DEEP", 0), 0xE5)
			l.put(l.slotOf("/SUB/DEEP", 1), 0xE5)
			return spot{path: "/SUB/DEEP"}
		}},
		{slug: "dots-missing", fix: fixRecreate, name: "full", kinds: "12 16 32", hit: func(l *lab) spot {
			for i := range 48 - 42 {
				l.append(l.node("/MANY").start, slot(fmt.Sprintf("G%d         ", i)[:11], 0x20, 0, 0))
			}
			l.put(l.slotOf("/MANY", 1), slot("X2      TXT", 0x20, 0, 0)...)
			return spot{path: "/MANY"}
		}, also: []string{"fsinfo-free-wrong"}, then: func(l *lab, now *reader) {
			now.mustFind(l, "/MANY/X2.TXT")
			now.mustFind(l, "/MANY/G5")
		}},
		{slug: "dots-missing", fix: fixRecreate, name: "none anywhere", kinds: allKinds, hit: func(l *lab) spot {
			for _, dir := range []string{"/SUB/DEEP", "/SUB", "/MANY"} {
				l.put(l.slotOf(dir, 0), 0xE5)
				l.put(l.slotOf(dir, 1), 0xE5)
			}
			return spot{}
		}},
		{slug: "after-end", fix: fixReveal, kinds: allKinds, hit: hide, then: func(l *lab, now *reader) {
			now.mustFind(l, "/SUB/DEEP/X.BIN")
		}, also: []string{"lost-chains"}},
		{slug: "after-end", fix: fixRemove, kinds: allKinds, hit: hide, gone: []string{"/SUB/DEEP/"}, also: []string{"lost-chains"}},
		{slug: "after-end", name: "leftover", fix: fixRemove, kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/", 14), slot("GHOST   TXT", 0x20, l.node("/BIG.BIN").start, 77)...)
			return spot{path: "/", off: l.slotOf("/", 14)}
		}},
		{slug: "after-end", name: "first sector is lost", fix: fixReveal, kinds: "12 16 32", hit: func(l *lab) spot {
			l.put(l.slotOf("/MANY", 0), make([]byte, 512)...)
			return spot{path: "/MANY"}
		}, also: []string{"lost-chains", "dots-missing"}, gone: []string{"/MANY/F0", "/MANY/F00.DAT", "/MANY/F01.DAT", "/MANY/F02.DAT", "/MANY/F03.DAT",
			"/MANY/F04.DAT", "/MANY/F05.DAT", "/MANY/F06.DAT", "/MANY/F07.DAT", "/MANY/F08.DAT", "/MANY/F09.DAT", "/MANY/F10.DAT",
			"/MANY/F11.DAT", "/MANY/F12.DAT", "/MANY/F13.DAT"}},
		behead("directory", "/MANY", "/_ANY"),
		behead("file", "/BIG.BIN", "/_IG.BIN"),
		behead("last of the root", "/LAST.BIN", "/_AST.BIN"),
		behead("with a long name", "/SUB/DEEP/leaf with ä long name 😀.txt", "/SUB/DEEP/leaf with ä long name 😀.txt"),
		{slug: "directory-too-long", kinds: "32", hit: func(l *lab) spot {
			l.long(l.node("/SUB").start, 1)
			return spot{path: "/SUB"}
		}, also: []string{"fsinfo-free-wrong"}, peer: "it has no limit of entries"},
		{slug: "directory-too-long", name: "root", kinds: "32", hit: func(l *lab) spot {
			l.long(2, 7)
			return spot{path: "/"}
		}, also: []string{"fsinfo-free-wrong"}, peer: "it has no limit of entries"},
		{slug: "directory-spare", kinds: allKinds, stays: true, hit: func(l *lab) spot {
			l.set(l.node("/SUB").start, l.spare(0))
			l.set(l.spare(0), l.eoc())
			l.count()
			return spot{path: "/SUB"}
		}},
	}...)
}

// noRemains proves that a directory holds what it held and nothing new.
func noRemains(path string) func(l *lab, now *reader) {
	return func(l *lab, now *reader) {
		for p := range now.files() {
			if _, ok := l.known[p]; !ok && strings.HasPrefix(p, path+"/") {
				l.t.Errorf("%s is new", p)
			}
		}
	}
}

// hide puts the end mark of DEEP behind its dot entries.
func hide(l *lab) spot {
	l.insert("/SUB/DEEP", 2, make([]byte, 32))
	return spot{path: "/SUB/DEEP"}
}

// long makes a directory of 65536 entries and some clusters more.
func (l *lab) long(start uint32, more int) {
	cs, _ := l.chain(start)
	n := int(65536*32/l.cluster) - len(cs) + more
	if n <= 0 {
		l.t.Fatal("it is as long already")
	}
	cs = append(cs, l.run(l.spare(0), n)...)
	l.link(cs)
	for _, c := range cs[len(cs)-n:] {
		l.put(l.offset(c), make([]byte, l.cluster)...)
	}
	l.count()
}

// slotDamages are those of single entries.
func slotDamages() []damage {
	return []damage{
		{slug: "directory-size", kinds: allKinds, hit: func(l *lab) spot {
			n := l.node("/SUB")
			l.put32(n.off+28, 512)
			return spot{path: "/SUB", off: n.off}
		}},
		{slug: "dot-start", kinds: allKinds, hit: func(l *lab) spot {
			off := l.slotOf("/SUB", 0)
			l.put16(off+26, 300)
			return spot{path: "/SUB", off: off}
		}},
		{slug: "dotdot-start", kinds: allKinds, hit: func(l *lab) spot {
			off := l.slotOf("/SUB/DEEP", 1)
			l.put16(off+26, uint16(l.node("/BIG.BIN").start))
			return spot{path: "/SUB/DEEP", off: off}
		}},
		{slug: "dotdot-start", name: "moved", kinds: allKinds, hit: func(l *lab) spot {
			// The directory was moved to the root, and its .. not changed.
			n := l.node("/SUB/DEEP")
			l.append(0, l.read(n.off, 32))
			l.put(n.off, 0xE5)
			for path, b := range l.known {
				if len(path) > 10 && path[:10] == "/SUB/DEEP/" {
					l.known[path[4:]] = b
					delete(l.known, path)
				}
			}
			delete(l.known, "/SUB/DEEP/")
			return spot{path: "/DEEP"}
		}},
		{slug: "dotdot-start", name: "number of the root", kinds: "32 4k", hit: func(l *lab) spot {
			off := l.slotOf("/SUB", 1)
			l.put16(off+26, 2)
			return spot{path: "/SUB", off: off}
		}},
		{slug: "dot-misplaced", kinds: allKinds, hit: func(l *lab) spot {
			l.append(0, slot("..         ", 0x10, 0, 0))
			return spot{path: "/.."}
		}},
		{slug: "dot-misplaced", name: "swapped", kinds: allKinds, hit: func(l *lab) spot {
			a, b := l.slotOf("/SUB", 0), l.slotOf("/SUB", 1)
			x, y := l.read(a, 32), l.read(b, 32)
			l.put(a, y...)
			l.put(b, x...)
			return spot{path: "/SUB/..", off: a}
		}, also: []string{"dots-missing"}},
		{slug: "attr-directory-volume", kinds: allKinds, hit: func(l *lab) spot {
			n := l.node("/SUB")
			l.put(n.off+11, 0x18)
			return spot{path: "/SUB", off: n.off}
		}},
		{slug: "attr-directory-volume", name: "file", kinds: allKinds, hit: func(l *lab) spot {
			n := l.node("/BIG.BIN")
			l.put(n.off+11, 0x38)
			return spot{path: "/BIG.BIN", off: n.off}
		}, also: []string{"directory-garbage"}},
		{slug: "attr-directory-volume", name: "label", kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/", 0)+11, 0x18)
			return spot{path: "/LABEL"}
		}, then: func(l *lab, now *reader) {
			if a := l.get(l.slotOf("/", 0) + 11); a != 8 {
				l.t.Errorf("attributes %#x", a)
			}
		}},
		attrDamage("directory as file", "/MANY", 0x00, "lost-chains"),
		attrDamage("directory as file with other bits", "/MANY", 0x21, "lost-chains"),
		attrDamage("directory as file, and as deep", "/SUB", 0x20, "lost-chains"),
		attrDamage("directory as label", "/MANY", 0x08, "lost-chains"),
		attrDamage("directory as label below the root", "/SUB/DEEP", 0x2A, "lost-chains"),
		attrDamage("directory as part of a long name", "/MANY", 0x0F, "lost-chains"),
		attrDamage("file as label", "/BIG.BIN", 0x28, "lost-chains"),
		attrDamage("file as label below the root", "/SUB/LEAF.TXT", 0x28, "lost-chains"),
		attrDamage("file as part of a long name", "/BIG.BIN", 0x0F, "lost-chains"),
		attrDamage("file with a long name as part of one", "/SUB/DEEP/leaf with ä long name 😀.txt", 0x4F, "lost-chains"),
		{slug: "attr-wrong", name: "entry before the label", kinds: allKinds, hit: func(l *lab) spot {
			a, b := l.slotOf("/", 0), l.slotOf("/", 1)
			x, y := l.read(a, 32), l.read(b, 32)
			y[11] = 0x08
			l.put(a, y...)
			l.put(b, x...)
			return spot{off: a}
		}, also: []string{"lost-chains", "label-mismatch"}, then: func(l *lab, now *reader) {
			if a := l.get(l.slotOf("/", 1) + 11); a != 8 {
				l.t.Errorf("the label has attributes %#x", a)
			}
		}},
		{slug: "attr-reserved", kinds: allKinds, stays: true, hit: func(l *lab) spot {
			n := l.node("/BIG.BIN")
			l.put(n.off+11, 0xE0)
			return spot{path: "/BIG.BIN", off: n.off}
		}},
		{slug: "time-invalid", name: "month", kinds: "32", stays: true, hit: func(l *lab) spot {
			n := l.node("/BIG.BIN")
			l.put16(n.off+24, 40<<9|13<<5|1)
			return spot{path: "/BIG.BIN", off: n.off}
		}},
		{slug: "time-invalid", name: "hour", kinds: "32", stays: true, hit: func(l *lab) spot {
			n := l.node("/BIG.BIN")
			l.put16(n.off+22, 31<<11)
			return spot{path: "/BIG.BIN", off: n.off}
		}},
		{slug: "time-invalid", name: "day", kinds: "32", stays: true, hit: func(l *lab) spot {
			n := l.node("/BIG.BIN")
			l.put16(n.off+16, 40<<9|1<<5)
			return spot{path: "/BIG.BIN", off: n.off}
		}},
		{slug: "time-invalid", name: "access", kinds: "32", stays: true, hit: func(l *lab) spot {
			n := l.node("/BIG.BIN")
			l.put16(n.off+18, 40<<9|15<<5|1)
			return spot{path: "/BIG.BIN", off: n.off}
		}},
		{slug: "time-invalid", name: "hundredths", kinds: "32", stays: true, hit: func(l *lab) spot {
			n := l.node("/BIG.BIN")
			l.put(n.off+13, 250)
			return spot{path: "/BIG.BIN", off: n.off}
		}},
	}
}

// behead zeroes the first byte of an entry, which is to be found again as now.
func behead(name, path, now string) damage {
	return damage{slug: "entry-beheaded", name: name, kinds: allKinds, hit: func(l *lab) spot {
		off := l.node(path).off
		for p, b := range l.known {
			if p == path || strings.HasPrefix(p, path+"/") {
				delete(l.known, p)
				l.known[now+p[len(path):]] = b
			}
		}
		l.put(off, 0)
		return spot{off: off}
	}, also: []string{"after-end", "lost-chains"}}
}

// attrDamage gives an entry an attribute that takes its clusters from it.
func attrDamage(name, path string, attr byte, also ...string) damage {
	return damage{slug: "attr-wrong", name: name, kinds: allKinds, hit: func(l *lab) spot {
		n := l.node(path)
		l.put(n.off+11, attr)
		return spot{off: n.off}
	}, also: also}
}

// labelDamages are those of the volume label.
func labelDamages() []damage {
	return []damage{
		{slug: "label-twice", kinds: allKinds, hit: func(l *lab) spot {
			l.append(0, slot("SECONDLABEL", 8, 0, 0))
			return spot{path: "/SECONDLABEL"}
		}},
		{slug: "label-misplaced", kinds: allKinds, hit: func(l *lab) spot {
			l.append(l.node("/SUB").start, slot("INNER      ", 8, 0, 0))
			return spot{path: "/SUB/INNER"}
		}},
		{slug: "label-clusters", kinds: allKinds, hit: func(l *lab) spot {
			off := l.slotOf("/", 0)
			l.put16(off+26, uint16(l.spare(0)))
			l.put32(off+28, 300)
			l.set(l.spare(0), l.eoc())
			l.count()
			return spot{off: off}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}},
		{slug: "label-invalid", kinds: allKinds, hit: func(l *lab) spot {
			off := l.slotOf("/", 0)
			l.put(off, []byte("A/B        ")...)
			l.boot(map[bool]int64{false: 43, true: 71}[l.bits == 32], []byte("A/B        ")...)
			return spot{off: off}
		}, also: []string{"label-mismatch"}},
	}
}

// mostlyErased has the slots of /MANY before F30.DAT hold what erased flash does.
func mostlyErased(l *lab) spot {
	for _, off := range l.places("/MANY")[:32] {
		l.put(off, []byte(strings.Repeat("\xFF", 32))...)
	}
	return spot{path: "/MANY"}
}

// manyBefore are the files of /MANY before the n-th.
func manyBefore(n int) (paths []string) {
	for i := range n {
		paths = append(paths, fmt.Sprintf("/MANY/F%02d.DAT", i))
	}
	return paths
}
