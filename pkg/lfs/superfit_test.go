package lfs

import (
	"maps"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestFirstSuperMisfits: where one bit of the first superblock is another, and no test
// of it alone tells, the second one counts, files are read by it, and what the check
// repairs is the first superblock and nothing else.
func TestFirstSuperMisfits(t *testing.T) {
	for name, fn := range map[string]func(b superblock){
		"more blocks":          func(b superblock) { b.put64(sbBlocks, b.u64(sbBlocks)|1<<20) },
		"UUID":                 func(b superblock) { b[sbUUID] ^= 1 },
		"no quota":             func(b superblock) { b.put32(sbFeatures, b.features()&^(featQuota|featProjectQuota)) },
		"flexible attributes":  func(b superblock) { b.put32(sbFeatures, b.features()|featFlexXattr) },
		"a quota file less":    func(b superblock) { b.put32(sbQuotaInos, 0) },
		"one for two kinds":    func(b superblock) { b.put32(sbQuotaInos+4, b.quotaIno(0)) },
		"a quota file beyond":  func(b superblock) { b.put32(sbQuotaInos, 1<<31) },
		"a quota file unused":  func(b superblock) { b.put32(sbQuotaInos, 1<<14) },
		"the root as quota":    func(b superblock) { b.put32(sbQuotaInos+4, rootIno) },
		"an encoding of names": func(b superblock) { b.put16(sbEncoding, 3) },
	} {
		l := newLab(t, "extra_attr,inode_checksum,inode_crtime,quota,lost_found,casefold,compression")
		before, whole := holdings(t, l.d), make([]byte, l.d.Size())
		_, err := l.d.ReadAt(whole, 0)
		l.must(err)
		l.editSuper(0, fn)
		if !maps.Equal(holdings(t, l.d), before) {
			t.Errorf("%s: files are read by the first superblock", name)
		}
		txn := dev.Begin(l.d)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
		if err != nil || !slices.Equal(slugs(res), []string{"sb-copy"}) || res.Left(vol.SevInfo) {
			t.Errorf("%s: found %q, %v", name, found(res), err)
		}
		after := make([]byte, len(whole))
		if _, err := txn.ReadAt(after, 0); err != nil || !slices.Equal(after, whole) {
			t.Errorf("%s: more than the first superblock was repaired, or not that: %v", name, err)
		}
		txn.Rollback()
	}
}

// TestSecondSuperMisfits: the first one counts where it can be, as for Linux, and where
// both misfit.
func TestSecondSuperMisfits(t *testing.T) {
	l := newLab(t, "extra_attr,inode_checksum")
	l.editSuper(1, func(b superblock) { b[sbUUID] ^= 1 })
	if got := slugs(l.check()); !slices.Equal(got, []string{"sb-differ"}) {
		t.Errorf("the second UUID: %v", got)
	}
	l.editSuper(1, func(b superblock) { b[sbUUID] ^= 1 })
	l.cut(l.d.Size() - l.g.SegmentBytes())
	l.editSuper(0, func(b superblock) { b[sbVersion] ^= 1 })
	if got := slugs(l.check()); !slices.Contains(got, "sb-differ") || slices.Contains(got, "sb-copy") {
		t.Errorf("a volume cut short: %v", got)
	}
}

// TestOneQuotaFileForTwoKinds: it stays that of the kind it says, the other kind has
// none, and the repairs come to an end.
func TestOneQuotaFileForTwoKinds(t *testing.T) {
	for name, fn := range map[string]func(b superblock){
		"the second is the first": func(b superblock) { b.put32(sbQuotaInos+4, b.quotaIno(0)) },
		"the first is the second": func(b superblock) { b.put32(sbQuotaInos, b.quotaIno(1)) },
		"all are the third": func(b superblock) {
			b.put32(sbQuotaInos, b.quotaIno(2))
			b.put32(sbQuotaInos+4, b.quotaIno(2))
		},
	} {
		l := newLab(t, labFeatures)
		l.editSupers(fn)
		txn := dev.Begin(l.d)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
		if err != nil || !slices.Contains(slugs(res), "quota-file") || res.Left(vol.SevWarning) {
			t.Errorf("%s: found %q, %v", name, found(res), err)
		}
		mustBeClean(t, txn)
		txn.Rollback()
	}
}
