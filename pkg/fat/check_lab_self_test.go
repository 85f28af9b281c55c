package fat

import (
	"testing"
)

// The tree as it is planted has nothing wrong, for us and for fsck.fat, and
// the reader of the tests sees what was planted.
func TestLabIsSound(t *testing.T) {
	for _, kind := range []string{"12", "16", "32", "4k"} {
		t.Run(kind, func(t *testing.T) {
			l := newLab(t, kind)
			sound(t, l.m)
			got := l.files()
			for path, want := range l.known {
				if b, ok := got[path]; !ok || b != want {
					t.Errorf("%s: is there: %v; its contents differ", path, ok)
				}
			}
			if len(got) != len(l.known) {
				t.Errorf("%d files, planted %d", len(got), len(l.known))
			}
			fsckSilent(t, l.m)
		})
	}
}
