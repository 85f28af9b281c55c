package exfat

import (
	"encoding/binary"
	"slices"
	"strings"
)

// long is the file in the root that is scattered.
const long = "/A rather long name with ä.bin"

// chainInjuries are those of single chains and of lengths.
func chainInjuries() []injury {
	var out []injury
	for slug, to := range map[string]func(l *lab, cs []uint32) uint32{
		"chain-broken": func(*lab, []uint32) uint32 { return 0 },
		"chain-loop":   func(_ *lab, cs []uint32) uint32 { return cs[0] },
	} {
		hit := func(path string, at int) func(l *lab) spot {
			return func(l *lab) spot {
				cs := l.cells(path)
				l.setFAT(cs[at], to(l, cs))
				return spot{path: path, cluster: cs[at]}
			}
		}
		out = append(out,
			injury{slug: slug, name: "end", fix: fixSet, hit: hit("/BIG.BIN", 8)},
			injury{slug: slug, name: "middle", fix: fixRejoin, hit: hit("/BIG.BIN", 3)},
			injury{slug: slug, name: "scattered", fix: fixRejoin, hit: hit(long, 1)},
			injury{slug: slug, name: "directory", fix: fixRejoin, hit: hit("/MANY", 1), also: []string{"lost-clusters"}},
			injury{slug: slug, name: "middle", fix: fixTruncate, hit: hit("/BIG.BIN", 3), gone: []string{"/BIG.BIN"}, then: prefix("/BIG.BIN", 4)},
			injury{slug: slug, name: "directory", fix: fixTruncate, hit: hit("/MANY", 1), also: []string{"lost-clusters"},
				gone: []string{"/MANY/E.DAT", "/MANY/F.DAT", "/MANY/G.DAT", "/MANY/H.DAT", "/MANY/I.DAT"}},
		)
	}
	out = append(out, rootChainInjuries()...)
	return append(out, lengthInjuries()...)
}

// prefix proves that of a file the first clusters are there.
func prefix(path string, clusters int64) func(l *lab, now *reader) {
	return func(l *lab, now *reader) {
		got, ok := now.files()[path]
		if want := l.known[path][:clusters*l.cluster]; !ok || got != want {
			l.t.Errorf("%s: there %v, %d bytes, want the first %d", path, ok, len(got), len(want))
		}
	}
}

// grown proves that a file has so many whole clusters, and begins with what it
// held.
func grown(path string, clusters int64) func(l *lab, now *reader) {
	return func(l *lab, now *reader) {
		if got := now.files()[path]; len(got) != int(clusters*l.cluster) || !strings.HasPrefix(got, l.known[path]) {
			l.t.Errorf("%s has %d bytes", path, len(got))
		}
	}
}

func rootChainInjuries() []injury {
	return []injury{
		{slug: "chain-broken", name: "root behind its end", fix: fixSet, hit: func(l *lab) spot {
			cs := l.cells("/")
			l.setFAT(cs[2], 0)
			return spot{path: "/", cluster: cs[2]}
		}},
		{slug: "chain-loop", name: "root behind its end", fix: fixSet, hit: func(l *lab) spot {
			cs := l.cells("/")
			l.setFAT(cs[2], cs[0])
			return spot{path: "/", cluster: cs[2]}
		}},
		{slug: "chain-broken", name: "root", fix: fixRejoin, hit: func(l *lab) spot {
			cs := l.cells("/")
			l.setFAT(cs[0], 0)
			return spot{path: "/", cluster: cs[0]}
		}, also: []string{"lost-clusters"}},
		{slug: "chain-broken", name: "root", fix: fixTruncate, hit: func(l *lab) spot {
			cs := l.cells("/")
			l.setFAT(cs[1], 1)
			return spot{path: "/", cluster: cs[1]}
		}, also: []string{"lost-clusters"}, gone: []string{"/MANY/", "/LAST.BIN", "/PART.BIN"}},
		{slug: "chain-broken", name: "root runs into the bitmap", fix: fixRejoin, hit: func(l *lab) spot {
			cs := l.cells("/")
			l.setFAT(cs[0], l.get32(l.special(0x81)+20))
			return spot{path: "/", cluster: cs[0]}
		}, also: []string{"lost-clusters"}},
	}
}

