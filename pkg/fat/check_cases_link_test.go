package fat

import "bytes"

// linkDamages are chains and directories that two entries lead to.
func linkDamages() []damage {
	return append(rejoinDamages(), []damage{
		{slug: "cross-linked", name: "two files", fix: fixCopy, kinds: allKinds, hit: func(l *lab) spot {
			l.set(l.cells("/SUB/LEAF.TXT")[0], l.cells("/BIG.BIN")[7])
			return spot{path: "/SUB/LEAF.TXT", cluster: l.cells("/BIG.BIN")[7]}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}, gone: []string{"/SUB/LEAF.TXT"}, then: func(l *lab, now *reader) {
			want := l.known["/SUB/LEAF.TXT"][:l.cluster] + l.known["/BIG.BIN"][7*l.cluster:]
			if got := now.files()["/SUB/LEAF.TXT"]; len(got) != len(l.known["/SUB/LEAF.TXT"]) || got != want[:len(got)] {
				l.t.Errorf("LEAF.TXT has %d bytes", len(got))
			}
		}},
		{slug: "cross-linked", name: "two files", fix: fixTruncate, kinds: allKinds, hit: func(l *lab) spot {
			l.set(l.cells("/SUB/LEAF.TXT")[0], l.cells("/BIG.BIN")[7])
			return spot{path: "/SUB/LEAF.TXT", cluster: l.cells("/BIG.BIN")[7]}
		}, also: []string{"lost-chains"}, gone: []string{"/SUB/LEAF.TXT"}, then: func(l *lab, now *reader) {
			prefix(l, now, "/SUB/LEAF.TXT", 1)
		}},
		{slug: "cross-linked", name: "from the start", fix: fixCopy, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/SUB/LEAF.TXT"), l.node("/BIG.BIN").start)
			return spot{path: "/SUB/LEAF.TXT", cluster: l.node("/BIG.BIN").start}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}, gone: []string{"/SUB/LEAF.TXT"}, then: func(l *lab, now *reader) {
			if got := now.files()["/SUB/LEAF.TXT"]; !bytes.HasPrefix([]byte(l.known["/BIG.BIN"]), []byte(got)) || len(got) == 0 {
				l.t.Errorf("LEAF.TXT has %d bytes", len(got))
			}
		}},
		{slug: "cross-linked", name: "file leads to a directory", fix: fixTruncate, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/ONE.BIN"), l.node("/SUB/DEEP").start)
			return spot{path: "/ONE.BIN", cluster: l.node("/SUB/DEEP").start}
		}, also: []string{"lost-chains"}, gone: []string{"/ONE.BIN"}},
		{slug: "cross-linked", name: "file runs into a directory", fix: fixTruncate, kinds: allKinds, hit: func(l *lab) spot {
			l.set(l.cells("/BIG.BIN")[3], l.node("/SUB/DEEP").start)
			return spot{path: "/BIG.BIN", cluster: l.node("/SUB/DEEP").start}
		}, also: []string{"lost-chains", "size-exceeds-clusters"}, gone: []string{"/BIG.BIN"},
			then: func(l *lab, now *reader) { prefix(l, now, "/BIG.BIN", 4) }},
		{slug: "cross-linked", name: "directory runs into a file", fix: fixTruncate, kinds: "12 16 32", hit: func(l *lab) spot {
			cs := l.cells("/MANY")
			l.set(cs[2], l.cells("/BIG.BIN")[2])
			return spot{path: "/MANY", cluster: l.cells("/BIG.BIN")[2]}
		}, also: []string{"after-end"}},
		{slug: "cross-linked", name: "three files", fix: fixCopy, kinds: allKinds, hit: func(l *lab) spot {
			big := l.cells("/BIG.BIN")
			l.set(l.cells("/SUB/LEAF.TXT")[0], big[7])
			l.set(l.cells("/SUB/DEEP/X.BIN")[1], big[8])
			return spot{path: "/SUB/LEAF.TXT", cluster: big[7]}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}, gone: []string{"/SUB/LEAF.TXT", "/SUB/DEEP/X.BIN"}},
		{slug: "cross-linked", name: "file leads to the root", fix: fixTruncate, kinds: "32 4k", hit: func(l *lab) spot {
			l.start(l.node("/ONE.BIN"), 2)
			return spot{path: "/ONE.BIN", cluster: 2}
		}, also: []string{"lost-chains"}, gone: []string{"/ONE.BIN"}},
		{slug: "cross-linked", name: "root runs into a file", fix: fixTruncate, kinds: "32 4k", hit: func(l *lab) spot {
			l.set(4, l.cells("/BIG.BIN")[2])
			return spot{path: "/", cluster: l.cells("/BIG.BIN")[2]}
		}, also: []string{"after-end"}},
		{slug: "cross-linked", name: "empty file leads to a directory that lacks its .", fix: fixTruncate, kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/SUB/DEEP", 0), 0xE5)
			l.append(l.node("/SUB").start, slot("NIL     DAT", 0x20, l.node("/SUB/DEEP").start, 0))
			return spot{path: "/SUB/NIL.DAT", cluster: l.node("/SUB/DEEP").start}
		}, also: []string{"dots-missing"}},
		{slug: "cross-linked", name: "empty file leads to a directory without dots", fix: fixTruncate, kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/SUB/DEEP", 0), 0xE5)
			l.put(l.slotOf("/SUB/DEEP", 1), 0xE5)
			l.append(l.node("/SUB").start, slot("NIL     DAT", 0x20, l.node("/SUB/DEEP").start, 0))
			return spot{path: "/SUB/NIL.DAT", cluster: l.node("/SUB/DEEP").start}
		}, also: []string{"dots-missing"}},
		{slug: "cross-linked", name: "file leads to a directory that lacks its .", fix: fixTruncate, kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/SUB/DEEP", 0), 0xE5)
			l.start(l.node("/ONE.BIN"), l.node("/SUB/DEEP").start)
			return spot{path: "/ONE.BIN", cluster: l.node("/SUB/DEEP").start}
		}, also: []string{"dots-missing", "lost-chains"}, gone: []string{"/ONE.BIN"}},
		{slug: "cross-linked", name: "file leads to a directory of many files without dots", fix: fixTruncate, kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/MANY", 0), 0xE5)
			l.put(l.slotOf("/MANY", 1), 0xE5)
			l.start(l.node("/ONE.BIN"), l.node("/MANY").start)
			return spot{path: "/ONE.BIN", cluster: l.node("/MANY").start}
		}, also: []string{"dots-missing", "lost-chains", "fsinfo-free-wrong"}, gone: []string{"/ONE.BIN"}},
		{slug: "cross-linked", name: "file leads to what it lies in", fix: fixTruncate, kinds: allKinds, hit: func(l *lab) spot {
			// With as many slots that cannot be as such that can it could as well
			// be contents of the file, if that did not lie in it.
			for i := range 2 {
				l.put(l.slotOf("/SUB", i), slot("\x02\x03       \x04 ", 0x20, 0, 0)...)
			}
			l.start(l.node("/SUB/DEEP/X.BIN"), l.node("/SUB").start)
			return spot{path: "/SUB/DEEP/X.BIN", cluster: l.node("/SUB").start}
		}, also: []string{"short-illegal", "short-twice", "dots-missing", "lost-chains", "fsinfo-free-wrong"}, gone: []string{"/SUB/DEEP/X.BIN"}},
		{slug: "directory-twice", fix: fixRemove, kinds: allKinds, hit: func(l *lab) spot {
			l.append(0, slot("SUBTWO     ", 0x10, l.node("/SUB").start, 0))
			return spot{path: "/SUBTWO"}
		}},
		{slug: "directory-twice", name: "first is wrong", fix: fixRemove, kinds: allKinds, hit: func(l *lab) spot {
			l.append(0, slot("DEEPTWO    ", 0x10, l.node("/SUB/DEEP").start, 0))
			return spot{path: "/DEEPTWO"}
		}},
		{slug: "directory-twice", name: "ancestor", fix: fixRemove, kinds: allKinds, hit: func(l *lab) spot {
			l.append(l.node("/SUB/DEEP").start, slot("LOOP       ", 0x10, l.node("/SUB").start, 0))
			return spot{path: "/SUB/DEEP/LOOP"}
		}},
		{slug: "directory-twice", name: "root", fix: fixRemove, kinds: "32 4k", hit: func(l *lab) spot {
			l.append(l.node("/SUB/DEEP").start, slot("ROOT       ", 0x10, 2, 0))
			return spot{path: "/SUB/DEEP/ROOT"}
		}},
	}...)
}

