package fat

import "strings"

// chainDamages are those of single chains and their sizes.
func chainDamages() []damage {
	// into breaks BIG.BIN behind its fourth cluster.
	into := func(slug string, to func(l *lab, cs []uint32) uint32) damage {
		return damage{slug: slug, name: "file", fix: fixTruncate, kinds: allKinds, hit: func(l *lab) spot {
			cs := l.cells("/BIG.BIN")
			l.set(cs[3], to(l, cs))
			l.set(cs[7], l.eoc()) // so that what is lost is not as long as what is missing
			return spot{path: "/BIG.BIN", cluster: cs[3]}
		}, also: []string{"lost-chains"}, gone: []string{"/BIG.BIN"}, then: func(l *lab, now *reader) {
			prefix(l, now, "/BIG.BIN", 4)
		}}
	}
	// end breaks only what follows the last cluster that the size needs.
	end := func(slug string, to func(l *lab, cs []uint32) uint32) damage {
		return damage{slug: slug, name: "end", fix: fixSet, kinds: allKinds, hit: func(l *lab) spot {
			cs := l.cells("/BIG.BIN")
			l.set(cs[8], to(l, cs))
			return spot{path: "/BIG.BIN", cluster: cs[8]}
		}, also: []string{"fsinfo-free-wrong"}}
	}
	// again leaves the rest of the chain whole.
	again := func(slug string, to func(l *lab, cs []uint32) uint32) damage {
		return damage{slug: slug, name: "rest is there", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			cs := l.cells("/BIG.BIN")
			l.set(cs[3], to(l, cs))
			return spot{path: "/BIG.BIN", cluster: cs[3]}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}}
	}
	// dir breaks a directory behind its first cluster.
	dir := func(slug string, to func(l *lab, cs []uint32) uint32) damage {
		return damage{slug: slug, name: "directory", fix: fixTruncate, kinds: "12 16 32", hit: func(l *lab) spot {
			cs := l.cells("/MANY")
			l.set(cs[0], to(l, cs))
			l.set(cs[1], 0)
			return spot{path: "/MANY", cluster: cs[0]}
		}, also: []string{"lost-chains", "fsinfo-free-wrong"}, gone: []string{"/MANY/F1", "/MANY/"}}
	}
	var out []damage
	for slug, to := range map[string]func(l *lab, cs []uint32) uint32{
		"chain-out-of-range": func(l *lab, _ []uint32) uint32 { return l.last() + 1 },
		"chain-free":         func(l *lab, _ []uint32) uint32 { return l.spare(0) },
		"chain-bad": func(l *lab, _ []uint32) uint32 {
			l.set(l.spare(0), l.bad())
			l.count()
			return l.spare(0)
		},
		"chain-loop": func(_ *lab, cs []uint32) uint32 { return cs[0] },
	} {
		out = append(out, into(slug, to), end(slug, to), again(slug, to), dir(slug, to))
	}
	return append(out, sizeDamages()...)
}

// prefix proves that of a file the first clusters are there.
func prefix(l *lab, now *reader, path string, clusters int64) {
	l.t.Helper()
	got, ok := now.files()[path]
	if want := l.known[path][:clusters*l.cluster]; !ok || got != want {
		l.t.Errorf("%s: there %v, %d bytes, want the first %d", path, ok, len(got), len(want))
	}
}

