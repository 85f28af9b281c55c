package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tarred is an entry of an archive, as far as a round trip is to keep it.
type tarred struct {
	Type         string
	Name, Link   string
	Mode         int64
	UID, GID     int
	Major, Minor int64
	Modified     string
	Xattrs       map[string]string
	Text         string
}

// archive writes a tar file.
func archive(t *testing.T, name string, entries []tarred) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	for _, e := range entries {
		at, err := time.Parse(time.RFC3339Nano, e.Modified)
		if err != nil {
			t.Fatal(err)
		}
		h := &tar.Header{Typeflag: e.Type[0], Name: e.Name, Linkname: e.Link, Mode: e.Mode, Uid: e.UID, Gid: e.GID,
			Devmajor: e.Major, Devminor: e.Minor, ModTime: at, Size: int64(len(e.Text)), Format: tar.FormatPAX, PAXRecords: map[string]string{}}
		for name, value := range e.Xattrs {
			h.PAXRecords["SCHILY.xattr."+name] = value
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.Text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// unarchive reads a tar file.
func unarchive(t *testing.T, name string) (entries []tarred) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := tar.NewReader(f)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		e := tarred{Type: string(h.Typeflag), Name: h.Name, Link: h.Linkname, Mode: h.Mode, UID: h.Uid, GID: h.Gid,
			Major: h.Devmajor, Minor: h.Devminor, Modified: h.ModTime.UTC().Format(time.RFC3339Nano), Text: string(text)}
		for name, value := range h.PAXRecords {
			if name, ok := strings.CutPrefix(name, "SCHILY.xattr."); ok {
				if e.Xattrs == nil {
					e.Xattrs = map[string]string{}
				}
				e.Xattrs[name] = value
			}
		}
		entries = append(entries, e)
	}
}

// TestTarRoundTrip: an archive that was made into a volume comes out of it again, with
// all that the format holds.
func TestTarRoundTrip(t *testing.T) {
	t.Chdir(t.TempDir())
	const even, odd, never = "2021-03-04T05:06:08Z", "2021-03-04T05:06:09Z", "1970-01-01T00:00:00Z"
	plain := []tarred{
		{Type: "5", Name: "./", Mode: 0o755},
		{Type: "5", Name: "dir/", Mode: 0o755},
		{Type: "5", Name: "dir/empty/", Mode: 0o755},
		{Type: "0", Name: "dir/Ünïcode ファイル.txt", Mode: 0o644, Text: strings.Repeat("text", 3000)},
		{Type: "0", Name: "nothing", Mode: 0o444},
	}
	unix := []tarred{
		{Type: "5", Name: "./", Mode: 0o1777, UID: 1, GID: 2},
		{Type: "3", Name: "char", Mode: 0o620, GID: 5, Major: 4, Minor: 300},
		{Type: "5", Name: "dir/", Mode: 0o2750, UID: 70000, GID: 3, Xattrs: map[string]string{"security.selinux": "u:object_r:x:s0\x00"}},
		{Type: "0", Name: "dir/file", Mode: 0o4711, UID: 1000, GID: 1000, Text: "contents", Xattrs: map[string]string{"user.a": "1", "trusted.b": "\x00\xff"}},
		{Type: "6", Name: "fifo", Mode: 0o600},
		{Type: "2", Name: "link", Link: "dir/../dir/file", Mode: 0o777},
		{Type: "1", Name: "same", Link: "dir/file"},
		{Type: "4", Name: "sda1", Mode: 0o660, GID: 6, Major: 8, Minor: 1},
	}
	for _, tt := range []struct {
		format []string
		in     []tarred
		dated  string // all entries, to the second, or to what the format has
		root   string // the time of the root directory that comes out
	}{
		{[]string{"-t", "fat16", "-s", "16M"}, plain, even, never},
		{[]string{"-t", "fat32", "-s", "40M"}, plain, even, never},
		{[]string{"-t", "exfat", "-s", "16M"}, plain, odd, never},
		{[]string{"-t", "f2fs", "-s", "64M", "-O", "extra_attr,inode_crtime"}, unix, odd, odd},
		{[]string{"-t", "f2fs", "-s", "64M"}, unix, even, even},
	} {
		t.Run(strings.Join(tt.format, " "), func(t *testing.T) {
			in := slices.Clone(tt.in)
			for i := range in {
				in[i].Modified = tt.dated
			}
			archive(t, "in.tar", in)
			realRun(t, append([]string{"format", "-f", "-d", "in.tar", "x.img"}, tt.format...)...).want(t, 0)
			realRun(t, "copy", "-r", "x.img::/", "--tar", "out.tar").want(t, 0)
			same := slices.IndexFunc(in, func(e tarred) bool { return e.Name == "same" })
			if same >= 0 { // which has what the file has
				first := in[slices.IndexFunc(in, func(e tarred) bool { return e.Name == in[same].Link })]
				first.Type, first.Name, first.Link, first.Text = "1", "same", first.Name, ""
				in[same] = first
			}
			in[0].Modified = tt.root // FAT and exFAT have no place for it
			if diff := cmp.Diff(in, unarchive(t, "out.tar")); diff != "" {
				t.Errorf("the archive and what came out (-, +):\n%s", diff)
			}
			if err := errors.Join(os.Remove("x.img"), os.Remove("out.tar")); err != nil {
				t.Fatal(err)
			}
		})
	}
}