// rejoinDamages are entries and chains that lead into something else while what
// they led to is among the lost clusters.
func rejoinDamages() []damage {
	return []damage{
		{slug: "cross-linked", name: "two files", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			l.set(l.cells("/SUB/LEAF.TXT")[0], l.cells("/BIG.BIN")[7])
			return spot{path: "/SUB/LEAF.TXT", cluster: l.cells("/BIG.BIN")[7]}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}},
		{slug: "cross-linked", name: "from the start", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/SUB/LEAF.TXT"), l.node("/BIG.BIN").start)
			return spot{path: "/SUB/LEAF.TXT", cluster: l.node("/BIG.BIN").start}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}},
		{slug: "cross-linked", name: "file leads to a directory", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/BIG.BIN"), l.node("/MANY").start)
			return spot{path: "/BIG.BIN", cluster: l.node("/MANY").start}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}},
		{slug: "cross-linked", name: "directory leads to a file", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/SUB/DEEP"), l.node("/BIG.BIN").start)
			return spot{path: "/SUB/DEEP", cluster: l.node("/BIG.BIN").start}
		}, also: []string{"lost-chains", "fsinfo-free-wrong", "directory-garbage", "dots-missing"}},
		{slug: "cross-linked", name: "small file leads to a larger one", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/ONE.BIN"), l.node("/SUB/LEAF.TXT").start)
			return spot{path: "/ONE.BIN"}
		}, also: []string{"lost-chains", "fsinfo-free-wrong", "clusters-beyond-size"}},
		{slug: "dots-missing", name: "entry leads into the middle", fix: fixRejoin, kinds: "12 16 32", hit: func(l *lab) spot {
			l.start(l.node("/MANY"), l.cells("/MANY")[2])
			return spot{path: "/MANY"}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}},
		{slug: "dots-missing", name: "entry leads to zeros", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/MANY"), l.spare(0))
			l.set(l.spare(0), l.eoc())
			return spot{path: "/MANY"}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}},
		{slug: "directory-garbage", name: "entry leads to a file of the directory", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/MANY"), l.node("/MANY/F09.DAT").start)
			return spot{path: "/MANY"}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}},
		{slug: "cross-linked", name: "directory leads into a chain before it", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/MANY"), l.cells("/A rather long name.bin")[3])
			return spot{path: "/MANY"}
		}, also: []string{"lost-chains", "fsinfo-free-wrong", "directory-garbage"}},
		{slug: "directory-twice", name: "its own is lost", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/MANY"), l.node("/SUB").start)
			return spot{path: "/MANY"}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}},
		{slug: "directory-twice", name: "its own is lost, that of another level", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/SUB/DEEP"), l.node("/MANY").start)
			return spot{path: "/SUB/DEEP"}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}},
	}
}
