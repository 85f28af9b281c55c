package vol

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"
)

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
