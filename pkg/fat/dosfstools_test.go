package fat

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

// theirChecks are the damages of ours that stand for those that the test suite of
// dosfstools 4.2 repairs, by the names that they have there.
func theirChecks() map[string][]string {
	return map[string][]string{
		"bad_names":             {"short-illegal", "short-lowercase"},
		"fat12_first_cluster":   {"media-mismatch"},
		"fat16_first_cluster":   {"media-mismatch"},
		"fat32_first_cluster":   {"media-mismatch", "media-mismatch bits"},
		"fat16_dos_cln_shut":    {"dirty-fat"},
		"fat32_dos_cln_shut":    {"dirty-fat"},
		"chain_to_free_cluster": {"chain-free"},
		"chain_too_long":        {"clusters-beyond-size"},
		"chain_to_other_file":   {"cross-linked two files"},
		"circular_chain":        {"chain-loop"},
		"duplicate_names":       {"short-twice", "name-twice two long"},
		"dot_entries":           {"dot-start", "dotdot-start", "dots-missing overwritten", "dot-misplaced"},
		"label-different":       {"label-mismatch"},
		"label-only-boot":       {"label-boot-only"},
		"label-only-root":       {"label-mismatch"},
		"backup_boot_sector":    {"backup-boot-differs", "backup-boot-differs geometry"},
		"bad_boot_sector":       {"boot-sector-lost geometry", "boot-sector-lost zeros"},
		"huge":                  {"volume-beyond-device"},
	}
}

// TestTheirChecks: each is among the damages that TestDamage finds and TestRepair
// mends.
func TestTheirChecks(t *testing.T) {
	var have []string
	for _, d := range damages() {
		have = append(have, strings.TrimSpace(d.slug+" "+strings.TrimSpace(d.name)), d.slug)
	}
	for name, titles := range theirChecks() {
		for _, title := range titles {
			if !slices.Contains(have, title) {
				t.Errorf("check-%s: no damage is %q", name, title)
			}
		}
	}
}

// TestTheirLabels goes through the states that mkfs.fat, fatlabel, mlabel and
// Windows XP leave a label in, as the test suite of dosfstools has them, and says
// which are worth a word. An empty root means no entry, "erased" a deleted one.
func TestTheirLabels(t *testing.T) {
	for _, c := range []struct {
		state, boot, root, shown string
		slugs                    []string
	}{
		{"mkdosfs none", "NO NAME", "", "", nil},
		{"mkdosfs label1", "LABEL1", "LABEL1", "LABEL1", nil},
		{"xp label1: the boot sector is left alone", "NO NAME", "LABEL1", "LABEL1", []string{"label-mismatch"}},
		{"label1, xp label2", "LABEL1", "LABEL2", "LABEL2", []string{"label-mismatch"}},
		{"label1, xp erased", "LABEL1", "erased", "LABEL1", []string{"label-boot-only"}},
		{"label1, dosfslabel empty", "", "erased", "", nil},
		{"label1, dosfslabel NO NAME", "NO NAME", "erased", "", nil},
		{"label1, mlabel NO NAME: a label like any other", "NO NAME", "NO NAME", "NO NAME", nil},
		{"only in the boot sector", "LABEL1", "", "LABEL1", []string{"label-boot-only"}},
	} {
		t.Run(c.state, func(t *testing.T) {
			m := formatted(t, "fat32", 64<<20, 512)
			_, g, err := readBoot(m)
			if err != nil {
				t.Fatal(err)
			}
			root := g.ClusterOff(g.RootCluster)
			put := func(off int64, s string) {
				if _, err := m.WriteAt([]byte(fmt.Sprintf("%-11s", s)), off); err != nil {
					t.Fatal(err)
				}
			}
			for _, boot := range []int64{0, 6 * g.SectorSize} {
				put(boot+71, c.boot) // [FAT] BS_VolLab
			}
			if c.root != "" {
				put(root, c.root)
				entry := make([]byte, entryLen-11)
				entry[0] = attrVolume
				if _, err := m.WriteAt(entry, root+11); err != nil {
					t.Fatal(err)
				}
			}
			if c.root == "erased" {
				if _, err := m.WriteAt([]byte{0xE5}, root); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			res := fsck(t, m, nil)
			for _, o := range res.Outcomes {
				if o.Severity > vol.SevInfo || strings.HasPrefix(o.Slug, "label") {
					got = append(got, o.Slug)
				}
			}
			if !slices.Equal(got, c.slugs) || res.Info.Label != c.shown {
				t.Errorf("label %q, found %q; want %q, %q", res.Info.Label, got, c.shown, c.slugs)
			}
		})
	}
}
