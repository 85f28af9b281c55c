package vol

import (
	"fmt"
	"strings"
)

// SplitPath is the components of the path of a file as the command line has
// it: with or without a leading slash, or mtools' "::". A path that cannot be
// that of a file is ErrRequest.
func SplitPath(path string) ([]string, error) {
	var parts []string
	for _, p := range strings.Split(strings.TrimPrefix(path, "::"), "/") {
		switch p {
		case "", ".":
		case "..":
			return nil, fmt.Errorf("%w: %q: \"..\" is not taken in paths", ErrRequest, path)
		default:
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 || strings.HasSuffix(path, "/") {
		return nil, fmt.Errorf("%w: %q names a directory, not a file", ErrRequest, path)
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

// Parent is the directory that the path of an Entry is in; "" for the root.
func Parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}
