package vol

import "testing"

// A path is that of what is in the directory, whatever the name.
func TestJoinPath(t *testing.T) {
	for _, c := range [][3]string{
		{"/", "a", "/a"}, {"/a", "b", "/a/b"}, {"/a/", "b", "/a/b"},
		{"/a", "../../etc/passwd", `/a/..\x2f..\x2fetc\x2fpasswd`}, {"/", "/", `/\x2f`}, {"/a", "b\x00c", `/a/b\x00c`},
	} {
		if got := JoinPath(c[0], c[1]); got != c[2] {
			t.Errorf("%q in %q is %q, want %q", c[1], c[0], got, c[2])
		}
	}
}

func TestParent(t *testing.T) {
	for path, want := range map[string]string{"": "", "a": "", "a/b": "a", ".hidden/b": ".hidden", "a/b/c": "a/b"} {
		if got := Parent(path); got != want {
			t.Errorf("%q is in %q, want %q", path, got, want)
		}
	}
}