// lengthInjuries are lengths and first clusters that do not fit.
func lengthInjuries() []injury {
	cl := func(l *lab, n uint64) uint64 { return n * uint64(l.cluster) }
	return append(hitInjuries(), []injury{
		{slug: "start-invalid", name: "1", fix: fixRejoin, hit: func(l *lab) spot {
			n := l.redo("/BIG.BIN", func(b []byte) { b[52], b[53], b[54], b[55] = 1, 0, 0, 0 })
			return spot{path: "/BIG.BIN", off: n.slots[0]}
		}},
		{slug: "start-invalid", name: "contiguous", fix: fixRejoin, hit: func(l *lab) spot {
			n := l.redo("/HELLO.TXT", func(b []byte) { copy(b[52:], []byte{0, 0, 0, 0}) })
			return spot{path: "/HELLO.TXT", off: n.slots[0]}
		}},
		{slug: "start-invalid", name: "directory", fix: fixRejoin, hit: func(l *lab) spot {
			n := l.redo("/SUB/DEEP", func(b []byte) { copy(b[52:], []byte{0xFF, 0xFF, 0xFF, 0xFF}) })
			return spot{path: "/SUB/DEEP", off: n.slots[0]}
		}, also: []string{"lost-clusters"}},
		{slug: "start-invalid", name: "1", fix: fixTruncate, hit: func(l *lab) spot {
			l.redo("/BIG.BIN", func(b []byte) { b[52], b[53], b[54], b[55] = 1, 0, 0, 0 })
			return spot{path: "/BIG.BIN"}
		}, gone: []string{"/BIG.BIN"}},
		{slug: "length-exceeds-clusters", name: "chain", fix: fixTruncate, hit: func(l *lab) spot {
			l.redo("/BIG.BIN", lengths(cl(l, 90), 5))
			return spot{path: "/BIG.BIN"}
		}, gone: []string{"/BIG.BIN"}, then: func(l *lab, now *reader) {
			if n := l.node("/BIG.BIN"); n.length != uint64(9*l.cluster) || n.valid != 5 {
				l.t.Errorf("BIG.BIN is %+v", n)
			}
		}},
		{slug: "length-exceeds-clusters", name: "2^62", fix: fixTruncate, hit: func(l *lab) spot {
			l.redo("/BIG.BIN", lengths(1<<62, 1<<62))
			return spot{path: "/BIG.BIN"}
		}, gone: []string{"/BIG.BIN"}},
		{slug: "length-exceeds-clusters", name: "2^64-1 contiguous", fix: fixTruncate, hit: func(l *lab) spot {
			l.redo("/LAST.BIN", lengths(1<<64-1, 1<<64-1))
			return spot{path: "/LAST.BIN"}
		}, gone: []string{"/LAST.BIN"}, then: grown("/LAST.BIN", 2)},
		{slug: "length-exceeds-clusters", name: "over the end", fix: fixTruncate, hit: func(l *lab) spot {
			l.redo("/LAST.BIN", lengths(cl(l, 3), cl(l, 3)))
			return spot{path: "/LAST.BIN"}
		}, gone: []string{"/LAST.BIN"}, then: grown("/LAST.BIN", 2)},
		{slug: "length-exceeds-clusters", name: "directory leaves the heap", fix: fixTruncate, hit: func(l *lab) spot {
			l.dir("/WIDE", l.run(2), noFat)
			l.file("/WIDE/F.DAT", l.run(2), 0)
			l.run(2) // free, and no part of it
			l.redo("/WIDE", lengths(cl(l, uint64(l.n)), cl(l, uint64(l.n))))
			return spot{path: "/WIDE"}
		}, then: func(l *lab, _ *reader) {
			if n := l.node("/WIDE"); n.length != cl(l, 2) || n.valid != n.length {
				l.t.Errorf("WIDE is %+v", n)
			}
		}},
		{slug: "length-exceeds-clusters", name: "file leaves the heap", fix: fixTruncate, hit: func(l *lab) spot {
			l.file("/WIDE.BIN", l.run(2), noFat)
			l.redo("/WIDE.BIN", lengths(1<<60, 1<<60))
			return spot{path: "/WIDE.BIN"}
		}, gone: []string{"/WIDE.BIN"}, then: grown("/WIDE.BIN", 2)},
		{slug: "length-exceeds-clusters", name: "scattered", fix: fixRejoin, hit: func(l *lab) spot {
			l.setFAT(l.cells(long)[1], 0xFFFFFFFF)
			return spot{path: long}
		}},
		{slug: "clusters-beyond-length", fix: fixTruncate, hit: func(l *lab) spot {
			l.redo("/BIG.BIN", lengths(cl(l, 2), cl(l, 2)))
			return spot{path: "/BIG.BIN", cluster: l.node("/BIG.BIN").start + 1}
		}, gone: []string{"/BIG.BIN"}, also: []string{"lost-clusters"}, then: prefix("/BIG.BIN", 2)},
		{slug: "empty-with-clusters", hit: func(l *lab) spot {
			n := l.redo("/EMPTY.DAT", func(b []byte) { b[33] |= 2; put32(b[52:], l.spare(0)) })
			l.bit(l.spare(0), true)
			return spot{path: "/EMPTY.DAT", off: n.slots[0]}
		}, also: []string{"lost-clusters", "empty-no-fat-chain"}},
		{slug: "empty-with-clusters", name: "invalid", hit: func(l *lab) spot {
			l.redo("/EMPTY.DAT", func(b []byte) { put32(b[52:], 0xFFFFFFFF) })
			return spot{path: "/EMPTY.DAT"}
		}},
	}...)
}

