package exfat

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// oddities are things that are legal and that other checkers complain of, or
// even repair. What the lab holds anyhow is among them: vendor extensions with
// clusters, and leftovers in the FAT entries of contiguous files.
func oddities() map[string]func(l *lab) {
	return map[string]func(l *lab){
		"none": func(*lab) {},
		"longer bitmap": func(l *lab) {
			e := l.special(0x81)
			l.put64(e+24, l.get64(e+24)+2)
		},
		"bitmap with a cluster more": func(l *lab) {
			e := l.special(0x81)
			cs, _ := l.chain(l.get32(e + 20))
			l.chainUp(append(cs, l.spare(0)))
			l.put64(e+24, uint64(int64(len(cs)+1)*l.cluster))
		},
		"bits behind the last cluster": func(l *lab) {
			if l.n%8 != 0 {
				off := l.bitPlace(l.last())
				l.put(off, l.get(off)|0xFF<<(l.n%8))
			}
		},
		"bitmap elsewhere": func(l *lab) { l.move(l.special(0x81), 3) },
		"up-case table in pieces": func(l *lab) {
			l.move(l.special(0x82), 3)
		},
		"up-case table not compressed": func(l *lab) {
			e := l.special(0x82)
			cs, _ := l.chain(l.get32(e + 20))
			for _, c := range cs {
				l.setFAT(c, 0)
				l.bit(c, false)
			}
			var b []byte
			for _, u := range standardTable().to {
				b = binary.LittleEndian.AppendUint16(b, u)
			}
			n := int(l.need(uint64(len(b))))
			cs = nil
			for i := range n {
				cs = append(cs, l.spare(2*i))
				l.put(l.offset(cs[i]), b[i*int(l.cluster):min(len(b), (i+1)*int(l.cluster))]...)
			}
			l.chainUp(cs)
			l.put32(e+4, sumOfTable(b))
			l.put32(e+20, cs[0])
			l.put64(e+24, uint64(len(b)))
		},
		"directory without clusters": func(l *lab) { l.add("/SUB/NONE", newSetOf("/SUB/NONE", 0x10, 0, nil, 0, 0)) },
		"nothing written":            func(l *lab) { l.redo("/BIG.BIN", func(b []byte) { put64(b[40:], 0) }) },
		"benign primary":             func(l *lab) { l.append(l.rootNode(), append([]byte{0xA5}, make([]byte, 31)...)) },
		"benign primary with secondaries and clusters": func(l *lab) {
			b := make([]byte, 96)
			b[0], b[1], b[4] = 0xA7, 2, 3 // two secondaries, a contiguous allocation
			put32(b[20:], l.spare(0))
			put64(b[24:], uint64(2*l.cluster))
			b[32], b[64] = 0xE0, 0xE3
			l.bit(l.spare(0), true)
			l.bit(l.spare(1), true)
			l.append(l.node("/SUB"), b)
		},
		"benign secondary with clusters": func(l *lab) {
			set := newSetOf("/N", 0x20, 0, nil, 0, 0)
			set = append(set, vendorEntry(0xE5, 1, l.spare(0), uint64(2*l.cluster))...)
			set = append(set, vendorEntry(0xE6, 0, 77, 1<<50)...)
			l.chainUp([]uint32{l.spare(0), l.spare(3)})
			l.append(l.node("/SUB"), sealed(set))
		},
		"TexFAT padding": func(l *lab) { l.append(l.rootNode(), append([]byte{0xA1}, make([]byte, 31)...)) },
		"volume GUID":    func(l *lab) { l.append(l.rootNode(), guidEntry()) },
		"no label":       func(l *lab) { l.put(l.special(0x83), 0x03) },
		"bad clusters": func(l *lab) {
			l.setFAT(l.spare(0), 0xFFFFFFF7)
			l.bit(l.spare(0), true)
		},
		"percentage not known":    func(l *lab) { l.put(112, 0xFF) },
		"flags in the backup":     func(l *lab) { l.put(12*l.sector+106, 2, 0) },
		"odd times":               func(l *lab) { l.redo("/BIG.BIN", func(b []byte) { b[22] = 0xBF; b[23] = 5 }) },
		"fields that are ignored": func(l *lab) { l.redo("/BIG.BIN", func(b []byte) { copy(b[25:32], "reserve"); b[34] = 7 }) },
		"longest name": func(l *lab) {
			l.add("/SUB/DEEP/x", newSetOf("/SUB/DEEP/"+strings.Repeat("n", 255), 0x20, 0, nil, 0, 0))
		},
	}
}

