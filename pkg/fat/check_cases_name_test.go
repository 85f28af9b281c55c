package fat

import (
	"slices"
	"strings"
)

const longName = "/A rather long name.bin"

// longDamages are those of long names.
func longDamages() []damage {
	// at changes slots of the long name of a file of two slots. The file then
	// goes by its short name.
	at := func(slug, name, fix string, hit func(l *lab, first, second, short int64)) damage {
		return damage{slug: slug, name: name, fix: fix, kinds: allKinds, hit: func(l *lab) spot {
			n := l.node(longName)
			hit(l, n.longs[0], n.longs[1], n.off)
			return spot{}
		}}
	}
	dropped := func(d damage) damage {
		d.gone = []string{longName}
		d.then = func(l *lab, now *reader) {
			if got := now.files()["/ARATHE~1.BIN"]; got != l.known[longName] {
				l.t.Errorf("ARATHE~1.BIN has %d bytes", len(got))
			}
		}
		return d
	}
	renamed := func(d damage, name string) damage {
		d.gone = []string{longName}
		d.then = func(l *lab, now *reader) {
			if got, ok := now.files()[name]; !ok || got != l.known[longName] {
				l.t.Errorf("%q has %d bytes; there are %q", name, len(got), strings.Join(sorted(now), " "))
			}
		}
		return d
	}
	return append([]damage{
		dropped(at("lfn-checksum", "other name", fixRemove, func(l *lab, first, second, short int64) {
			l.put(first+13, 1)
			l.put(second+13, 1)
		})),
		dropped(at("lfn-checksum", "one slot", fixRemove, func(l *lab, first, second, short int64) { l.put(second+13, 1) })),
		at("lfn-sequence", "mark", fixRestore, func(l *lab, first, second, short int64) { l.put(first, 2) }),
		at("lfn-sequence", "number", fixRestore, func(l *lab, first, second, short int64) { l.put(second, 2) }),
		at("lfn-sequence", "second mark", fixRestore, func(l *lab, first, second, short int64) { l.put(second, 0x41) }),
		dropped(at("lfn-sequence", "mark", fixRemove, func(l *lab, first, second, short int64) { l.put(first, 2) })),
		dropped(at("lfn-sequence", "too high", fixRemove, func(l *lab, first, second, short int64) { l.put(first, 0x5F) })),
		dropped(at("lfn-orphan", "last slot is gone", fixRemove, func(l *lab, first, second, short int64) { l.put(second, 0xE5) })),
		dropped(at("lfn-sequence", "first slot is gone", fixRemove, func(l *lab, first, second, short int64) { l.put(first, 0xE5) })),
		at("lfn-fields", "type", fixClear, func(l *lab, first, second, short int64) { l.put(second+12, 5) }),
		at("lfn-fields", "cluster", fixClear, func(l *lab, first, second, short int64) { l.put16(second+26, 5) }),
		at("lfn-attr", "one", fixSet, func(l *lab, first, second, short int64) { l.put(second+11, 0x8F) }),
		at("lfn-attr", "all", fixSet, func(l *lab, first, second, short int64) {
			l.put(first+11, 0x4F)
			l.put(second+11, 0xCF)
		}),
		renamed(at("lfn-illegal", "slash", fixRename, func(l *lab, first, second, short int64) { l.put16(second+3, '/') }), "/A_rather long name.bin"),
		renamed(at("lfn-illegal", "control", fixRename, func(l *lab, first, second, short int64) { l.put16(second+3, 7) }), "/A_rather long name.bin"),
		renamed(at("lfn-illegal", "NUL", fixRename, func(l *lab, first, second, short int64) { l.put16(second+3, 0) }), "/A_rather long name.bin"),
		renamed(at("lfn-surrogate", "", fixRename, func(l *lab, first, second, short int64) { l.put16(second+3, 0xD83D) }), "/A_rather long name.bin"),
		at("lfn-padding", "", fixSet, func(l *lab, first, second, short int64) { l.put16(first+30, 'A') }),
		dropped(at("lfn-too-long", "nothing", fixRemove, func(l *lab, first, second, short int64) {
			l.put(first, 0xE5)
			l.put(second, 0x41)
			l.put16(second+1, 0)
		})),
		renamed(at("lfn-trailing", "dot", fixRename, func(l *lab, first, second, short int64) { l.put16(first+20, '.') }), "/A rather long name.bi_"),
	}, moreLong()...)
}

// sorted are the names in the root directory.
func sorted(r *reader) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for p := range r.files() {
			if !strings.Contains(p[1:], "/") && !yield(p) {
				return
			}
		}
	})
}

