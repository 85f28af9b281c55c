package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file or directory whose attributes cannot be read is copied without them, and it
// is told.
func TestCopyOutDamagedXattrs(t *testing.T) {
	t.Chdir(t.TempDir())
	const at = "2024-01-02T03:04:05Z"
	value := strings.Repeat("v", 77)
	archive(t, "src.tar", []tarred{
		{Name: "bad", Type: "0", Mode: 0o644, Modified: at, Text: "contents", Xattrs: map[string]string{"user.name": value}},
		{Name: "dir/", Type: "5", Mode: 0o755, Modified: at, Xattrs: map[string]string{"user.name": value}},
		{Name: "dir/inner", Type: "0", Mode: 0o644, Modified: at, Text: "inner"},
		{Name: "link", Type: "2", Mode: 0o777, Modified: at, Link: "bad", Xattrs: map[string]string{"trusted.name": value}},
	})
	realRun(t, "format", "-t", "f2fs", "-s", "64M", "-d", "src.tar", "v.img").want(t, 0)
	b, err := os.ReadFile("v.img")
	if err != nil {
		t.Fatal(err)
	}
	// An entry of a list is its index, the lengths of name and value, and these.
	good, bad := []byte("\x04\x4d\x00name"+value), []byte("\x04\xff\xffname"+value)
	if n := bytes.Count(b, good); n != 3 {
		t.Fatalf("there are %d lists", n)
	}
	if err := os.WriteFile("v.img", bytes.ReplaceAll(b, good, bad), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"v.img::/", "out"}, {"v.img::/", "--tar", "out.tar"}} {
		r := realRun(t, append([]string{"copy", "-r"}, args...)...)
		r.want(t, 8)
		for _, p := range []string{"/bad", "/dir", "/link"} {
			if !strings.Contains(r.err, "v.img: "+p+": its attributes are left out: ") {
				t.Errorf("%q does not tell of %s", r.err, p)
			}
		}
	}
	for name, want := range map[string]string{"bad": "contents", "dir/inner": "inner", "link": "contents"} {
		if b, err := os.ReadFile(filepath.Join("out", name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	var names []string
	for _, e := range unarchive(t, "out.tar") {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "bad") || !strings.Contains(got, "dir/inner") || !strings.Contains(got, "link") {
		t.Errorf("the archive has %s", got)
	}
}
