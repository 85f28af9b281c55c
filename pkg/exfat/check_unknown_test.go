package exfat

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// unknownPrimary is a critical primary entry that nobody knows, with clusters.
func unknownPrimary(start uint32, length uint64) []byte {
	b := make([]byte, 32)
	b[0], b[4] = 0x86, 3
	binary.LittleEndian.PutUint32(b[20:], start)
	binary.LittleEndian.PutUint64(b[24:], length)
	return summed(b)
}

// TestUnknownKeepsClusters: critical entries of a kind that is not known, which
// lead to clusters, are reported and keep both, whatever is chosen.
func TestUnknownKeepsClusters(t *testing.T) {
	for name, plant := range map[string]func(l *lab, cs []uint32) int64{
		"primary": func(l *lab, cs []uint32) int64 {
			return l.append(l.node("/SUB"), unknownPrimary(cs[0], uint64(l.cluster)+1))
		},
		"secondary": func(l *lab, cs []uint32) int64 {
			l.known["/SUB/N"] = ""
			set := append(newSetOf("/SUB/N", 0x20, 0, nil, 0, 0), vendorEntry(0xC8, 3, cs[0], uint64(l.cluster)+1)...)
			return l.append(l.node("/SUB"), sealed(set))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "4k")
			cs := l.run(2)
			l.own(cs, noFat)
			l.put(l.offset(cs[0]), bytes.Repeat([]byte("DATA"), 100)...)
			l.count()
			plant(l, cs)
			before := hashOf(t, l.m)
			res := fsck(t, l.m, voltest.Always)
			if hashOf(t, l.m) != before {
				t.Error("the volume was changed")
				report(t, res)
			}
			for _, o := range res.Outcomes {
				if o.Severity > vol.SevInfo && (o.Slug != "unknown-critical" || len(o.Offered()) > 0) {
					t.Error(line(o))
				}
			}
			if len(res.Outcomes) == 0 {
				t.Error("nothing was found")
			}
		})
	}
}

// TestNewerRevision: on a volume of revision 1.05 the boot regions are mended, and
// nothing else is.
func TestNewerRevision(t *testing.T) {
	l := newLab(t, "4k")
	l.region(offRevision, 5)
	l.put(12*l.sector+300, 1)
	l.setFAT(0, 0)
	l.setFAT(l.cells("/BIG.BIN")[2], 0)
	l.append(l.node("/SUB"), unknownPrimary(0, 0))
	res := fsck(t, l.m, voltest.Always)
	mended := ""
	for _, o := range res.Outcomes {
		if o.Repaired != nil {
			mended += o.Slug + " "
		}
	}
	if strings.TrimSpace(mended) != "boot-backup-bad" {
		t.Errorf("mended: %s", mended)
		report(t, res)
	}
}