func sizeDamages() []damage {
	return []damage{
		{slug: "chain-out-of-range", name: "reserved value", fix: fixSet, kinds: allKinds, hit: func(l *lab) spot {
			cs := l.cells("/HELLO.TXT")
			l.set(cs[2], l.mask()-15)
			return spot{path: "/HELLO.TXT", cluster: cs[2]}
		}},
		{slug: "start-invalid", name: "1", fix: fixTruncate, kinds: allKinds, hit: func(l *lab) spot {
			l.set(l.cells("/BIG.BIN")[7], l.eoc())
			l.start(l.node("/BIG.BIN"), 1)
			return spot{path: "/BIG.BIN"}
		}, also: []string{"lost-chains"}, gone: []string{"/BIG.BIN"}},
		{slug: "start-invalid", name: "free", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/BIG.BIN"), l.spare(0))
			return spot{path: "/BIG.BIN"}
		}, also: []string{"lost-chains"}},
		{slug: "start-invalid", name: "empty", fix: fixClear, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/EMPTY.DAT"), l.last()+9)
			return spot{path: "/EMPTY.DAT"}
		}},
		{slug: "start-invalid", name: "directory", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			l.start(l.node("/SUB/DEEP"), l.spare(0))
			return spot{path: "/SUB/DEEP"}
		}, also: []string{"lost-chains"}},
		{slug: "start-invalid", name: "directory", fix: fixRemove, kinds: allKinds, hit: func(l *lab) spot {
			l.put(l.slotOf("/SUB/DEEP", 0), 'X')
			l.start(l.node("/SUB/DEEP"), l.spare(0))
			return spot{path: "/SUB/DEEP"}
		}, also: []string{"lost-chains"}, gone: []string{"/SUB/DEEP/"}},
		{slug: "size-exceeds-clusters", fix: fixTruncate, kinds: allKinds, hit: func(l *lab) spot {
			n := l.node("/BIG.BIN")
			l.put32(n.off+28, 90*uint32(l.cluster))
			return spot{path: "/BIG.BIN", off: n.off}
		}, gone: []string{"/BIG.BIN"}, then: func(l *lab, now *reader) {
			if got := now.files()["/BIG.BIN"]; len(got) != int(9*l.cluster) || got[:len(l.known["/BIG.BIN"])] != l.known["/BIG.BIN"] {
				l.t.Errorf("BIG.BIN has %d bytes", len(got))
			}
		}},
		{slug: "size-exceeds-clusters", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			cs := l.cells("/A rather long name.bin")
			l.set(cs[1], l.eoc())
			return spot{path: "/A rather long name.bin"}
		}, also: []string{"lost-chains"}},
		{slug: "clusters-beyond-size", fix: fixTruncate, kinds: allKinds, hit: beyond, gone: []string{"/BIG.BIN"},
			also: []string{"fsinfo-free-wrong"}, then: func(l *lab, now *reader) { prefix(l, now, "/BIG.BIN", 2) }},
		{slug: "clusters-beyond-size", fix: fixDetach, kinds: allKinds, hit: beyond, gone: []string{"/BIG.BIN"},
			also: []string{"lost-chains"}, then: func(l *lab, now *reader) { prefix(l, now, "/BIG.BIN", 2) }},
		{slug: "clusters-beyond-size", fix: fixKeep, kinds: allKinds, hit: beyond, gone: []string{"/BIG.BIN"},
			then: func(l *lab, now *reader) {
				if got := now.files()["/BIG.BIN"]; len(got) != int(9*l.cluster) {
					l.t.Errorf("BIG.BIN has %d bytes", len(got))
				}
			}},
		{slug: "empty-with-clusters", fix: fixTruncate, kinds: allKinds, hit: reserved, also: []string{"fsinfo-free-wrong"}},
		{slug: "empty-with-clusters", fix: fixDetach, kinds: allKinds, hit: reserved, also: []string{"lost-chains"}},
		{slug: "empty-with-clusters", fix: fixKeep, kinds: allKinds, hit: reserved, gone: []string{"/EMPTY.DAT"},
			then: func(l *lab, now *reader) {
				if got := now.files()["/EMPTY.DAT"]; len(got) != int(l.cluster) {
					l.t.Errorf("EMPTY.DAT has %d bytes", len(got))
				}
			}},
		{slug: "size-without-clusters", fix: fixTruncate, kinds: allKinds, hit: func(l *lab) spot {
			n := l.node("/EMPTY.DAT")
			l.put32(n.off+28, 1000)
			return spot{path: "/EMPTY.DAT", off: n.off}
		}},
		{slug: "size-without-clusters", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			n := l.node("/BIG.BIN")
			l.start(n, 0)
			return spot{path: "/BIG.BIN", off: n.off}
		}, also: []string{"lost-chains"}},
		{slug: "directory-without-clusters", fix: fixRejoin, kinds: allKinds, hit: func(l *lab) spot {
			n := l.node("/SUB")
			l.start(n, 0)
			return spot{path: "/SUB", off: n.off}
		}, also: []string{"lost-chains"}},
		{slug: "directory-without-clusters", fix: fixRemove, kinds: allKinds, hit: func(l *lab) spot {
			off := l.slotOf("/SUB", 0)
			n := l.node("/SUB")
			l.start(n, 0)
			l.put(off, 'X')
			return spot{path: "/SUB", off: n.off}
		}, also: []string{"lost-chains"}, gone: []string{"/SUB/"}},
	}
}

// beyond makes BIG.BIN shorter than its chain.
func beyond(l *lab) spot {
	n := l.node("/BIG.BIN")
	l.put32(n.off+28, 2*uint32(l.cluster))
	return spot{path: "/BIG.BIN", off: n.off}
}

// reserved gives the empty file a cluster.
func reserved(l *lab) spot {
	n := l.node("/EMPTY.DAT")
	l.start(n, l.spare(0))
	l.set(l.spare(0), l.eoc())
	l.count()
	return spot{path: "/EMPTY.DAT", off: n.off}
}

