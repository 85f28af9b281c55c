package vol

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	have := slices.Values([]string{"check", "format", "prealloc", "mount-scan", "CLIP0001.MP4", "CLIP0002.MP4", "ä", ""})
	for want, near := range map[string]string{
		"chekc": "check", "cehck": "check", "formt": "format", "preallocate": "prealloc", "mountscan": "mount-scan",
		"clip0001.mp": "CLIP0001.MP4", "CLIP0003.MP4": "CLIP0001.MP4", "Ä": "ä",
		"": "", "zzz": "", "undo": "", "check": "", "frob-the-disk": "",
		strings.Repeat("x", 5000): "",
	} {
		if got := Nearest(want, have); got != near {
			t.Errorf("Nearest(%.20q) is %q, want %q", want, got, near)
		}
	}
}

func TestNoSuch(t *testing.T) {
	err := NoSuch("/DCIM/CLIP", "/", "DCIM", slices.Values([]string{"DCIN", "LOG"}))
	if !errors.Is(err, ErrRequest) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), `(did you mean "DCIN"?)`) {
		t.Error(err)
	}
	for _, p := range []string{"/A/X", "A/X", "::A/X", "/A//X/"} {
		if err := NoSuch(p, "/A", "X", slices.Values([]string{"LOG"})); err.Error() != `request cannot be met: /A/X: there is no "X" in /A` {
			t.Error(err)
		}
	}
}
