package source

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
)

// tree makes a directory with what a source can have.
func tree(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	for name, text := range map[string]string{
		"b/two": "2", "b/one": "1", "b-": "beside b", "a": strings.Repeat("long ", 5000), "empty": "",
		"deep/" + strings.Repeat("directory/", 12) + "file": "deep", "\u00e4 \u65e5\u672c": "names",
	} {
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(root, "b", "two"), filepath.Join(root, "again")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b/two", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(root, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, at := range []int64{1 << 20, 5 << 20, 40 << 20} {
		if _, err := f.WriteAt(bytes.Repeat([]byte{7}, 4096), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(64 << 20); err != nil {
		t.Fatal(err)
	}
	return root
}

// told is an entry in words, with a sum of its contents.
func told(t *testing.T, s *Source, i int) string {
	t.Helper()
	e := &s.Entries[i]
	line := fmt.Sprintf("%s %s %o %d:%d %d %q same %d", e.Path, e.Kind, e.Mode, e.UID, e.GID, e.Modified.Unix(), e.Link, e.Same)
	if e.Kind != vol.KindFile || e.Same >= 0 {
		return line
	}
	c, err := s.Open(i)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	if n, err := io.Copy(h, io.NewSectionReader(c, 0, e.Size)); err != nil || n != e.Size {
		t.Fatalf("%s: read %d of %d bytes: %v", e.Path, n, e.Size, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %d %x", line, e.Size, h.Sum(nil)[:8])
}

func lines(t *testing.T, s *Source) (out []string) {
	t.Helper()
	for i := range s.Entries {
		out = append(out, told(t, s, i))
	}
	return out
}

// A directory and its archives, in every form that GNU tar writes and packed in
// every way, are the same source.
func TestTarIsItsDirectory(t *testing.T) {
	if _, err := exec.LookPath("tar"); err != nil {
		needs.Lacks(t, "tar is not installed: NOT COMPARED with it")
	}
	root := tree(t)
	ctx := context.Background()
	d, err := Dir(ctx, root, Options{Seconds: true})
	if err != nil {
		t.Fatal(err)
	}
	want := lines(t, d)
	for _, how := range []string{
		"--format=gnu", "--format=gnu -S", "--format=pax", "--format=pax -S", "--format=pax -S --sparse-version=0.0",
		"--format=pax -S --sparse-version=0.1", "--format=gnu -z", "--format=pax -S -J",
	} {
		t.Run(how, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.tar")
			args := append(strings.Fields(how), "-C", root, "-cf", file, ".")
			if out, err := exec.Command("tar", args...).CombinedOutput(); err != nil {
				t.Fatalf("tar: %v: %s", err, out)
			}
			s, err := Tar(ctx, file, nil, Options{Seconds: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if diff := cmp.Diff(want, lines(t, s)); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(how, "-S") {
				for _, e := range s.Entries {
					if e.Path == "sparse" && len(e.Data) != 3 {
						t.Errorf("the sparse file has data %v", e.Data)
					}
				}
			}
		})
	}
}

// The order is that of names, component by component, whatever the archive's.
func TestOrder(t *testing.T) {
	var names []string
	s := archived(t, Options{}, file("b-", "x"), file("b/c", "y"), file("a", "z"), file("b.txt", "w"))
	for _, e := range s.Entries {
		names = append(names, e.Path)
	}
	if diff := cmp.Diff([]string{"", "a", "b", "b/c", "b-", "b.txt"}, names); diff != "" {
		t.Error(diff)
	}
}

// The first name in the order has the contents, and the others refer to it.
func TestHardLinkBeforeItsFile(t *testing.T) {
	s := archived(t, Options{}, file("z", "contents"), &tar.Header{Typeflag: tar.TypeLink, Name: "a", Linkname: "z"})
	defer s.Close()
	if got := told(t, s, 1); !strings.HasPrefix(got, "a file") || s.Entries[1].Same != -1 || s.Entries[1].Size != 8 {
		t.Errorf("a: %s", got)
	}
	if s.Entries[2].Path != "z" || s.Entries[2].Same != 1 {
		t.Errorf("z refers to %d", s.Entries[2].Same)
	}
}

func TestFollow(t *testing.T) {
	link := func(name, to string) *tar.Header {
		return &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
	}
	s := archived(t, Options{Follow: true}, link("l", "m"), link("m", "d/f"), file("d/f", "contents"), link("d/n", "../d/f"))
	for i, e := range s.Entries {
		if e.Kind == vol.KindFile && !strings.HasSuffix(told(t, s, i), told(t, s, 2)[len(told(t, s, 2))-16:]) {
			t.Errorf("%s has other contents", e.Path)
		}
		if e.Kind == vol.KindSymlink {
			t.Errorf("%s is still a link", e.Path)
		}
	}
	for _, bad := range []string{"loop", "/etc/passwd", "../out", "gone"} {
		if _, err := list(t, Options{Follow: true}, link("loop", bad)); !errors.Is(err, vol.ErrRequest) {
			t.Errorf("a link to %s: %v", bad, err)
		}
	}
}

func TestBadArchives(t *testing.T) {
	for name, hs := range map[string][]*tar.Header{
		"dots":     {file("a/../../b", "x")},
		"absolute": {file("/etc/passwd", "x")},
		"twice":    {file("a", "x"), file("./a", "y")},
		"in a file": {
			file("a", "x"), file("a/b", "y"),
		},
		"link to nothing": {{Typeflag: tar.TypeLink, Name: "a", Linkname: "b"}},
		"link out":        {{Typeflag: tar.TypeLink, Name: "a", Linkname: "../b"}},
		"deep":            {file(strings.Repeat("a/", vol.MaxDepth)+"f", "x")},
		"long":            {file(strings.Repeat("a", maxName+1), "x")},
	} {
		_, err := list(t, Options{}, hs...)
		if !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), "a") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Wherever an archive ends too early, that is said.
func TestTruncatedArchive(t *testing.T) {
	whole := archiveOf(t, file("a", strings.Repeat("x", 3000)), file("b", strings.Repeat("y", 3000)))
	end := len(whole) - 2*512
	sizes := []int{512, 512 + 3000, 512 + 3072, 2*512 + 3072, end - 72, end}
	for n := 1; n < end; n += 97 {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		if _, err := Tar(context.Background(), "-", bytes.NewReader(whole[:n]), Options{}); !errors.Is(err, vol.ErrRequest) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if s, err := Tar(context.Background(), "-", bytes.NewReader(whole[:end+512]), Options{}); err != nil || len(s.Entries) != 3 {
		t.Errorf("with one block of its end: %v", err)
	}
}

// A map of a sparse file whose pieces end beyond all numbers is no longer than the
// archive for that.
func TestSparseBeyondNumbers(t *testing.T) {
	const most = "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff" // 2^63-1 in base 256
	b := make([]byte, 4*512)
	copy(b, "f")
	copy(b[100:], "0000644\x000000000\x000000000\x0000000001000\x0000000000000\x00") // mode, owners, 512 bytes stored, time
	b[156] = 'S'
	copy(b[257:], "ustar  \x00")
	copy(b[386+12:], most) // a piece from byte 0 on
	copy(b[386:], "00000000000")
	copy(b[483:], most) // of a file of that length
	sum := 8 * int(' ')
	for i, c := range b[:512] {
		if i < 148 || i >= 156 {
			sum += int(c)
		}
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
	if s, err := Tar(context.Background(), "-", bytes.NewReader(b), Options{}); !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), "truncated") {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestTruncatedStream(t *testing.T) {
	z := devtest.Pack(t, "gzip", archiveOf(t, file("a", strings.Repeat("x", 30000))))
	_, err := Tar(context.Background(), "-", bytes.NewReader(z[:len(z)-9]), Options{})
	if !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), "gzip") {
		t.Error(err)
	}
}

func TestChangedFile(t *testing.T) {
	root := t.TempDir()
	p := filepath.Join(root, "f")
	if err := os.WriteFile(p, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Dir(context.Background(), root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte("afterwards"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); !errors.Is(err, ErrChanged) {
		t.Errorf("changed while open: %v", err)
	}
	if _, err := s.Open(1); !errors.Is(err, ErrChanged) {
		t.Errorf("changed before it is opened: %v", err)
	}
}

func TestLatest(t *testing.T) {
	limit := time.Unix(1_000_000_000, 0)
	old, young := file("old", "x"), file("young", "y")
	old.ModTime, young.ModTime = limit.Add(-time.Hour), limit.Add(time.Hour)
	s := archived(t, Options{Latest: limit}, old, young)
	if got := s.Entries[1].Modified; !got.Equal(limit.Add(-time.Hour)) {
		t.Errorf("an older time became %v", got)
	}
	if got := s.Entries[2].Modified; !got.Equal(limit) {
		t.Errorf("a newer time became %v", got)
	}
}

// FuzzTar must neither panic nor hang, and what it lists can be read.
func FuzzTar(f *testing.F) {
	f.Add(archiveOf(f, file("a", "x"), &tar.Header{Typeflag: tar.TypeDir, Name: "d/"}, file("d/e", strings.Repeat("y", 600))))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Tar(context.Background(), "-", bytes.NewReader(b), Options{})
		if err != nil {
			return
		}
		defer s.Close()
		p := make([]byte, 4096)
		for i := range s.Entries {
			if s.Entries[i].Kind != vol.KindFile {
				continue
			}
			c, err := s.Open(i)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.ReadAt(p, 0); err != nil && !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v", s.Entries[i].Path, err)
			}
		}
	})
}

func file(name, text string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text)), PAXRecords: map[string]string{"FATKIT.text": text}}
}

// archiveOf is an archive of headers made by file and others.
func archiveOf(t testing.TB, hs ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range hs {
		text := h.PAXRecords["FATKIT.text"]
		plain := *h
		plain.PAXRecords = nil
		if err := w.WriteHeader(&plain); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func list(t testing.TB, o Options, hs ...*tar.Header) (*Source, error) {
	t.Helper()
	return Tar(context.Background(), "-", bytes.NewReader(archiveOf(t, hs...)), o)
}

func archived(t testing.TB, o Options, hs ...*tar.Header) *Source {
	t.Helper()
	s, err := list(t, o, hs...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