// lostDamages are clusters that no entry leads to.
func lostDamages() []damage {
	lost := func(name, fix string, hit func(l *lab), then func(l *lab, now *reader)) damage {
		return damage{slug: "lost-chains", name: name, fix: fix, kinds: allKinds, then: then, hit: func(l *lab) spot {
			hit(l)
			l.count()
			return spot{}
		}, also: []string{"fsinfo-free-wrong"}}
	}
	two := func(l *lab) {
		l.link([]uint32{l.spare(0), l.spare(1), l.spare(5)})
		l.put(l.offset(l.spare(1)), []byte("something")...)
	}
	free := func(l *lab, now *reader) {
		if got := now.free(); got != l.free() || got < 100 {
			l.t.Errorf("%d clusters are free", got)
		}
	}
	return []damage{
		lost("chain", fixFree, two, free),
		lost("chain", fixRescue, two, func(l *lab, now *reader) {
			if got := now.files()["/FOUND.000/FILE0000.CHK"]; len(got) != int(3*l.cluster) || got[l.cluster:][:9] != "something" {
				l.t.Errorf("the rescued file has %d bytes", len(got))
			}
		}),
		lost("cycle", fixFree, func(l *lab) { l.set(l.spare(0), l.spare(1)); l.set(l.spare(1), l.spare(0)) }, free),
		lost("cycle", fixRescue, func(l *lab) { l.set(l.spare(0), l.spare(1)); l.set(l.spare(1), l.spare(0)) }, foundFiles(1)),
		lost("cycle with a tail", fixRescue, func(l *lab) {
			l.set(l.spare(9), l.spare(0))
			l.set(l.spare(0), l.spare(1))
			l.set(l.spare(1), l.spare(0))
		}, foundFiles(1)),
		lost("two that meet", fixRescue, func(l *lab) {
			l.link([]uint32{l.spare(0), l.spare(1), l.spare(5)})
			l.set(l.spare(8), l.spare(1))
		}, foundFiles(2)),
		lost("into a file", fixRescue, func(l *lab) { l.set(l.spare(8), l.cells("/BIG.BIN")[3]) }, foundFiles(1)),
		lost("root is empty", fixRescue, func(l *lab) {
			for _, off := range l.places("/") {
				l.put(off, make([]byte, 32)...)
			}
		}, func(l *lab, now *reader) {
			got := now.files()
			have := map[string]int{}
			for _, b := range got {
				have[b]++
			}
			for path, b := range l.known {
				if len(b) > int(l.cluster)*8/10 && have[b+string(make([]byte, 7))] == 0 && have[b] == 0 {
					l.t.Errorf("%s is not among %d rescued files", path, len(got))
				}
			}
		}).losing("/").with("label-boot-only").unjudged(peerLabel),
		lost("entry of a directory is gone", fixRescue, func(l *lab) {
			l.put(l.node("/MANY").off, 0xE5)
		}, func(l *lab, now *reader) {
			for path, b := range l.known {
				if strings.HasPrefix(path, "/MANY/F") && now.files()["/FOUND.000/DIR00000"+path[5:]] != b {
					l.t.Errorf("%s is not in the rescued directory", path)
				}
			}
		}).losing("/MANY/"),
		lost("root is empty but for a byte behind its end", fixRescue, func(l *lab) {
			for _, off := range l.places("/") {
				l.put(off, make([]byte, 32)...)
			}
			l.put(l.slotOf("/", 3)+16, 0x9D)
		}, func(l *lab, now *reader) {
			if n := len(now.files()); n < 50 {
				l.t.Errorf("%d files", n)
			}
		}).losing("/").with("label-boot-only").unjudged(peerLabel),
	}
}

// unjudged is d with a reason not to ask fsck.fat.
func (d damage) unjudged(why string) damage {
	d.peer = why
	return d
}

// losing is d with files that may go.
func (d damage) losing(paths ...string) damage {
	d.gone = paths
	return d
}

// foundFiles proves how many files were rescued.
func foundFiles(n int) func(l *lab, now *reader) {
	return func(l *lab, now *reader) {
		ns, err := now.list(now.mustFind(l, "/FOUND.000").start)
		if err != nil || len(ns) != n+2 {
			l.t.Errorf("%d files in FOUND.000, want %d, %v", len(ns)-2, n, err)
		}
	}
}

func (r *reader) mustFind(l *lab, path string) node {
	l.t.Helper()
	n, ok := r.find(path)
	if !ok {
		l.t.Fatalf("there is no %s", path)
	}
	return n
}
