package vol

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how many components the path of what is made may have, and how deep a walk
// goes: as many as there can be in the 4096 bytes that Linux takes, path_resolution(7).
const MaxDepth = 2048

// TooDeep is an error that says that a path has more than MaxDepth components, or more
// bytes than a walk goes into, or nil.
func TooDeep(path string) error {
	if len(path) > maxWalkPath {
		return fmt.Errorf("the path has %d bytes, and %d are the most", len(path), maxWalkPath)
	}
	if n := strings.Count(path, "/"); n >= MaxDepth {
		return fmt.Errorf("the path has %d components, and %d are the most", n+1, MaxDepth)
	}
	return nil
}

// SplitPath is the components of the path of a file as the command line has
// it: with or without a leading slash, or mtools' "::". A path that cannot be
// that of a file is ErrRequest.
func SplitPath(path string) ([]string, error) {
	parts, err := pathParts(path)
	if err == nil && (len(parts) == 0 || strings.HasSuffix(path, "/")) {
		return nil, Refusef("%q names a directory, not a file", path)
	}
	if deep := TooDeep(strings.Join(parts, "/")); err == nil && deep != nil {
		return nil, Refusef("%v", deep)
	}
	return parts, err
}

// pathParts is SplitPath for a path that may be that of a directory.
func pathParts(path string) ([]string, error) {
	var parts []string
	for _, p := range strings.Split(strings.TrimPrefix(path, "::"), "/") {
		switch p {
		case "", ".":
		case "..":
			return nil, Refusef("%q: \"..\" is not taken in paths", path)
		default:
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// JoinPath is the path of what is called name in the directory dir. On a damaged
// volume a name may have a "/" in it, or a zero byte: such a path would be that of
// something else, or lead out of the directory that files are copied to. They stand
// in the path as \x2f and \x00.
func JoinPath(dir, name string) string {
	if strings.ContainsAny(name, "/\x00") {
		name = strings.NewReplacer("/", `\x2f`, "\x00", `\x00`).Replace(name)
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

// JoinUnits is JoinPath of a name in UTF-16. Nearly all names are plain, and are
// joined without one step between.
func JoinUnits(dir string, name []uint16) string {
	var buf [512]byte
	b := append(append(buf[:0], strings.TrimSuffix(dir, "/")...), '/')
	for _, u := range name {
		if u == 0 || u == '/' || u&0xF800 == 0xD800 { // half of a surrogate pair
			return JoinPath(dir, string(utf16.Decode(name)))
		}
		b = utf8.AppendRune(b, rune(u))
	}
	return string(b)
}

// TailOf is tail in the memory of s, where s ends with it: of each of a million files
// there are paths of which one is the end of the other.
func TailOf(s, tail string) string {
	if strings.HasSuffix(s, tail) {
		return s[len(s)-len(tail):]
	}
	return tail
}

// Parent is the directory that the path of an Entry is in; "" for the root.
func Parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}
