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
	for _, bad := range []string{"/a", "/a -x u:o:t:s0", "/( u:o:t:s0", "/a -- b c", "/a b # c", "/a b:c d", "/(?!x)a b", "/a\\ b",
		"\xef\xbb\xbf/a b", "/ä b", "\x8a\xff\x7c\xf9\x00", "/a\x00 b", "/" + strings.Repeat("a", maxContextLine) + " b", "/(a{1000}){1000} b"} {
		if _, err := parseContexts(strings.NewReader(bad)); !errors.Is(err, vol.ErrUsage) || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// What libselinux 3.4 says of the same files: no special characters before all
// patterns, bytes and not letters, a dot for a line feed, too.
func TestContextsAsLibselinux(t *testing.T) {
	for _, tt := range []struct {
		text, path string
		kind       vol.Kind
		want       string
	}{
		{"/.* any\n/etc/none plain\n/etc(/.*)? etc", "etc/none", vol.KindFile, "plain"},
		{"/.* any\n/etc/none plain\n/etc(/.*)? etc", "etc/other", vol.KindFile, "etc"},
		{"/etc/a\\.conf plain\n/etc/.* etc", "etc/a.conf", vol.KindFile, "plain"},
		{"/etc/a\\.conf plain\n/etc/.* etc", "etc/axconf", vol.KindFile, "etc"},
		{"/x one\n/x -d two\n/.* any", "x", vol.KindFile, "one"},
		{"/x one\n/x -d two\n/.* any", "x", vol.KindDir, "two"},
		{"/x one\n/x two", "x", vol.KindDir, "two"},
		{"/x <<none>>\n/.* any", "x", vol.KindFile, ""},
		{"/.* any\n/x.* <<none>>", "xy", vol.KindFile, ""},
		{"/.* any\n/x.* <<none>>", "y", vol.KindFile, "any"},
		{"/a.b dot", "a\nb", vol.KindFile, "dot"},
		{"/a.b dot", "a\xffb", vol.KindFile, "dot"},
		{"/a.b dot", "aäb", vol.KindFile, ""},
		{"/a..b dots", "aäb", vol.KindFile, "dots"},
		{"/x/[^/]+ one\n/x/.+ deep\n/x/[^/]*\\.so(\\.[^/]*)* -- lib", "x/l.so.1", vol.KindFile, "lib"},
		{"/x/[^/]+ one\n/x/.+ deep\n/x/[^/]*\\.so(\\.[^/]*)* -- lib", "x/l.so.1", vol.KindDir, "deep"},
		{"/x/.+ deep\n/x/[^/]+ one", "x/y/z", vol.KindDir, "deep"},
		{"/x? q\n/y* r\n/z{0,1}w s", "", vol.KindDir, "r"},
		{"/x? q\n/z{0,1}w s", "w", vol.KindFile, "s"},
		{"/lit]} x", "lit]}", vol.KindFile, "x"},
		{"/[[:alpha:]]x posix\n/c\\d+ digits", "c12", vol.KindFile, "digits"},
		{"\t/a \t -- \t a\r\n", "a", vol.KindFile, "a"},
		{"/a -- a # why", "a", vol.KindFile, "a"},
		{"a relative", "a", vol.KindFile, ""},
		{"/a/ slash", "a", vol.KindDir, ""},
		{"/a -l l\n/a -p p\n/a -s s\n/a -c c\n/a -b b", "a", vol.KindSymlink, "l"},
		{"/a -l l\n/a -p p\n/a -s s\n/a -c c\n/a -b b", "a", vol.KindFIFO, "p"},
		{"/a -l l\n/a -p p\n/a -s s\n/a -c c\n/a -b b", "a", vol.KindSocket, "s"},
		{"/a -l l\n/a -p p\n/a -s s\n/a -c c\n/a -b b", "a", vol.KindChar, "c"},
		{"/a -l l\n/a -p p\n/a -s s\n/a -c c\n/a -b b", "a", vol.KindBlock, "b"},
		{"/a -l l\n/a -p p\n/a -s s\n/a -c c\n/a -b b", "a", vol.KindFile, ""},
	} {
		c, err := parseContexts(strings.NewReader(tt.text))
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		e := vol.Entry{Path: tt.path}
		e.Kind = tt.kind
		c.Label(&e)
		got := ""
		if len(e.Xattrs) > 0 {
			got = strings.TrimSuffix(string(e.Xattrs[0].Value), "\x00")
		}
		if got != tt.want {
			t.Errorf("%q: /%q is %q, want %q", tt.text, tt.path, got, tt.want)
		}
	}
}
