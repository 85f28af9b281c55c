package vol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

// graph is a Tree of names alone: what is in each directory, by its path; a name
// with "=" behind it is the directory of that path again, as on a damaged volume.
type graph map[string][]string

func (graph) Info() Info                                       { return Info{} }
func (graph) Details(*Node) error                              { return nil }
func (graph) Mappings(*Node) ([]Mapping, error)                { return nil, nil }
func (graph) Contents(*Node) (io.ReaderAt, error)              { return nil, nil }
func (graph) Uses(context.Context, func(UseRange) error) error { return nil }
func (graph) Fold(name string) string                          { return strings.ToUpper(name) }
func (g graph) Root() (*Node, error)                           { return g.node("/", "/"), nil }
func (g graph) List(_ context.Context, d *Node, fn func(*Node) error) error {
	for _, name := range g[d.Own.(string)] {
		own, as, again := strings.Cut(name, "=")
		if !again {
			as = JoinPath(d.Own.(string), own)
		}
		if err := fn(g.node(JoinPath(d.Path, own), as)); err != nil {
			return err
		}
	}
	return nil
}

func (g graph) Lookup(d *Node, name string) (found *Node, err error) {
	err = g.List(context.Background(), d, func(n *Node) error {
		if strings.EqualFold(n.Path[strings.LastIndexByte(n.Path, '/')+1:], name) {
			found = n
		}
		return nil
	})
	if found == nil {
		return nil, fs.ErrNotExist
	}
	return found, err
}

// node is what has the contents of the path as.
func (g graph) node(path, as string) *Node {
	n := &Node{Path: path, Own: as}
	n.Kind = KindFile
	if _, dir := g[as]; dir {
		n.Kind = KindDir
		for i, c := range as {
			n.ID += uint64(c) << (8 * (i % 7)) // paths of tests are short
		}
	}
	return n
}

func walked(t *testing.T, g graph, fn func(*Node, error) error) (paths []string, err error) {
	t.Helper()
	root, _ := g.Root()
	err = Walk(context.Background(), g, root, func(n *Node, err error) error {
		if err == nil {
			paths = append(paths, n.Path)
		}
		return fn(n, err)
	})
	return paths, err
}

// A walk goes through directories in order of name, once each: one that is its own
// child, or in two places, is told as damage, and the rest goes on.
func TestWalk(t *testing.T) {
	g := graph{"/": {"b", "a", "loop=/", "z"}, "/a": {"x", "twice=/z"}, "/z": {"y"}}
	var told []string
	paths, err := walked(t, g, func(n *Node, err error) error {
		if err != nil {
			told = append(told, n.Path)
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v", n.Path, err)
			}
		}
		return nil
	})
	if want := []string{"/", "/a", "/a/twice", "/a/twice/y", "/a/x", "/b", "/loop", "/z"}; err != nil || !slices.Equal(paths, want) {
		t.Errorf("walked %v, %v, want %v", paths, err, want)
	}
	if want := []string{"/loop", "/z"}; !slices.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
	_, err = walked(t, g, func(_ *Node, err error) error { return err })
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("a walk that passes errors on ends with %v", err)
	}
}

func TestWalkSkips(t *testing.T) {
	g := graph{"/": {"a", "b"}, "/a": {"x"}, "/b": {"y"}}
	paths, err := walked(t, g, func(n *Node, err error) error {
		if n.Path == "/a" {
			return fs.SkipDir
		}
		return err
	})
	if want := []string{"/", "/a", "/b", "/b/y"}; err != nil || !slices.Equal(paths, want) {
		t.Errorf("walked %v, %v, want %v", paths, err, want)
	}
}

func TestGlob(t *testing.T) {
	g := graph{"/": {"DCIM", "a.txt", "b.txt", "c.bin", "x1", "x[1]", `q\*`, "[", "*.bin"}, "/DCIM": {"one.jpg", "two.JPG", "three.png"}}
	for pattern, want := range map[string][]string{
		"*.txt": {"/a.txt", "/b.txt"}, "dcim/*.jpg": {"/DCIM/one.jpg", "/DCIM/two.JPG"}, "?CIM/one*": {"/DCIM/one.jpg"},
		"DCIM": {"/DCIM"}, "::/c.BIN": {"/c.bin"}, "[ab].txt": {"/a.txt", "/b.txt"},
		"x[1]": {"/x[1]"}, "x[12]": {"/x1"}, `x\[1]`: {"/x[1]"}, `q\*`: {`/q\*`}, "[": {"/["}, "*.bin": {"/*.bin"}, "*.BI*": {"/c.bin", "/*.bin"},
	} {
		nodes, err := Glob(context.Background(), g, pattern)
		var got []string
		for _, n := range nodes {
			got = append(got, n.Path)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", pattern, got, err, want)
		}
	}
	for pattern, want := range map[string]error{"*.zip": fs.ErrNotExist, "a.txt/x": ErrRequest, "none": fs.ErrNotExist, "[x": fs.ErrNotExist, "a.txt/[x": ErrRequest, "../a.txt": ErrRequest} {
		if _, err := Glob(context.Background(), g, pattern); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", pattern, err, want)
		}
	}
}

