package lfs

import (
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

// TestRepairsNamed: every row says how it is mended, but for what nobody can mend:
// a geometry that both superblocks get wrong, a volume of which a part is missing
// or unknown, and what is only remarked.
func TestRepairsNamed(t *testing.T) {
	lost := "volume-beyond-device sb-features cp-flags"
	for _, p := range Problems() {
		fatal := p.Code < "F2FS-0115" // whose checksum is what both say
		none := fatal || p.Severity == vol.SevInfo || strings.Contains(" "+lost+" ", " "+p.Slug+" ")
		if len(p.Repairs) == 0 && !none {
			t.Errorf("%s %s names no repair", p.Code, p.Slug)
		}
		if len(p.Repairs) > 0 && (fatal || strings.Contains(" "+lost+" ", " "+p.Slug+" ")) {
			t.Errorf("%s %s names a repair, which nobody can carry out", p.Code, p.Slug)
		}
	}
}

// TestPlainWords: the states that users meet first are told in words that they
// know.
func TestPlainWords(t *testing.T) {
	for slug, words := range map[string]string{
		"replay": "log has to be replayed", "orphans": "without a name are pending", "cp-disabled": "checkpoints are disabled",
		"sb-stop-reason": "reason to stop", "cp-quota": "quotas need a check", "volume-beyond-device": "larger than the image",
		"not-unmounted": "was not unmounted", "cp-fsck": "check is asked for",
	} {
		p := vol.NewCatalogue(Problems()).Found(slug, vol.Location{})
		if !strings.Contains(p.Title, words) {
			t.Errorf("%s says %q, should speak of %q", slug, p.Title, words)
		}
	}
}
