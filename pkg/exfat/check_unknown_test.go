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

// unknownPrimary is a critical primary entry that nobody knows, with clusters.
func unknownPrimary(start uint32, length uint64) []byte {
	b := make([]byte, 32)
	b[0], b[4] = 0x86, 3
	binary.LittleEndian.PutUint32(b[20:], start)
	binary.LittleEndian.PutUint64(b[24:], length)
	return summed(b)
}

// TestUnknownKeepsClusters: a critical secondary of a kind that is not known, which
// leads to clusters, is reported and keeps both, whatever is chosen.
func TestUnknownKeepsClusters(t *testing.T) {
	l := newLab(t, "4k")
	l.known["/SUB/N"] = ""
	cs := l.unknown()
	set := append(newSetOf("/SUB/N", 0x20, 0, nil, 0, 0), vendorEntry(0xC8, 3, cs[0], uint64(l.cluster)+1)...)
	l.append(l.node("/SUB"), sealed(set))
	before := voltest.HashOf(t, l.m)
	res := fsck(t, l.m, voltest.Always)
	if voltest.HashOf(t, l.m) != before {
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
}

// unknown is two clusters that hold something, for an entry that is not known.
func (l *lab) unknown() []uint32 {
	cs := l.run(2)
	l.own(cs, noFat)
	l.setFAT(cs[0], 0)
	l.setFAT(cs[1], 0)
	l.put(l.offset(cs[0]), bytes.Repeat([]byte("DATA"), 100)...)
	l.count()
	return cs
}

// TestUnknownPrimary: this revision has no critical primary entries but those that
// are known. Another one goes; what it led to stays in use, and can be rescued.
func TestUnknownPrimary(t *testing.T) {
	for _, path := range []string{"/", "/SUB"} {
		l := newLab(t, "4k")
		cs := l.unknown()
		l.append(l.at(path), unknownPrimary(cs[0], uint64(l.cluster)+1))
		tx := dev.Begin(l.m)
		res := fsck(t, tx, func(f *vol.Finding) int {
			if f.Slug == "lost-clusters" {
				return -1
			}
			return voltest.Always(f)
		})
		commit(t, tx)
		for _, o := range res.Outcomes {
			if o.Slug != "unknown-critical" && o.Slug != "lost-clusters" {
				t.Error(line(o))
			}
		}
		if !l.marked(cs[0]) || !l.marked(cs[1]) {
			t.Error("its clusters were given back")
		}
		got := l.rescued(t)
		if b := got["/FOUND.000/FILE0000.CHK"]; len(got) != 1 || !strings.HasPrefix(b, strings.Repeat("DATA", 100)) || len(b) != int(2*l.cluster) {
			t.Errorf("%d files, %d bytes", len(got), len(b))
		}
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
