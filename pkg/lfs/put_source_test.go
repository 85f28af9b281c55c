package lfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// putAll has every feature that files look different with.
const putAll = "extra_attr,project_quota,quota,inode_checksum,flexible_inline_xattr,inode_crtime,lost_found,sb_checksum"

// sourceOf is entries with contents, and how often one of them was opened.
type sourceOf struct {
	entries []vol.Entry
	data    map[int][]byte
	pattern map[int]byte // for what is too large to keep: all bytes are this
	failing map[int]error
}

type contentsReader struct{ io.ReaderAt }

func (contentsReader) Close() error { return nil }

type patternReader struct {
	b    byte
	size int64
}

func (r patternReader) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), max(0, r.size-off)))
	for i := range p[:n] {
		p[i] = r.b + byte((off+int64(i))/4096)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (s *sourceOf) open(i int) (vol.Contents, error) {
	if err := s.failing[i]; err != nil {
		return nil, err
	}
	if b, ok := s.pattern[i]; ok {
		return contentsReader{patternReader{b, s.entries[i].Size}}, nil
	}
	return contentsReader{bytes.NewReader(s.data[i])}, nil
}

// add appends an entry.
func (s *sourceOf) add(p string, a vol.Attr, data []byte) *vol.Entry {
	if s.data == nil {
		s.data, s.pattern, s.failing = map[int][]byte{}, map[int]byte{}, map[int]error{}
	}
	when := time.Unix(1_600_000_000+int64(len(s.entries)), 123456789).UTC()
	e := vol.Entry{Path: p, Attr: a, Same: -1, Size: int64(len(data))}
	e.Modified, e.Times = when, &vol.Times{Accessed: when.Add(1), Changed: when.Add(2), Born: when.Add(3)}
	s.data[len(s.entries)] = data
	s.entries = append(s.entries, e)
	return &s.entries[len(s.entries)-1]
}

func (s *sourceOf) file(p string, data []byte) *vol.Entry {
	return s.add(p, vol.Attr{Kind: vol.KindFile, Mode: 0o644}, data)
}

func (s *sourceOf) dir(p string) *vol.Entry {
	return s.add(p, vol.Attr{Kind: vol.KindDir, Mode: 0o755}, nil)
}

// put puts all of it on a volume, as the program does.
func (s *sourceOf) put(t testing.TB, d dev.Device, r vol.PutRequest) (*vol.PutResult, error) {
	t.Helper()
	return s.putOpened(t, d, vol.OpenOptions{Raw: d, Now: 1700000001}, r)
}

// putOpened is put on a volume that is opened in some way.
func (s *sourceOf) putOpened(t testing.TB, d dev.Device, o vol.OpenOptions, r vol.PutRequest) (*vol.PutResult, error) {
	t.Helper()
	r.Entries, r.Open = s.entries, s.open
	var res *vol.PutResult
	txn := dev.Begin(d)
	defer txn.Rollback()
	v, err := open(t.Context(), txn, o)
	if err != nil {
		return nil, err
	}
	if res, err = v.Put(t.Context(), &r); err != nil {
		return nil, err
	}
	if err := vol.Pour(t.Context(), txn, d, &r, res, func(int64) {}); err != nil {
		return nil, err
	}
	_, err = txn.Commit(context.Background(), dev.CommitOptions{})
	return res, err
}

// emptyVolume makes an empty volume.
func emptyVolume(t testing.TB, size int64, features string) *dev.Mem {
	t.Helper()
	return newBuilder(t, size, vol.FormatOptions{Features: features}).d
}

// contents are the bytes of entry i with its holes.
func (s *sourceOf) contents(i int) []byte {
	e := &s.entries[i]
	b := make([]byte, e.Size)
	r, _ := s.open(i)
	_, _ = r.ReadAt(b, 0)
	if e.Data == nil {
		return b
	}
	out := make([]byte, e.Size)
	for _, r := range e.Data {
		copy(out[r.Off:r.End()], b[r.Off:r.End()])
	}
	return out
}

// nodesOf is all that is on a volume, by path.
func nodesOf(t testing.TB, d dev.Device) (vol.Tree, map[string]*vol.Node) {
	t.Helper()
	tr, err := read(t.Context(), d, vol.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	root, err := tr.Root()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*vol.Node{}
	err = vol.Walk(t.Context(), tr, root, func(n *vol.Node, err error) error {
		if err != nil {
			return err
		}
		all[strings.TrimPrefix(n.Path, "/")] = n
		return tr.Details(n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr, all
}

// verify holds a volume against the entries; others may be there, too.
func (s *sourceOf) verify(t testing.TB, d dev.Device) {
	t.Helper()
	for _, what := range s.differences(t, d) {
		t.Error(what)
	}
}

// differences are what is not as the entries say.
func (s *sourceOf) differences(t testing.TB, d dev.Device) (list []string) {
	t.Helper()
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	tr, all := nodesOf(t, d)
	names := map[int]uint32{}
	for i := range s.entries {
		if e := &s.entries[i]; e.Same >= 0 {
			names[e.Same]++
		}
	}
	for i := range s.entries {
		at := i
		if same := s.entries[i].Same; same >= 0 {
			at = same
		}
		e := s.entries[at]
		e.Path = s.entries[i].Path
		n := all[e.Path]
		if n == nil {
			say("%q is not there", e.Path)
			continue
		}
		if err := s.same(tr, n, &e, at); err != nil {
			say("%q: %v", e.Path, err)
		}
		if n.Kind != vol.KindDir && n.Nlink != 1+names[at] {
			say("%q has %d names, not %d", e.Path, n.Nlink, 1+names[at])
		}
		if s.entries[i].Same >= 0 && n.ID != all[s.entries[at].Path].ID {
			say("%q is not %q", e.Path, s.entries[at].Path)
		}
		if e.Path == "" {
			continue
		}
		dir := all[vol.Parent(e.Path)]
		if l, err := tr.Lookup(dir, path.Base(e.Path)); err != nil || l.ID != n.ID {
			say("%q is not found: %v", e.Path, err)
		}
	}
	return list
}

// same tells how a node is not what an entry says.
func (s *sourceOf) same(tr vol.Tree, n *vol.Node, e *vol.Entry, i int) error {
	mode := e.Mode
	if e.Kind == vol.KindSymlink {
		mode = 0o777
	}
	got := fmt.Sprint(n.Kind, n.Mode, n.UID, n.GID, n.Major, n.Minor, n.Link, n.Modified, n.Accessed, n.Changed, n.Xattrs)
	want := fmt.Sprint(e.Kind, mode, e.UID, e.GID, e.Major, e.Minor, e.Link, e.Modified, e.Times.Accessed, e.Times.Changed, e.Xattrs)
	if got != want {
		return fmt.Errorf("it is %s, not %s", got, want)
	}
	if !n.Born.IsZero() && !n.Born.Equal(e.Times.Born) {
		return fmt.Errorf("it was made at %v, not %v", n.Born, e.Times.Born)
	}
	if e.Kind != vol.KindFile {
		return nil
	}
	if n.Size != e.Size {
		return fmt.Errorf("it has %d bytes, not %d", n.Size, e.Size)
	}
	r, err := tr.Contents(n)
	if err != nil {
		return err
	}
	b := make([]byte, n.Size)
	if k, err := r.ReadAt(b, 0); k < len(b) {
		return fmt.Errorf("read %d: %w", k, err)
	}
	if !bytes.Equal(b, s.contents(i)) {
		return errors.New("its contents are others")
	}
	return nil
}

// clean: our check finds nothing.
func clean(t testing.TB, d dev.Device) {
	t.Helper()
	if res := checked(t, d); len(slugs(res)) > 0 {
		t.Errorf("found %q", found(res))
	}
}

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// acl is an access control list as setxattr(2) takes it.
func acl(entries ...[3]uint32) []byte {
	b := []byte{2, 0, 0, 0}
	for _, e := range entries {
		b = append(b, byte(e[0]), byte(e[0]>>8), byte(e[1]), byte(e[1]>>8), byte(e[2]), byte(e[2]>>8), byte(e[2]>>16), byte(e[2]>>24))
	}
	return b
}

// mixed is entries of every kind.
func mixed() *sourceOf {
	s := &sourceOf{}
	s.dir("").UID = 7
	s.dir("deep")
	at := "deep"
	for i := range 12 {
		at += fmt.Sprintf("/%s%d", strings.Repeat("d", 100), i)
		s.dir(at)
	}
	s.file(at+"/bottom", noise(5000))
	s.dir("dev")
	for i, k := range []vol.Kind{vol.KindFIFO, vol.KindSocket, vol.KindChar, vol.KindBlock} {
		s.add(fmt.Sprintf("dev/%s", k), vol.Attr{Kind: k, Mode: 0o600 + uint32(i), UID: uint32(1000 + i)}, nil)
	}
	s.entries[len(s.entries)-2].Major, s.entries[len(s.entries)-2].Minor = 4, 64
	s.entries[len(s.entries)-1].Major, s.entries[len(s.entries)-1].Minor = 259, 70_000
	s.dir("empty").Mode = 0o1777
	s.dir("files")
	for _, n := range []int{0, 1, 3000, 3400, 3500, 3600, 3692, 3693, 4095, 4096, 4097, 8192, 70_000, 5 << 20} {
		e := s.file(fmt.Sprintf("files/%07d", n), noise(n))
		e.UID, e.GID, e.Mode = uint32(n)<<8, uint32(n%5)<<16, 0o4750
	}
	s.file("files/film.mp4", noise(9000))
	s.file("files/"+strings.Repeat("ä", 127)+"x", []byte("255 bytes"))
	s.holes("files/holes")
	first := len(s.entries)
	s.file("first", noise(10_000))
	s.add("link", vol.Attr{Kind: vol.KindSymlink, Link: "files/0000001"}, nil)
	s.add("link long", vol.Attr{Kind: vol.KindSymlink, Link: strings.Repeat("x/", 2000)}, nil)
	s.entries = append(s.entries, vol.Entry{Path: "second", Same: first}, vol.Entry{Path: "files/third", Same: first})
	s.attributed()
	for i := range 700 {
		s.file(fmt.Sprintf("zz a name that is long enough %04d", i), []byte(fmt.Sprint(i)))
	}
	return s
}

// holes makes files with holes.
func (s *sourceOf) holes(p string) {
	e := s.file(p, noise(1<<20))
	e.Data = []dev.Range{{Off: 100, Len: 50}, {Off: 9000, Len: 8192}, {Off: 1<<20 - 10, Len: 10}}
	e = s.file(p+" only", nil)
	e.Size, e.Data = 1<<40, []dev.Range{}
	s.pattern[len(s.entries)-1] = 0
	s.entries = s.entries[:len(s.entries)-1] // too large to compare; see TestPutSparse
	e = s.file(p+" in the inode", noise(2000))
	e.Data = []dev.Range{{Off: 1000, Len: 1000}}
}

// attributed makes files with extended attributes.
func (s *sourceOf) attributed() {
	s.dir("x")
	big := acl([3]uint32{1, 7, vol.ACLNoID}, [3]uint32{2, 6, 1000}, [3]uint32{2, 4, 1 << 31}, [3]uint32{4, 5, vol.ACLNoID}, [3]uint32{8, 1, 50}, [3]uint32{0x10, 7, vol.ACLNoID}, [3]uint32{0x20, 0, vol.ACLNoID})
	few := []vol.Xattr{{Name: "security.selinux", Value: []byte("system_u:object_r:etc_t:s0\x00")}, {Name: "user.a", Value: []byte{}}, {Name: "user.comment", Value: []byte("words")}}
	many := []vol.Xattr{{Name: vol.ACLAccessName, Value: big}}
	for i := range 20 {
		many = append(many, vol.Xattr{Name: fmt.Sprintf("trusted.overlay.%02d", i), Value: noise(i * 9)})
	}
	many = append(many, vol.Xattr{Name: "user." + strings.Repeat("n", 250), Value: noise(1000)})
	s.file("x/few", noise(3400)).Xattrs = few
	s.file("x/many", noise(100)).Xattrs = many
	e := s.dir("x/y")
	e.Xattrs = append([]vol.Xattr{}, many...)
	e.Xattrs = slices.Insert(e.Xattrs, 1, vol.Xattr{Name: vol.ACLDefaultName, Value: big})
	s.add("x/z", vol.Attr{Kind: vol.KindSymlink, Link: "y", Xattrs: few[:1]}, nil)
	// What is neither a file nor a directory has attributes, too, but none of users:
	// in the inode, and with a node besides.
	system := append([]vol.Xattr{few[0]}, many[1:len(many)-1]...)
	s.add("x/z long", vol.Attr{Kind: vol.KindSymlink, Link: strings.Repeat("long/", 800), Xattrs: system}, nil)
	s.add("x/z nowhere", vol.Attr{Kind: vol.KindSymlink, Link: "nowhere", Xattrs: system}, nil)
	for i, kind := range []vol.Kind{vol.KindFIFO, vol.KindSocket, vol.KindChar, vol.KindBlock} {
		a := vol.Attr{Kind: kind, Mode: 0o640, Xattrs: few[:1]}
		if kind == vol.KindChar || kind == vol.KindBlock {
			a.Major, a.Minor = 1, uint32(i)
		}
		s.add(fmt.Sprintf("x/zz %d", i), a, nil)
		a.Xattrs = system
		s.add(fmt.Sprintf("x/zz %d more", i), a, nil)
	}
}

// removed takes files and directories away.
func removed(t testing.TB, d dev.Device, names []string) error {
	t.Helper()
	return changed(t, d, func(ctx context.Context, v vol.Volume) error {
		_, err := v.Remove(ctx, vol.RemoveRequest{Paths: names, Recursive: true})
		return err
	})
}

// copyOf copies all of a device.
func copyOf(from, to dev.Device) error {
	b := make([]byte, 1<<20)
	for off := int64(0); off < from.Size(); off += int64(len(b)) {
		b := b[:min(int64(len(b)), from.Size()-off)]
		if _, err := from.ReadAt(b, off); err != nil {
			return err
		}
		if bytes.Equal(b, make([]byte, len(b))) {
			continue
		}
		if _, err := to.WriteAt(b, off); err != nil {
			return err
		}
	}
	return nil
}
