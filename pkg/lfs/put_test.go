package lfs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// TestPut puts files of every kind on volumes and finds them there.
func TestPut(t *testing.T) {
	for _, features := range []string{"", putAll, "extra_attr", "quota"} {
		t.Run(features, func(t *testing.T) {
			d := emptyVolume(t, 128<<20, features)
			s := mixed()
			if _, err := s.put(t, d, vol.PutRequest{}); err != nil {
				t.Fatal(err)
			}
			clean(t, d)
			s.verify(t, d)
		})
	}
}

// TestPutTwice puts files onto a volume that has some.
func TestPutTwice(t *testing.T) {
	d := emptyVolume(t, 128<<20, putAll)
	s := mixed()
	if _, err := s.put(t, d, vol.PutRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.put(t, d, vol.PutRequest{}); !errors.Is(err, fs.ErrExist) || !errors.Is(err, vol.ErrRequest) {
		t.Errorf("once more: %v", err)
	}
	again := &sourceOf{}
	for i := range s.entries {
		e := &s.entries[i]
		if e.Kind == vol.KindFile && e.Same < 0 && e.Size < 100_000 && i%3 == 0 {
			again.file(e.Path, noise(int(e.Size+17))).UID = 4711
		}
	}
	again.file("new/dir/file", noise(6000))
	again.add("link", vol.Attr{Kind: vol.KindSymlink, Link: "elsewhere"}, nil)
	again.file("second", []byte("no link any more"))
	if _, err := again.put(t, d, vol.PutRequest{Replace: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := again.put(t, d, vol.PutRequest{Replace: true, Parents: true}); err != nil {
		t.Fatal(err)
	}
	clean(t, d)
	again.verify(t, d)
	_, all := nodesOf(t, d)
	if n := all["first"]; n == nil || n.Nlink != 2 {
		t.Errorf("of three names one was replaced, and there are %+v", n)
	}
}

// TestPutRefuses: what cannot be is refused with the name of the entry, and
// nothing is written.
func TestPutRefuses(t *testing.T) {
	acl := []byte{2, 0, 0, 0, 1, 0, 7, 0}
	for name, make := range map[string]func(s *sourceOf){
		"too long a name": func(s *sourceOf) { s.file(strings.Repeat("n", 256), nil) },
		"a zero byte":     func(s *sourceOf) { s.file("a\x00b", nil) },
		"no directory":    func(s *sourceOf) { s.file("missing/file", nil) },
		"under a file":    func(s *sourceOf) { s.file("file", nil); s.file("file/file", nil) },
		"twice":           func(s *sourceOf) { s.file("file", nil); s.file("file", nil) },
		"too large":       func(s *sourceOf) { s.file("large", nil).Size = 1 << 50 },
		"no room":         func(s *sourceOf) { s.file("large", nil).Size = 1 << 30 },
		"an attribute":    func(s *sourceOf) { s.file("file", nil).Xattrs = []vol.Xattr{{Name: "system.other"}} },
		"its size": func(s *sourceOf) {
			s.file("file", nil).Xattrs = []vol.Xattr{{Name: "user.x", Value: noise(5000)}}
		},
		"a broken list": func(s *sourceOf) { s.file("file", nil).Xattrs = []vol.Xattr{{Name: vol.ACLAccessName, Value: acl}} },
		"of a link": func(s *sourceOf) {
			s.add("l", vol.Attr{Kind: vol.KindSymlink, Link: "x", Xattrs: []vol.Xattr{{Name: "user.x"}}}, nil)
		},
		"an empty link": func(s *sourceOf) { s.add("l", vol.Attr{Kind: vol.KindSymlink}, nil) },
		"a long link":   func(s *sourceOf) { s.add("l", vol.Attr{Kind: vol.KindSymlink, Link: strings.Repeat("x", 4096)}, nil) },
		"a device":      func(s *sourceOf) { s.add("d", vol.Attr{Kind: vol.KindChar, Major: 4096}, nil) },
		"another name":  func(s *sourceOf) { s.dir("d"); s.dir("e").Same = 0 },
		"no name":       func(s *sourceOf) { s.file("..", nil) },
		"a directory":   func(s *sourceOf) { s.file("lost+found", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			d := emptyVolume(t, 64<<20, putAll)
			before := sumOf(t, d)
			s := &sourceOf{}
			make(s)
			last := &s.entries[len(s.entries)-1]
			if _, err := s.put(t, d, vol.PutRequest{Replace: true}); !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), last.Name()) {
				t.Errorf("%v", err)
			}
			if sumOf(t, d) != before {
				t.Error("the volume changed")
			}
		})
	}
}

// sumOf is a checksum of what counts on a volume: not of free blocks.
func sumOf(t testing.TB, d dev.Device) uint32 {
	t.Helper()
	v, err := open(t.Context(), d, vol.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l := v.(*volume).l
	sum, b := uint32(1), make([]byte, l.g.BlockSize)
	for blk := range uint32(l.g.Blocks) {
		if blk >= l.g.Main && (!l.g.ValidMain(blk) || !l.sit.valid.Used(blk-l.g.Main)) {
			continue
		}
		if _, err := d.ReadAt(b, l.g.BlockOff(blk)); err != nil {
			t.Fatal(err)
		}
		sum = crcUpdate(sum, b)
	}
	return sum
}

// TestPutSource: contents that cannot be read, or became fewer, end it with the
// name of the file.
func TestPutSource(t *testing.T) {
	for _, size := range []int{100, 100_000} {
		d := emptyVolume(t, 64<<20, "")
		s := &sourceOf{}
		s.file("file", noise(size)).Origin = "/source/file"
		s.failing[0] = fs.ErrPermission
		if _, err := s.put(t, d, vol.PutRequest{}); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "/source/file") {
			t.Errorf("unreadable: %v", err)
		}
		delete(s.failing, 0)
		s.data[0] = s.data[0][:size-1]
		if _, err := s.put(t, d, vol.PutRequest{}); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "/source/file") {
			t.Errorf("shorter: %v", err)
		}
		clean(t, d)
	}
}

