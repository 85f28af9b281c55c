package vol

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

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

// A path that leads deeper than a walk goes is that of no file.
func TestTooDeep(t *testing.T) {
	most := strings.Repeat("a/", MaxDepth-1) + "f"
	if _, err := SplitPath("/" + most); err != nil || TooDeep(most) != nil {
		t.Errorf("%v, %v", err, TooDeep(most))
	}
	if _, err := SplitPath("a/" + most); !errors.Is(err, ErrRequest) || TooDeep("a/"+most) == nil {
		t.Errorf("%v", err)
	}
	long := strings.Repeat(strings.Repeat("n", 255)+"/", maxWalkPath/256)
	if TooDeep(long) != nil || TooDeep(long+"f") == nil {
		t.Errorf("%d bytes: %v, and one more: %v", len(long), TooDeep(long), TooDeep(long+"f"))
	}
	if parts, err := SplitPath(strings.Repeat("./", 2*MaxDepth) + "f"); err != nil || len(parts) != 1 {
		t.Errorf("%v, %v", parts, err)
	}
}

func TestParent(t *testing.T) {
	for path, want := range map[string]string{"": "", "a": "", "a/b": "a", ".hidden/b": ".hidden", "a/b/c": "a/b"} {
		if got := Parent(path); got != want {
			t.Errorf("%q is in %q, want %q", path, got, want)
		}
	}
}

// Names in UTF-16 make the paths that they make in UTF-8.
func TestJoinUnits(t *testing.T) {
	for _, name := range [][]uint16{
		{}, {'a'}, utf16.Encode([]rune("ä 日本 😀.txt")), {0xD800, 'a'}, {'b', 0xDC00}, {'.', '.', '/', 'x'}, {'c', 0, 'd'}, {0xFFFD, 0xFFFF},
		utf16.Encode([]rune(strings.Repeat("日", 255))), utf16.Encode([]rune(strings.Repeat("a", 255))),
	} {
		for _, dir := range []string{"/", "/a", "/a/", "/" + strings.Repeat("long/", 200)} {
			if got, want := JoinUnits(dir, name), JoinPath(dir, string(utf16.Decode(name))); got != want {
				t.Errorf("%v in %q is %q, want %q", name, dir, got, want)
			}
		}
	}
}

func TestTailOf(t *testing.T) {
	for _, c := range [][2]string{{"/x/a/b", "/a/b"}, {"a/b", "/a/b"}, {"a", ""}, {"", "a"}, {"./a", "a"}} {
		if got := TailOf(c[0], c[1]); got != c[1] {
			t.Errorf("%q of %q became %q", c[1], c[0], got)
		}
	}
}

func TestInFolders(t *testing.T) {
	got := InFolders([]string{"b/2", "a/1", "b/1", "/", "b/3"}, Parent)
	want := map[string][]string{"a": {"a/1"}, "b": {"b/2", "b/1", "b/3"}, "": {"/"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	_ = append(got["a"], "more") // is a list of its own
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Times that an entry does not have are as Modified.
func TestAllTimes(t *testing.T) {
	at := func(n int64) time.Time { return time.Unix(n, 0) }
	e := Entry{Attr: Attr{Modified: at(5)}}
	if got := e.AllTimes(); got != (Times{Accessed: at(5), Changed: at(5), Born: at(5)}) {
		t.Errorf("%v", got)
	}
	e.Times = &Times{Accessed: at(6), Born: at(4)}
	if got := e.AllTimes(); got != (Times{Accessed: at(6), Changed: at(5), Born: at(4)}) {
		t.Errorf("%v", got)
	}
	if !e.Times.Changed.IsZero() {
		t.Error("the entry changed")
	}
}

// The names of flags are the same whether they were asked for before or not.
func TestFlagNames(t *testing.T) {
	var names FlagNames
	for range 2 {
		for f := range len(names) {
			if d := cmp.Diff(FileFlags(f).Names(), names.Of(FileFlags(f))); d != "" {
				t.Errorf("%#x: %s", f, d)
			}
		}
	}
}