// move moves the clusters of a table apart by step, as its FAT chain may have
// them anywhere.
func (l *lab) move(e int64, step int) {
	cs, err := l.chain(l.get32(e + 20))
	must(l.t, err)
	var to []uint32
	for i := range cs {
		to = append(to, l.spare(100+(len(cs)-i)*step))
	}
	l.chainUp(to)
	for _, c := range cs {
		l.setFAT(c, 0)
		l.bit(c, false)
	}
	for i, c := range cs {
		l.put(l.offset(to[i]), l.read(l.offset(c), l.cluster)...)
	}
	l.put32(e+20, to[0])
	l.table = nil
}

// TestOddities: what is legal is not touched, byte for byte, and not called
// damage either.
func TestOddities(t *testing.T) {
	for _, kind := range strings.Fields(allKinds) {
		l := newLab(t, kind)
		for name, do := range oddities() {
			if name == "longest name" && kind == "512" {
				continue // it is longer than the directory
			}
			t.Run(name+" "+kind, func(t *testing.T) {
				l := l.clone(t)
				do(l)
				if l.get(112) != 0xFF {
					l.count()
				}
				before := voltest.Copied(t, l.m)
				tx := dev.Begin(l.m)
				res := fsck(t, tx, voltest.Always)
				commit(t, tx)
				if res.Repaired || res.Left(vol.SevWarning) {
					t.Error("something is called damage")
					report(t, res)
				}
				if at := sameBytes(t, before, l.m); at >= 0 {
					t.Errorf("byte %d was changed", at)
				}
			})
		}
	}
}

// TestOdditiesSurviveRepairs: repairs of other things leave vendor entries and
// benign ones byte for byte as they are.
func TestOdditiesSurviveRepairs(t *testing.T) {
	l := newLab(t, "4k")
	set := newSetOf("/N", 0x20, 0, nil, 0, 0)
	set = append(set, vendorEntry(0xE5, 1, l.spare(0), uint64(2*l.cluster))...)
	set = append(set, vendorEntry(0xC9, 0, 0, 0)...) // a critical one, which goes
	set = append(set, vendorEntry(0xE6, 0, 77, 1<<50)...)
	l.chainUp([]uint32{l.spare(0), l.spare(3)})
	l.append(l.node("/SUB"), sealed(set))
	vendor := l.set(l.node("/SUB/V.DAT"))[96:]
	l.edit("/SUB/N", func(b []byte) { b[2] ^= 1; b[36] ^= 1 })
	l.edit("/SUB/V.DAT", func(b []byte) { b[35] = 200; b[40]++ })
	want := append(vendorEntry(0xE5, 1, l.spare(0), uint64(2*l.cluster)), vendorEntry(0xE6, 0, 77, 1<<50)...)
	fsckAll(t, l.m)
	if got := l.set(l.node("/SUB/N")); len(got) != 5*32 || !bytes.Equal(got[96:], want) {
		t.Errorf("the benign entries are % x", got[96:])
	}
	if got := l.set(l.node("/SUB/V.DAT")); !bytes.Equal(got[96:], vendor) {
		t.Errorf("the vendor's entries are % x", got[96:])
	}
	for _, c := range []uint32{l.spare(0), l.spare(3)} {
		if !l.marked(c) {
			t.Errorf("cluster %d of a benign entry was given back", c)
		}
	}
}
