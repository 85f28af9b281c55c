package vol

import (
	"slices"
	"strings"
)

// MaxPath is how many bytes of the path of a directory a finding shows: Linux opens
// none that is longer than 4096.
const MaxPath = 4 << 10

// DirPaths makes the paths of directories, which have numbers; 0 is the root. The one
// before is remembered, as what is asked for next lies there or right below as a
// rule: in a tree that is thousands of levels deep each path is long.
type DirPaths struct {
	last int32 // 0 for none
	path string
}

// Of is the path of directory i, with a leading slash; of one that is longer than
// MaxPath the end, behind "/…". up is the name of a directory and the one that it is
// in.
func (p *DirPaths) Of(i int32, up func(i int32) (name string, parent int32)) string {
	if i == 0 {
		return "/"
	}
	var parts []string
	from, n := i, 0
	for i != 0 && i != p.last && n <= MaxPath {
		name, parent := up(i)
		parts, i = append(parts, name), parent
		n += 1 + len(name)
	}
	above := ""
	if i != 0 && i == p.last {
		above = p.path
	}
	slices.Reverse(parts)
	p.last, p.path = from, clipPath(strings.Join(append([]string{above}, parts...), "/"))
	return p.path
}

// clipPath is path, or where it is longer than MaxPath its end, behind "/…": that says
// best where it is.
func clipPath(path string) string {
	if len(path) <= MaxPath {
		return path
	}
	return strings.ToValidUTF8("/…"+path[len(path)-MaxPath:], "�")
}
