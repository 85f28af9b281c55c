package source

import (
	"errors"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

// Of the lines that match a file's path and kind the last one counts, and <<none>>
// leaves a file alone.
func TestContexts(t *testing.T) {
	c, err := parseContexts(strings.NewReader(`# a comment
/.*             u:object_r:default_t:s0
/etc(/.*)?      u:object_r:etc_t:s0

/etc/.*\.conf  --  u:object_r:conf_t:s0
/etc/none       <<none>>
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		kind vol.Kind
		want string
	}{
		{"", vol.KindDir, "default_t"}, {"etc", vol.KindDir, "etc_t"}, {"etc/a.conf", vol.KindFile, "conf_t"},
		{"etc/a.conf", vol.KindDir, "etc_t"}, {"etc/a.config", vol.KindFile, "etc_t"}, {"etcetera", vol.KindFile, "default_t"}, {"etc/none", vol.KindFile, ""},
	} {
		e := vol.Entry{Path: tt.path}
		e.Kind = tt.kind
		c.Label(&e)
		got := ""
		for _, x := range e.Xattrs {
			if x.Name == "security.selinux" {
				got = string(x.Value)
			}
		}
		if want := "u:object_r:" + tt.want + ":s0\x00"; got != want && (tt.want != "" || got != "") {
			t.Errorf("/%s (%s) is labelled %q, want %q", tt.path, tt.kind, got, want)
		}
	}
	for _, bad := range []string{"/a", "/a -x u:o:t:s0", "/( u:o:t:s0", "/a -- b c"} {
		if _, err := parseContexts(strings.NewReader(bad)); !errors.Is(err, vol.ErrUsage) || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
