package exfat

import (
	"bytes"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// unknownBeforeOthers makes an entry of type 80 of the first slot of a file that
// was deleted, and of which others follow.
func unknownBeforeOthers(l *lab) spot {
	n := l.edit("/MANY/B.DAT", func(b []byte) {
		for i := 0; i < len(b); i += 32 {
			b[i] &= 0x7F
		}
		b[0], b[1] = 0x80, 0
	})
	return spot{path: "/MANY", off: n.slots[0]}
}

// TestRemoveMakesNoEnd: removing an entry of type 80 must not end the directory
// before those that follow, not even until another repair.
func TestRemoveMakesNoEnd(t *testing.T) {
	for kind, l := range threeLabs(t) {
		t.Run(kind, func(t *testing.T) {
			l := l.clone(t)
			off := unknownBeforeOthers(l).off
			fsck(t, l.m, func(f *vol.Finding) int {
				if f.Slug == "unknown-critical" {
					return 0
				}
				return -1
			})
			if b := l.get(off); b == 0 || b&0x80 != 0 {
				t.Errorf("the slot is of type %#02x", b)
			}
			l.compare(t, l.files(), []string{"/MANY/B.DAT"})
		})
	}
}

// nameTail has something behind the end of a name, sealed so, or hit there.
func nameTail(name string, hit bool) injury {
	d := injury{slug: "name-tail", name: name, hit: func(l *lab) spot {
		change := l.redo
		if hit {
			change = l.edit
		}
		n := change("/BIG.BIN", func(b []byte) { b[64+2+2*8] = 0x41 })
		return spot{path: "/BIG.BIN", off: n.slots[0]}
	}, then: func(l *lab, _ *reader) {
		b := l.set(l.node("/BIG.BIN"))
		if !dev.AllZero(b[64+2+2*7:]) || !bytes.Equal(b, summed(bytes.Clone(b))) {
			l.t.Errorf("the set is % x", b)
		}
	}}
	if hit {
		d.also = []string{"set-checksum"}
	}
	return d
}

// rootMarkInjuries are end marks in the root before the tables of the volume.
func rootMarkInjuries() []injury {
	marks := func(slug, name string, kinds []byte, also ...string) injury {
		return injury{slug: slug, name: name, also: also, hit: func(l *lab) spot {
			var offs []int64
			for _, kind := range kinds {
				offs = append(offs, l.special(kind))
			}
			for _, off := range offs {
				l.put(off, 0)
			}
			return spot{path: "/"}
		}}
	}
	label := marks("after-end", "label as end", []byte{0x83})
	label.then = func(l *lab, _ *reader) {
		if e := l.read(l.special(0x83), 12); !bytes.Equal(e[1:], []byte("\x05L\x00A\x00B\x00E\x00L\x00")) {
			l.t.Errorf("the label is % x", e)
		}
	}
	return []injury{
		label,
		marks("after-end", "bitmap as end", []byte{0x81}, "bitmap-none"),
		marks("after-end", "label and bitmap as end", []byte{0x83, 0x81}, "bitmap-none"),
		marks("bitmap-none", "all as end", []byte{0x83, 0x81, 0x82}, "after-end", "upcase-none", "lost-clusters"),
		marks("bitmap-none", "tables as end", []byte{0x81, 0x82}, "after-end", "upcase-none", "lost-clusters"),
		{slug: "entry-type", name: "label as 80", hit: func(l *lab) spot {
			off := l.special(0x83)
			l.put(off, 0x80)
			return spot{path: "/", off: off}
		}, then: label.then},
		{slug: "label-twice", name: "and one as 80", also: []string{"unknown-critical"}, hit: func(l *lab) spot {
			e := l.read(l.special(0x83), 32)
			off := l.append(l.rootNode(), e)
			l.put(l.append(l.rootNode(), e), 0x80)
			return spot{path: "/", off: off}
		}, then: label.then},
	}
}

// startByChance hits a reserved byte of a set so that with bit 6 of the first
// cluster the other way its checksum is right, and the bitmap, which speaks
// against the right clusters then. The others are the end of the chain of a file
// of which the length was hit.
func startByChance(l *lab) spot {
	const other = "/A rather long name with ä.bin"
	cs := l.cells("/MANY/I.DAT")
	if l.cells(other)[2] != cs[0]^0x40 {
		l.t.Fatal("the clusters lie elsewhere by now")
	}
	l.bit(cs[2], false)
	l.edit("/MANY/I.DAT", func(b []byte) { b[32+6] ^= 0x10 })
	l.edit(other, func(b []byte) { b[32+25] ^= 0x20 })
	return spot{}
}
