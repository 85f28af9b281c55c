package exfat

import (
	"strings"
	"testing"
)

// The tree as it is planted has nothing wrong, for us, for the strict reader
// and for fsck.exfat, and the reader of these tests sees what was planted.
func TestLabIsSound(t *testing.T) {
	for _, kind := range strings.Fields(allKinds) {
		t.Run(kind, func(t *testing.T) {
			l := newLab(t, kind)
			for _, o := range fsck(t, l.m, nil).Outcomes {
				if o.Slug != "texfat-padding" {
					t.Error(line(o))
				}
			}
			got := l.files()
			for path, want := range l.known {
				if b, ok := got[path]; !ok || b != want {
					t.Errorf("%s: is there: %v; its contents differ", path, ok)
				}
			}
			if len(got) != len(l.known) {
				t.Errorf("%d files, planted %d", len(got), len(l.known))
			}
			peerSilent(t, l.forPeer(t).m)
		})
	}
}