// TestPutSparse: a file of 1 TiB that is one hole takes an inode; data behind a
// hole takes the nodes that lead there.
func TestPutSparse(t *testing.T) {
	d := emptyVolume(t, 64<<20, "")
	s := &sourceOf{}
	for i, data := range [][]dev.Range{{}, {{Off: 1<<40 - 5, Len: 5}}, {{Off: 0, Len: 1}, {Off: 1 << 33, Len: 1}}} {
		e := s.file(fmt.Sprint(i), nil)
		e.Size, e.Data = 1<<40, data
		s.pattern[i] = byte(i + 1)
	}
	res, err := s.put(t, d, vol.PutRequest{})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, d)
	if res.ClustersAllocated != 1+(1+3+1)+(1+3+2) {
		t.Errorf("%d blocks", res.ClustersAllocated)
	}
	tr, all := nodesOf(t, d)
	for i := range s.entries {
		r, err := tr.Contents(all[fmt.Sprint(i)])
		if err != nil {
			t.Fatal(err)
		}
		for _, off := range []int64{0, 1 << 33, 1 << 39, 1<<40 - 5} {
			b, want := make([]byte, 5), make([]byte, 5)
			if _, err := r.ReadAt(b, off); err != nil {
				t.Fatal(err)
			}
			for _, x := range s.entries[i].Data {
				if in := x.Intersect(dev.Range{Off: off, Len: 5}); !in.Empty() {
					_, _ = patternReader{s.pattern[i], 1 << 40}.ReadAt(want[:in.Len], off)
				}
			}
			if !bytes.Equal(b[:1], want[:1]) {
				t.Errorf("%d at %d: % x, not % x", i, off, b, want)
			}
		}
	}
}

// TestRemove takes away what was put, by one name after the other and all at
// once, and the volume is as empty as before.
func TestRemove(t *testing.T) {
	d := emptyVolume(t, 128<<20, putAll)
	empty := stateOf(t, d).cp
	s := mixed()
	if _, err := s.put(t, d, vol.PutRequest{}); err != nil {
		t.Fatal(err)
	}
	remove := func(r vol.RemoveRequest) (res *vol.RemoveResult, err error) {
		err = changed(t, d, func(ctx context.Context, v vol.Volume) error {
			res, err = v.Remove(ctx, r)
			return err
		})
		return res, err
	}
	for _, r := range []vol.RemoveRequest{{Paths: []string{"deep"}}, {Paths: []string{"first", "nothing"}}, {Paths: []string{"first/x"}}, {Paths: []string{"/"}}} {
		if _, err := remove(r); !errors.Is(err, vol.ErrRequest) {
			t.Errorf("%q: %v", r.Paths, err)
		}
	}
	if res, err := remove(vol.RemoveRequest{Paths: []string{"first", "files/0000001", "empty"}}); err != nil || res.Files != 2 || res.Directories != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	clean(t, d)
	if _, all := nodesOf(t, d); all["first"] != nil || all["second"] == nil || all["second"].Nlink != 2 {
		t.Error("of three names one was taken")
	}
	var names []string
	for i := range s.entries {
		p := s.entries[i].Path
		if p != "" && p != "first" && p != "empty" && p != "files/0000001" && (!strings.Contains(p, "/") || i%2 == 0) {
			names = append(names, p)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	if _, err := remove(vol.RemoveRequest{Paths: names, Recursive: true}); err != nil {
		t.Fatal(err)
	}
	clean(t, d)
	after := stateOf(t, d).cp
	if after.validInodes() != empty.validInodes() {
		t.Errorf("%d inodes, before %d", after.validInodes(), empty.validInodes())
	}
}
