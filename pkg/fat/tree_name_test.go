package fat

import (
	"bytes"
	"context"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

// A name that damage has put a "/" into is still the name of one file, in the
// directory where it is.
func TestTreeNameWithSlash(t *testing.T) {
	m := formatted(t, "fat16", 9<<20, 2048)
	preallocated(t, m, emptyFiles("D/..Qetc"))
	b := make([]byte, m.Size())
	if _, err := m.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte(".\x00.\x00Q\x00e\x00"))
	if at < 0 {
		t.Fatal("the long name is not found")
	}
	if _, err := m.WriteAt([]byte{'/'}, int64(at)+4); err != nil {
		t.Fatal(err)
	}
	tree, err := read(context.Background(), m, vol.ReadOptions{})
	must(t, err)
	dir, err := vol.Resolve(tree, "/D")
	must(t, err)
	var paths []string
	must(t, tree.List(context.Background(), dir, func(n *vol.Node) error {
		paths = append(paths, n.Path)
		return nil
	}))
	if len(paths) != 1 || paths[0] != `/D/..\x2fetc` {
		t.Errorf("paths %q", paths)
	}
}