func moreLong() []damage {
	named := func(l *lab, name, short string) {
		l.append(0, append(longSlotsOf(name, short), slot(short, 0x20, 0, 0))...)
	}
	has := func(paths ...string) func(l *lab, now *reader) {
		return func(l *lab, now *reader) {
			got := now.files()
			for _, p := range paths {
				if _, ok := got[p]; !ok {
					l.t.Errorf("there is no %s, but %q", p, sorted(now))
				}
			}
		}
	}
	return []damage{
		{slug: "lfn-orphan", name: "entry is deleted", kinds: allKinds, hit: func(l *lab) spot {
			n := l.node(longName)
			for _, c := range l.cells(longName) {
				l.set(c, 0)
			}
			l.put(n.off, 0xE5)
			l.count()
			return spot{off: n.longs[0]}
		}, gone: []string{longName}},
		{slug: "lfn-orphan", name: "at the end", kinds: allKinds, hit: func(l *lab) spot {
			l.append(0, longSlotsOf("never finished", "NEVERF~1   ")...)
			return spot{}
		}},
		{slug: "lfn-orphan", name: "before dot entries", kinds: allKinds, hit: func(l *lab) spot {
			l.insert("/SUB/DEEP", 0, longSlotsOf("x", "X          ")[0])
			return spot{off: l.slotOf("/SUB/DEEP", 0)}
		}, also: []string{"dot-misplaced", "dots-missing"}},
		{slug: "lfn-too-long", name: "260", kinds: allKinds, hit: func(l *lab) spot {
			named(l, strings.Repeat("abcdefghij", 26), "ABCDEF~1   ")
			return spot{path: "/ABCDEF~1"}
		}, then: has("/ABCDEF~1")},
		{slug: "name-twice", name: "two long", kinds: allKinds, hit: func(l *lab) spot {
			named(l, "same name.txt", "DUP~1   TXT")
			named(l, "Same Name.TXT", "DUP~2   TXT")
			return spot{path: "/Same Name.TXT"}
		}, then: has("/same name.txt", "/Same Na~1.TXT")},
		{slug: "name-twice", name: "of 26 units", kinds: allKinds, hit: func(l *lab) spot {
			named(l, "abcdefghijklmnopqrstuv.txt", "DUP~1   TXT")
			named(l, "abcdefghijklmnopqrstuv.txt", "DUP~2   TXT")
			return spot{}
		}, then: has("/abcdefghijklmnopqrstuv.txt", "/abcdefghijklmnopqrst~1.txt")},
		{slug: "name-twice", name: "long and short", kinds: allKinds, hit: func(l *lab) spot {
			named(l, "one.bin", "CLASH~1 BIN")
			return spot{path: "/one.bin"}
		}, then: has("/ONE.BIN", "/one~1.bin")},
		{slug: "name-twice", name: "short after long", kinds: allKinds, hit: func(l *lab) spot {
			named(l, "b.txt", "CLASH~1 TXT")
			l.append(0, slot("B       TXT", 0x20, 0, 0))
			return spot{path: "/b.txt"}
		}, then: has("/B.TXT", "/b~1.txt")},
		{slug: "name-twice", name: "two short after one long", kinds: allKinds, hit: func(l *lab) spot {
			named(l, "b.txt", "CLASH~1 TXT")
			l.append(0, slot("B       TXT", 0x20, 0, 0), slot("B       TXT", 0x20, 0, 0))
			return spot{path: "/b.txt"}
		}, then: has("/B.TXT", "/B~2.TXT", "/b~1.txt"), also: []string{"short-twice"}},
		{slug: "lfn-illegal", name: "and twice", kinds: allKinds, hit: func(l *lab) spot {
			named(l, "x:y", "XY~1       ")
			named(l, "x_y", "XY~2       ")
			return spot{path: "/x:y"}
		}, then: has("/x_y", "/x_y~1")},
		{slug: "lfn-trailing", name: "blanks", kinds: allKinds, hit: func(l *lab) spot {
			named(l, "trail. .", "TRAIL~1    ")
			return spot{path: "/trail. ."}
		}, then: has("/trail___")},
	}
}

// shortDamages are those of 8.3 names.
func shortDamages() []damage {
	short := func(slug, name, to, want string) damage {
		return damage{slug: slug, name: name, kinds: allKinds, gone: []string{"/HELLO.TXT"}, hit: func(l *lab) spot {
			n := l.node("/HELLO.TXT")
			l.put(n.off, []byte(to)...)
			return spot{off: n.off}
		}, then: func(l *lab, now *reader) {
			if got, ok := now.files()[want]; !ok || got != l.known["/HELLO.TXT"] {
				l.t.Errorf("%q has %d bytes; there are %q", want, len(got), sorted(now))
			}
		}}
	}
	plain := func(slug, name, to string) damage {
		d := short(slug, name, to, "/"+plainName([]byte(to)))
		d.stays = true
		return d
	}
	return []damage{
		short("short-twice", "", "ONE     BIN", "/HELLO~1.BIN").twice(),
		short("short-illegal", "star", "A*      TXT", "/A_.TXT"),
		short("short-illegal", "blank", " A      TXT", "/_A.TXT"),
		short("short-illegal", "dot", ".A      TXT", "/_A.TXT"),
		short("short-illegal", "7F", "A\x7f      TXT", "/A_.TXT"),
		short("short-illegal", "taken", "*NE     BIN", "/_NE.BIN"),
		short("short-lowercase", "", "hello   txt", "/HELLO.TXT"),
		short("short-lowercase", "taken", "one     bin", "/ONE~1.BIN").with("short-twice"),
		short("short-longchars", "", "A+,;=[] TXT", "/A______.TXT"),
		plain("short-blank", "", "A B     TXT"),
		plain("short-device", "", "CON        "),
		plain("short-device", "COM1", "COM1    TXT"),
	}
}

// with is d with more findings.
func (d damage) with(also ...string) damage {
	d.also = append(d.also, also...)
	return d
}

// twice is for the two that get the same name.
func (d damage) twice() damage {
	d.gone = []string{"/HELLO.TXT", "/ONE.BIN"}
	hit := d.hit
	d.hit = func(l *lab) spot {
		hit(l)
		return spot{path: "/ONE.BIN"}
	}
	d.then = func(l *lab, now *reader) {
		got := now.files()
		if got["/ONE.BIN"] != l.known["/HELLO.TXT"] || got["/ONE~1.BIN"] != l.known["/ONE.BIN"] {
			l.t.Errorf("there are %q", sorted(now))
		}
	}
	return d
}
