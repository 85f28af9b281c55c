package lfs

import (
	"maps"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// loseFeature takes a feature from both superblocks.
func (m *builder) loseFeature(bit uint32) vol.Location {
	m.editSupers(func(b superblock) { b.put32(sbFeatures, b.features()&^bit) })
	return at(superOffset+sbFeatures, 4)
}

// TestLostFeatures: without a feature that a superblock lost nothing is read, and
// nothing is repaired, but the superblock; then all files have what they had. That is
// so too where only the superblock lost it that counts.
func TestLostFeatures(t *testing.T) {
	for name, lose := range map[string]func(l *lab){
		"extra_attr":            func(l *lab) { l.loseFeature(featExtraAttr) },
		"compression":           func(l *lab) { l.loseFeature(featCompression) },
		"flexible_inline_xattr": func(l *lab) { l.loseFeature(featFlexXattr) },
		"both":                  func(l *lab) { l.loseFeature(featExtraAttr | featCompression) },
		"extra_attr, in one":    func(l *lab) { l.editSuper(0, func(b superblock) { b.put32(sbFeatures, b.features()&^featExtraAttr) }) },
		"compression, in one": func(l *lab) {
			l.editSuper(0, func(b superblock) { b.put32(sbFeatures, b.features()&^featCompression) })
		},
	} {
		l := newLab(t, labFeatures)
		before := holdings(t, l.d)
		lose(l)
		rows := map[string]bool{}
		for _, s := range slugs(l.check()) {
			rows[s] = true
		}
		if delete(rows, "sb-differ"); len(rows) != 1 || !rows["sb-feature-lost"] {
			t.Errorf("%s: found %v", name, rows)
		}
		if s := scanned(t, l.d, vol.ScanOptions{}); strings.Contains(name, "extra") && (s.Mountable != "no" || !strings.Contains(reasons(t, s), "sb-feature-lost")) {
			t.Errorf("%s: %+v", name, s)
		}
		txn := dev.Begin(l.d)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
		if err != nil || res.Left(vol.SevWarning) {
			t.Errorf("%s: found %q, %v", name, found(res), err)
		}
		if !maps.Equal(holdings(t, txn), before) {
			t.Errorf("%s: files hold something else", name)
		}
		mustBeClean(t, txn)
		txn.Rollback()
	}
}

// TestOneExtra: where most inodes have no extra attributes one that seems to is
// damaged, and not the superblock.
func TestOneExtra(t *testing.T) {
	l := newLab(t, "")
	l.at["plain"].editInode(func(n nodeBlock) {
		n[inodeInline] |= inlineExtra
		n.put32(inodeAddrs, n.u32(inodeAddrs)&^0xFFFF|maxExtraLen)
	})
	for _, s := range slugs(l.check()) {
		if s == "sb-feature-lost" {
			t.Error("the superblock is blamed")
		}
	}
}
