package lfs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// deepLab is a volume of directories in one another, with long names, and in
// each of them a file whose entry has the wrong type.
func deepLab(t testing.TB, depth int) *lab {
	t.Helper()
	m := newBuilder(t, 64<<20, vol.FormatOptions{})
	l := &lab{builder: m, at: map[string]*built{}}
	var dirs []*built
	for dir := m.root; len(dirs) < depth; {
		dir = m.inlineDir(dir, strings.Repeat("d", 200))
		m.file(dir, "file", file{})
		dirs = append(dirs, dir)
	}
	l.finish()
	for _, dir := range dirs {
		dir.editEntry("file", func(d dentryBlock, i int) { d.entry(i)[dentryType] = typeFIFO })
	}
	return l
}

// TestDeepPaths: paths are as long as a program can use them, in whatever order
// they are asked for, and all of them together are not too much.
func TestDeepPaths(t *testing.T) {
	const depth = 60
	l := deepLab(t, depth)
	res := l.check()
	long, whole := 0, 0
	for _, o := range res.Outcomes {
		if n := len(o.Loc.Path); n > maxPathLen+2*maxNameLen {
			t.Errorf("a path has %d bytes", n)
		} else if n > maxPathLen-2*maxNameLen {
			long++
		}
		if o.Loc.Path == strings.Repeat("/"+strings.Repeat("d", 200), 20)+"/file" {
			whole++
		}
	}
	if len(res.Outcomes) != depth || long == 0 || whole != 1 {
		t.Errorf("found %d, %d with long paths, %d of what is 20 deep", len(res.Outcomes), long, whole)
	}
}

// TestManyPaths: where more was asked for than is kept, an inode is its number.
func TestManyPaths(t *testing.T) {
	l := newLab(t, "")
	w := newWalk(t.Context(), l.d, stateOf(t, l.d), nil, make([]byte, 16))
	w.inodes = []inode{{nid: rootIno}, {nid: 77, mode: modeDir, dir: 0}}
	w.paths[1] = "/dir"
	if got := w.path(1); got != "/dir" {
		t.Errorf("the path is %q", got)
	}
	w.pathBytes = maxPathBytes + 1
	if got := w.path(1); got != "<inode 77>" {
		t.Errorf("the path is %q", got)
	}
}

// TestStopReport: what is noted is not reported to the end when the check is
// stopped.
func TestStopReport(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, fn := range []func(w *walk){
		func(w *walk) { w.note(note{slug: "inode-time", inode: -1}) },
		func(w *walk) { w.noted["inode-time"] = maxNotes + 1 },
	} {
		c := &checker{cat: vol.NewCatalogue(Problems()), g: &Geometry{BlockSize: minBlock, MainSegments: 1}}
		c.walk = newWalk(ctx, nil, &state{g: c.g}, nil, make([]byte, 16))
		fn(c.walk)
		if err := c.reportNotes(nil); !errors.Is(err, context.Canceled) {
			t.Errorf("the report says %v", err)
		}
	}
}

// TestDropWrongLength: an entry that leads to nothing goes, and with a wrong length it
// takes no other one along, whether that is mended or not.
func TestDropWrongLength(t *testing.T) {
	for name, decide := range map[string]vol.Decider{
		"all": voltest.Always,
		"no length": func(f *vol.Finding) int {
			if f.Slug == "dentry-name-length" {
				return -1
			}
			return 0
		},
	} {
		l := newLab(t, "")
		want, err := treeFiles(l.d)
		l.must(err)
		l.root.editEntry("inline", func(d dentryBlock, i int) {
			e := d.entry(i)
			e.put(e.hash(), 1<<31, 8*20, e.fileType())
		})
		txn := dev.Begin(l.d)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, decide, nil)
		if err != nil || !slices.Contains(slugs(res), "dentry-ino") {
			t.Fatalf("%s: found %q, %v", name, found(res), err)
		}
		got, err := treeFiles(txn)
		l.must(err)
		for p, b := range want {
			if is, ok := got[p]; p != "/inline" && (!ok || is != b) {
				t.Errorf("%s: %s is lost", name, p)
			}
		}
		txn.Rollback()
	}
}