// brokenTree is a tree of which the directory /a cannot be listed to its end.
type brokenTree struct{ Tree }

func (brokenTree) List(_ context.Context, dir *Node, fn func(*Node) error) error {
	kids := map[string][]*Node{
		"/":  {{Path: "/b", ID: 3}, {Path: "/a", ID: 2, Attr: Attr{Kind: KindDir}}},
		"/a": {{Path: "/a/x", ID: 4}},
	}
	for _, k := range kids[dir.Path] {
		if err := fn(k); err != nil {
			return err
		}
	}
	if dir.Path == "/a" {
		return errors.New("broken")
	}
	return nil
}

// TestWalkBroken: what becomes of a directory that cannot be listed to its end is
// as the function says.
func TestWalkBroken(t *testing.T) {
	other := errors.New("other")
	for _, c := range []struct {
		says error
		want error
		met  []string
	}{
		{nil, nil, []string{"/", "/a", "/a/x", "/b"}},
		{fs.SkipDir, nil, []string{"/", "/a", "/b"}},
		{other, other, []string{"/", "/a"}},
	} {
		var met []string
		root := &Node{Path: "/", ID: 1, Attr: Attr{Kind: KindDir}}
		err := Walk(context.Background(), brokenTree{}, root, func(n *Node, err error) error {
			if err != nil {
				return c.says
			}
			met = append(met, n.Path)
			return nil
		})
		if !errors.Is(err, c.want) || !slices.Equal(met, c.met) {
			t.Errorf("%v: walk meets %v: %v", c.says, met, err)
		}
	}
}

// What a volume has of a file is found, and nothing else: neither holes, nor what
// was never written, nor what is behind the end.
func TestNextData(t *testing.T) {
	r := &SectionReader{Size: 100_000, Valid: 50_000, Mappings: []Mapping{
		mapped(4096, 8192, false), mapped(12288, 4096, true), mapped(16384, 4096, false), mapped(40_960, 20_480, false), mapped(90_000, 4096, false)}}
	var got []string
	for pos := int64(0); ; {
		d := r.NextData(pos)
		if d.Empty() {
			break
		}
		got, pos = append(got, d.String()), d.End()
	}
	if want := "[4096+8192 16384+4096 40960+9040]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	if d := r.NextData(5000); d != (dev.Range{Off: 5000, Len: 4096 + 8192 - 5000}) {
		t.Errorf("from inside: %v", d)
	}
}

func mapped(pos, n int64, unwritten bool) (m Mapping) {
	m.Pos, m.Length, m.Unwritten = pos, n, unwritten
	return m
}

// deepTree is a directory that holds one of a long name, and so on, and a file in each.
type deepTree struct{ graph }

func (deepTree) List(_ context.Context, d *Node, fn func(*Node) error) error {
	dir := &Node{Path: JoinPath(d.Path, strings.Repeat("d", 250)), ID: d.ID + 1, Attr: Attr{Kind: KindDir}}
	return errors.Join(fn(&Node{Path: JoinPath(d.Path, "x"), Attr: Attr{Kind: KindFile}}), fn(dir))
}

// TestWalkDeep: a walk ends where paths become longer than any system takes, and all
// that it meets up to there has its whole path.
func TestWalkDeep(t *testing.T) {
	var told []error
	met, longest := 0, ""
	root := &Node{Path: "/", ID: 1, Attr: Attr{Kind: KindDir}}
	err := Walk(context.Background(), deepTree{}, root, func(n *Node, err error) error {
		if err != nil {
			told = append(told, err)
			return nil
		}
		if met++; n.IsDir() {
			longest = n.Path
		} else if at := strings.Count(n.Path, "/") - 1; n.Path != strings.Repeat("/"+strings.Repeat("d", 250), at)+"/x" {
			t.Fatalf("%d bytes of path: %.600s", len(n.Path), n.Path)
		}
		return nil
	})
	if err != nil || len(told) != 1 || !errors.Is(told[0], ErrDamaged) || len(told[0].Error()) > MaxPath+200 {
		t.Errorf("%v; told %.300v", err, told)
	}
	if n := maxWalkPath / 251; len(longest) != 251*(n+1) || met != 2+2*(n+1)-1 {
		t.Errorf("%d met, the longest with %d bytes", met, len(longest))
	}
}