// lengths sets both lengths of a set.
func lengths(length, valid uint64) func(b []byte) {
	return func(b []byte) { put64(b[40:], valid); put64(b[56:], length) }
}

func getLength(b []byte) uint64 { return binary.LittleEndian.Uint64(b[56:]) }

func put32(b []byte, v uint32) {
	b[0], b[1], b[2], b[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
}
func put64(b []byte, v uint64) { put32(b, uint32(v)); put32(b[4:], uint32(v>>32)) }

// hitInjuries are entries of which one field was hit: their checksum is wrong,
// and what the field was is found.
func hitInjuries() []injury {
	sum := []string{"set-checksum"}
	hit := func(slug, name, fix, path string, change func(l *lab, b []byte)) injury {
		return injury{slug: slug, name: name, fix: fix, also: sum, hit: func(l *lab) spot {
			n := l.edit(path, func(b []byte) { change(l, b) })
			return spot{path: path, off: n.slots[0]}
		}}
	}
	with := func(d injury, also ...string) injury {
		d.also = slices.Concat(also, sum)
		return d
	}
	return []injury{
		with(hit("start-invalid", "hit", fixRejoin, "/HELLO.TXT", func(l *lab, b []byte) { put32(b[52:], l.spare(3)) }), "bitmap-free"),
		with(hit("start-invalid", "hit, chain", fixRejoin, "/BIG.BIN", func(l *lab, b []byte) { put32(b[52:], l.spare(3)) }),
			"bitmap-free", "chain-broken"),
		hit("start-invalid", "a bit", fixSet, "/BIG.BIN", func(l *lab, b []byte) { b[52] ^= 8 }),
		hit("start-invalid", "a bit, contiguous", fixSet, "/HELLO.TXT", func(l *lab, b []byte) { b[52] ^= 1 }),
		hit("start-invalid", "a high bit", fixSet, "/HELLO.TXT", func(l *lab, b []byte) { b[55] ^= 0x80 }),
		hit("start-invalid", "a bit, directory", fixSet, "/SUB", func(l *lab, b []byte) { b[52] ^= 4 }),
		hit("length-exceeds-clusters", "a bit of what was never written to", fixSet, "/PART.BIN", func(l *lab, b []byte) { b[60] ^= 1 }),
		hit("valid-length", "a bit of what was never written to", fixKeep, "/PART.BIN", func(l *lab, b []byte) { put64(b[56:], getLength(b)&^uint64(4*l.cluster)) }),
		hit("directory-attribute", "none", fixSet, "/BIG.BIN", func(l *lab, b []byte) { b[4] |= 0x10 }),
		hit("length-exceeds-clusters", "hit", fixSet, "/BIG.BIN", func(l *lab, b []byte) { put64(b[56:], 90*uint64(l.cluster)) }),
		hit("length-exceeds-clusters", "hit, contiguous", fixSet, "/HELLO.TXT", func(l *lab, b []byte) { put64(b[56:], 90*uint64(l.cluster)) }),
		hit("length-exceeds-clusters", "hit, directory", fixSet, "/MANY", func(l *lab, b []byte) { put64(b[56:], 90*uint64(l.cluster)) }),
		hit("valid-length", "length was hit", fixKeep, "/BIG.BIN", func(l *lab, b []byte) { put64(b[56:], 5) }),
		hit("valid-length", "length was hit, contiguous", fixKeep, "/HELLO.TXT", func(l *lab, b []byte) { put64(b[56:], 5) }),
		hit("valid-length", "length was hit to 0", fixKeep, "/BIG.BIN", func(l *lab, b []byte) { put64(b[56:], 0) }),
		hit("valid-length", "valid length was hit", fixSet, "/BIG.BIN", func(l *lab, b []byte) { put64(b[40:], 5) }),
		hit("valid-length", "valid length was hit, high", fixSet, "/BIG.BIN", func(l *lab, b []byte) { put64(b[40:], 1<<50) }),
		hit("no-fat-chain", "contiguous", fixSet, "/HELLO.TXT", func(l *lab, b []byte) { b[33] &^= 2 }),
		hit("no-fat-chain", "chain", fixSet, long, func(l *lab, b []byte) { b[33] |= 2 }),
		hit("no-fat-chain", "directory", fixSet, "/MANY", func(l *lab, b []byte) { b[33] |= 2 }),
		with(hit("directory-attribute", "", fixSet, "/SUB", func(l *lab, b []byte) { b[4] &^= 0x10 })),
		{slug: "clusters-beyond-length", fix: fixKeep, also: sum, hit: func(l *lab) spot {
			l.edit("/BIG.BIN", lengths(uint64(2*l.cluster), uint64(2*l.cluster)))
			return spot{path: "/BIG.BIN"}
		}, gone: []string{"/BIG.BIN"}, then: func(l *lab, now *reader) {
			if got := now.files()["/BIG.BIN"]; !strings.HasPrefix(l.known["/BIG.BIN"], got[:2*l.cluster]) || len(got) != int(9*l.cluster) {
				l.t.Errorf("BIG.BIN has %d bytes", len(got))
			}
		}},
	}
}

// linkInjuries are clusters and directories that two entries lead to.
func linkInjuries() []injury {
	meet := func(l *lab) spot {
		l.setFAT(l.cells("/SUB/LEAF.TXT")[0], l.cells("/BIG.BIN")[7])
		return spot{path: "/SUB/LEAF.TXT", cluster: l.cells("/BIG.BIN")[7]}
	}
	// A directory that leads to what is no directory has nothing left but its entry.
	onFile := func(fix string, then func(l *lab, now *reader)) injury {
		return injury{slug: "cross-linked", name: "directory on a file", fix: fix, hit: func(l *lab) spot {
			start := l.node("/BIG.BIN").start
			l.redo("/SUB/DEEP", func(b []byte) { put32(b[52:], start) })
			return spot{path: "/SUB/DEEP", cluster: start}
		}, also: []string{"lost-clusters"}, gone: []string{"/SUB/DEEP/"}, then: func(l *lab, now *reader) {
			if _, ok := now.files()["/SUB/DEEP/"]; !ok {
				l.t.Error("DEEP is no directory any more")
			}
			then(l, now)
		}}
	}
	ofFile := func(fix string, then func(l *lab, now *reader)) injury {
		return injury{slug: "vendor-clusters", name: "of a file", fix: fix, hit: func(l *lab) spot {
			start := l.node("/BIG.BIN").start
			l.redo("/SUB/V.DAT", func(b []byte) { put32(b[128+20:], start) })
			return spot{path: "/SUB/V.DAT"}
		}, also: []string{"lost-clusters"}, then: then}
	}
	return append(twiceInjuries(), []injury{
		{slug: "cross-linked", name: "two files", fix: fixRejoin, hit: meet},
		{slug: "cross-linked", name: "two files", fix: fixCopy, hit: meet, gone: []string{"/SUB/LEAF.TXT"}, then: func(l *lab, now *reader) {
			want := l.known["/SUB/LEAF.TXT"][:l.cluster] + l.known["/BIG.BIN"][7*l.cluster:]
			if got := now.files()["/SUB/LEAF.TXT"]; len(got) != len(l.known["/SUB/LEAF.TXT"]) || got != want[:len(got)] {
				l.t.Errorf("LEAF.TXT has %d bytes", len(got))
			}
		}},
		{slug: "cross-linked", name: "two files", fix: fixTruncate, hit: meet, gone: []string{"/SUB/LEAF.TXT"}, then: prefix("/SUB/LEAF.TXT", 1)},
		{slug: "cross-linked", name: "from the start", fix: fixCopy, hit: func(l *lab) spot {
			start := l.node("/BIG.BIN").start
			l.redo("/SUB/LEAF.TXT", func(b []byte) { b[33] |= 2; put32(b[52:], start) })
			return spot{path: "/SUB/LEAF.TXT", cluster: start}
		}, also: []string{"lost-clusters"}, gone: []string{"/SUB/LEAF.TXT"}, then: func(l *lab, now *reader) {
			if got := now.files()["/SUB/LEAF.TXT"]; len(got) == 0 || !strings.HasPrefix(l.known["/BIG.BIN"], got) {
				l.t.Errorf("LEAF.TXT has %d bytes", len(got))
			}
		}},
		{slug: "cross-linked", name: "with the bitmap", fix: fixTruncate, hit: func(l *lab) spot {
			bitmap := l.get32(l.special(0x81) + 20)
			l.redo("/ONE.BIN", func(b []byte) { put32(b[52:], bitmap) })
			return spot{path: "/ONE.BIN", cluster: bitmap}
		}, also: []string{"lost-clusters"}, gone: []string{"/ONE.BIN"}},
		{slug: "cross-linked", name: "with the root", fix: fixCopy, hit: func(l *lab) spot {
			l.redo("/ONE.BIN", func(b []byte) { put32(b[52:], l.root) })
			return spot{path: "/ONE.BIN", cluster: l.root}
		}, also: []string{"lost-clusters"}, gone: []string{"/ONE.BIN"}},
		{slug: "cross-linked", name: "file runs into a directory", fix: fixTruncate, hit: func(l *lab) spot {
			l.setFAT(l.cells("/BIG.BIN")[3], l.node("/SUB").start)
			return spot{path: "/BIG.BIN", cluster: l.node("/SUB").start}
		}, gone: []string{"/BIG.BIN"}, then: prefix("/BIG.BIN", 4)},
		{slug: "cross-linked", name: "file on a directory", fix: fixRejoin, hit: func(l *lab) spot {
			deep := l.node("/SUB/DEEP").start
			l.redo("/HELLO.TXT", func(b []byte) { put32(b[52:], deep) })
			return spot{path: "/HELLO.TXT"}
		}},
		{slug: "cross-linked", name: "directory on a file", fix: fixRejoin, hit: func(l *lab) spot {
			start := l.node("/BIG.BIN").start
			l.redo("/SUB/DEEP", func(b []byte) { put32(b[52:], start) })
			return spot{path: "/SUB/DEEP", cluster: start}
		}, also: []string{"lost-clusters"}},
		onFile(fixTruncate, func(l *lab, now *reader) {
			if n := l.node("/SUB/DEEP"); n.start != 0 || n.length != 0 {
				l.t.Errorf("DEEP is %+v", n)
			}
		}),
		onFile(fixCopy, func(l *lab, now *reader) {
			if n := l.node("/SUB/DEEP"); n.length != uint64(l.cluster) || len(l.cells("/SUB/DEEP")) != 1 || len(l.list(n)) != 0 {
				l.t.Errorf("DEEP is %+v", n)
			}
		}),
		{slug: "cross-linked", name: "directory runs into a file", fix: fixTruncate, hit: func(l *lab) spot {
			one := l.node("/SUB/LEAF.TXT").start
			l.setFAT(l.cells("/MANY")[2], one+2)
			return spot{path: "/MANY", cluster: one + 2}
		}, also: []string{"lost-clusters", "stray-secondary"}, gone: []string{"/MANY/H.DAT", "/MANY/I.DAT"}},
		{slug: "cross-linked", name: "three files", fix: fixCopy, hit: func(l *lab) spot {
			big := l.cells("/BIG.BIN")
			l.setFAT(l.cells("/SUB/LEAF.TXT")[0], big[7])
			l.setFAT(l.cells("/SUB/DEEP/X.BIN")[1], big[8])
			return spot{path: "/SUB/LEAF.TXT", cluster: big[7]}
		}, also: []string{"lost-clusters"}, gone: []string{"/SUB/LEAF.TXT", "/SUB/DEEP/X.BIN"}},
		{slug: "vendor-clusters", name: "invalid", fix: fixRemove, hit: func(l *lab) spot {
			l.redo("/SUB/V.DAT", func(b []byte) { put32(b[128+20:], l.last()+5) })
			return spot{path: "/SUB/V.DAT"}
		}, also: []string{"lost-clusters"}},
		ofFile(fixRemove, func(l *lab, _ *reader) {
			if n := l.node("/SUB/V.DAT"); len(n.slots) != 4 {
				l.t.Errorf("V.DAT has %d slots", len(n.slots))
			}
		}),
		ofFile(fixCopy, func(l *lab, _ *reader) {
			cs, err := l.chain(l.get32(l.node("/SUB/V.DAT").slots[4] + 20))
			if err != nil || len(cs) != 2 {
				l.t.Fatalf("the vendor has %d clusters, %v", len(cs), err)
			}
			for i, c := range cs {
				if string(l.read(l.offset(c), l.cluster)) != l.known["/BIG.BIN"][i*int(l.cluster):(i+1)*int(l.cluster)] {
					l.t.Errorf("the vendor's cluster %d holds something else", i)
				}
			}
		}),
		{slug: "vendor-clusters", name: "0 bytes", fix: fixRemove, hit: func(l *lab) spot {
			l.redo("/SUB/V.DAT", func(b []byte) { put64(b[128+24:], 0) })
			return spot{path: "/SUB/V.DAT"}
		}, also: []string{"lost-clusters"}},
	}...)
}

func twiceInjuries() []injury {
	twin := func(name, path string, start func(l *lab) (uint32, uint64)) injury {
		return injury{slug: "directory-twice", name: name, fix: fixRemove, hit: func(l *lab) spot {
			c, n := start(l)
			l.add(path, newSetOf(path, 0x10, noFat, []uint32{c}, n, n))
			return spot{path: path, cluster: c}
		}}
	}
	sub := func(l *lab) (uint32, uint64) { n := l.node("/SUB"); return n.start, n.length }
	return []injury{
		twin("another", "/TWO", sub),
		twin("ancestor", "/SUB/DEEP/UP", sub),
		twin("root", "/SUB/DEEP/ROOT", func(l *lab) (uint32, uint64) { return l.root, uint64(l.cluster) }),
		{slug: "directory-twice", name: "start was hit", fix: fixRejoin, hit: func(l *lab) spot {
			start := l.node("/SUB").start
			l.redo("/MANY", func(b []byte) { put32(b[52:], start) })
			return spot{path: "/MANY", cluster: start}
		}, also: []string{"lost-clusters"}},
	}
}

// withoutSet has the entry set of a directory removed, and nothing else.
func withoutSet(path string) func(l *lab) spot {
	return func(l *lab) spot {
		for _, off := range l.node(path).slots {
			l.put(off, l.get(off)&^typeInUse)
		}
		return spot{}
	}
}

// spaceInjuries are those of the bitmap.
func spaceInjuries() []injury {
	orphans := func(l *lab) spot {
		for i := range 4 {
			l.bit(l.spare(i+i/3*2), true)
		}
		l.put(l.offset(l.spare(1)), []byte("something")...)
		return spot{cluster: l.spare(0)}
	}
	free := func(name string, of func(l *lab) uint32) injury {
		return injury{slug: "bitmap-free", name: name, hit: func(l *lab) spot {
			l.bit(of(l), false)
			return spot{cluster: of(l)}
		}}
	}
	return []injury{
		{slug: "lost-clusters", fix: fixFree, hit: orphans, then: func(l *lab, now *reader) {
			for i := range 8 {
				if l.marked(l.spare(i)) {
					l.t.Errorf("cluster %d is in use", l.spare(i))
				}
			}
		}},
		{slug: "lost-clusters", fix: fixRescue, hit: orphans, then: func(l *lab, now *reader) {
			got := now.files()
			if f := got["/FOUND.000/FILE0000.CHK"]; len(f) != int(3*l.cluster) || f[l.cluster:][:9] != "something" {
				l.t.Errorf("FILE0000.CHK has %d bytes", len(f))
			}
			if f := got["/FOUND.000/FILE0001.CHK"]; len(f) != int(l.cluster) {
				l.t.Errorf("FILE0001.CHK has %d bytes", len(f))
			}
		}},
		{slug: "lost-clusters", name: "of a directory", hit: withoutSet("/SUB"), gone: []string{"/SUB/"}, then: func(l *lab, now *reader) {
			got := now.files()
			for path, b := range l.known {
				if rest, ok := strings.CutPrefix(path, "/SUB/"); ok && got["/FOUND.000/DIR00000/"+rest] != b {
					l.t.Errorf("%s is not in FOUND.000", path)
				}
			}
		}},
		{slug: "lost-clusters", name: "of a directory", fix: fixFree, hit: withoutSet("/SUB"), gone: []string{"/SUB/"}, then: func(l *lab, now *reader) {
			for path := range now.files() {
				if strings.HasPrefix(path, "/FOUND.000") {
					l.t.Errorf("there is %s", path)
				}
			}
		}},
		free("file", func(l *lab) uint32 { return l.cells("/BIG.BIN")[3] }),
		free("contiguous file", func(l *lab) uint32 { return l.cells("/HELLO.TXT")[2] }),
		free("directory", func(l *lab) uint32 { return l.cells("/SUB")[0] }),
		free("root", func(l *lab) uint32 { return l.root }),
		free("bitmap", func(l *lab) uint32 { return l.get32(l.special(0x81) + 20) }),
		free("vendor", func(l *lab) uint32 { return l.get32(l.node("/SUB/V.DAT").slots[4] + 20) }),
		{slug: "bad-free", hit: func(l *lab) spot {
			l.setFAT(l.spare(0), 0xFFFFFFF7)
			return spot{cluster: l.spare(0)}
		}},
		{slug: "bad-clusters", stays: true, hit: func(l *lab) spot {
			l.setFAT(l.spare(0), 0xFFFFFFF7)
			l.bit(l.spare(0), true)
			return spot{cluster: l.spare(0)}
		}},
	}
}
