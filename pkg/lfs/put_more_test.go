package lfs

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// TestPutFolders has more directories than are held in memory, and goes through
// them in no order; and one that is large.
func TestPutFolders(t *testing.T) {
	d := emptyVolume(t, 256<<20, putAll)
	s := &sourceOf{}
	s.dir("")
	for i := range maxFolders * 2 {
		s.dir(fmt.Sprintf("dir %d", i))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 6000 {
		s.file(fmt.Sprintf("dir %d/a name of some length %d", r.IntN(maxFolders*2), i), []byte{byte(i)})
	}
	s.file("behind", nil)
	s.dir("large")
	for i := range 20_000 {
		s.file(fmt.Sprintf("large/%x", i*7919), nil)
	}
	if _, err := s.put(t, d, vol.PutRequest{}); err != nil {
		t.Fatal(err)
	}
	clean(t, d)
	s.verify(t, d)
}

// TestPutFolded: a directory that does not tell upper from lower case takes a
// name once; wanted names are changed then.
func TestPutFolded(t *testing.T) {
	l := newLab(t, labFeatures)
	for _, c := range []struct {
		names  []string
		rename bool
		is     error
		made   string
	}{
		{names: []string{"readme.txt"}, is: fs.ErrExist},
		{names: []string{"New", "NEW"}, is: vol.ErrRequest},
		{names: []string{"New.txt", "NEW.TXT"}, rename: true, made: "/folded/NEW~1.TXT"},
		{names: []string{strings.Repeat("ä", 200) + ".txt"}, rename: true, made: "/folded/" + strings.Repeat("ä", 125) + ".txt"},
	} {
		d := dev.Begin(l.d)
		s := &sourceOf{}
		for _, n := range c.names {
			s.file("folded/"+n, []byte(n))
		}
		res, err := s.put(t, d, vol.PutRequest{Rename: c.rename})
		if !errors.Is(err, c.is) {
			t.Errorf("%q: %v", c.names, err)
		}
		if err != nil {
			continue
		}
		clean(t, d)
		if len(res.Renamed) != 1 || res.Renamed[0].Path != c.made || res.Renamed[0].Entry != len(c.names)-1 {
			t.Errorf("%q: renamed %+v", c.names, res.Renamed)
		}
		tr, err := read(t.Context(), d, vol.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := vol.Resolve(tr, strings.ToUpper(c.made[:8])); err == nil {
			t.Errorf("the root tells case, and has %v", n)
		}
		if n, err := vol.Resolve(tr, c.made[:8]+strings.ToLower(c.made[8:])); err != nil || n.Size == 0 {
			t.Errorf("%s: %v", c.made, err)
		}
	}
}

// TestPutNew: with New a directory must not be there; without it stays as it is.
func TestPutNew(t *testing.T) {
	l := newLab(t, "")
	for _, c := range []struct {
		path string
		r    vol.PutRequest
		is   error
	}{
		{"dir", vol.PutRequest{New: true}, fs.ErrExist}, {"dir", vol.PutRequest{}, nil}, {"plain", vol.PutRequest{Replace: true}, vol.ErrRequest},
		{"a/b/c", vol.PutRequest{New: true, Parents: true}, nil}, {"a/b/c", vol.PutRequest{New: true}, fs.ErrNotExist}, {"dir/inner/x", vol.PutRequest{Parents: true}, vol.ErrRequest},
	} {
		d := dev.Begin(l.d)
		s := &sourceOf{}
		s.dir(c.path).Mode = 0o700
		if _, err := s.put(t, d, c.r); !errors.Is(err, c.is) {
			t.Errorf("%q %+v: %v", c.path, c.r, err)
		}
		clean(t, d)
		if _, all := nodesOf(t, d); all["dir"].Mode == 0o700 {
			t.Error("a directory that was there has another mode")
		}
	}
}

// TestPutImmutable: what is marked as immutable stays, and takes nothing.
func TestPutImmutable(t *testing.T) {
	l := newLab(t, "")
	for _, name := range []string{"plain", "dir"} {
		l.at[name].editInode(func(n nodeBlock) { n.put32(inodeFlags, flagImmutable) })
	}
	s := &sourceOf{}
	s.file("dir/new", nil)
	if _, err := s.put(t, l.d, vol.PutRequest{}); !errors.Is(err, vol.ErrRequest) {
		t.Errorf("into a directory: %v", err)
	}
	s = &sourceOf{}
	s.file("plain", nil)
	if _, err := s.put(t, l.d, vol.PutRequest{Replace: true}); !errors.Is(err, vol.ErrRequest) {
		t.Errorf("replaced: %v", err)
	}
	for _, name := range []string{"plain", "dir", "dir/inner"} {
		if err := removed(t, l.d, []string{name}); !errors.Is(err, vol.ErrRequest) {
			t.Errorf("%s removed: %v", name, err)
		}
	}
}

// TestRemoveLab removes files of every structure, compressed ones too.
func TestRemoveLab(t *testing.T) {
	for _, features := range []string{"", labFeatures} {
		l := newLab(t, features)
		var names []string
		for _, x := range l.all {
			if !x.old && x.parent == l.root && x.name != "" {
				names = append(names, x.name)
			}
		}
		names = append(names, "twice too")
		if err := removed(t, l.d, names); err != nil {
			t.Fatal(err)
		}
		clean(t, l.d)
		_, all := nodesOf(t, l.d)
		if len(all) > 2 { // the root, and lost+found
			t.Errorf("%d are left", len(all))
		}
	}
}

// TestKeyless: names in an encrypted directory are those that Linux shows without
// the key, and are found by them.
func TestKeyless(t *testing.T) {
	l := newLab(t, labFeatures)
	l.at["dir"].editInode(func(n nodeBlock) { n[inodeAdvise] |= adviseEncrypted })
	tr, all := nodesOf(t, l.d)
	name := base64.RawURLEncoding.EncodeToString(append([]byte{
		byte(nameHash([]byte("inner"))), byte(nameHash([]byte("inner")) >> 8), byte(nameHash([]byte("inner")) >> 16), byte(nameHash([]byte("inner")) >> 24), 0, 0, 0, 0,
	}, "inner"...))
	if all["dir/"+name] == nil {
		t.Fatalf("%q is not there", name)
	}
	if n, err := tr.Lookup(all["dir"], name); err != nil || n.ID != all["dir/"+name].ID {
		t.Errorf("it is not found: %v", err)
	}
	if _, err := tr.Lookup(all["dir"], "inner"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	// Names of more than 149 bytes end with the digest of the rest.
	long := []byte(strings.Repeat("n", 200))
	if got := keylessName(1, long); len(got) != (8+keylessBytes+32)*4/3 {
		t.Errorf("a long one is %q", got)
	}
}

// TestPutOffset: a volume that begins within a page of the transaction.
func TestPutOffset(t *testing.T) {
	at := dev.Range{Off: 7 * 512, Len: 64 << 20}
	image := dev.NewMem(at.Len + 1<<20)
	of := func(d dev.Device) dev.Device {
		v, err := dev.Section(d, at)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if err := copyOf(emptyVolume(t, at.Len, putAll), of(image)); err != nil {
		t.Fatal(err)
	}
	s := mixed()
	txn := dev.Begin(image)
	v, err := open(t.Context(), of(txn), vol.OpenOptions{Raw: of(image), Now: 1700000001})
	if err == nil {
		err = pourInto(t.Context(), v, s)
	}
	if err == nil {
		_, err = txn.Commit(t.Context(), dev.CommitOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	clean(t, of(image))
	s.verify(t, of(image))
}
