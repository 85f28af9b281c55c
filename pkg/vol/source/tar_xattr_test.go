package source

import (
	"archive/tar"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/vol"
)

// xattrsOf are the attributes of an entry with these PAX records.
func xattrsOf(o Options, records map[string]string) (map[string]string, error) {
	xs, err := (&tarList{o: o}).tarXattrs(&tar.Header{PAXRecords: records})
	out := map[string]string{}
	for _, x := range xs {
		out[x.Name] = string(x.Value)
	}
	return out, err
}

// Attributes are found however an archive has them.
func TestTarXattrs(t *testing.T) {
	const list = "\x02\x00\x00\x00" +
		"\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x07\x00\x05\x00\x00\x00" + "\x02\x00\x04\x00\xe8\x03\x00\x00" +
		"\x04\x00\x04\x00\xff\xff\xff\xff" + "\x08\x00\x05\x00c\x00\x00\x00" + "\x10\x00\x07\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"
	for name, tt := range map[string]struct{ records, want map[string]string }{
		"plain":        {map[string]string{"SCHILY.xattr.user.a": "1", "SCHILY.xattr.": "x", "comment": "y"}, map[string]string{"user.a": "1"}},
		"escaped":      {map[string]string{"SCHILY.xattr.user.a%3Db%25": "1"}, map[string]string{"user.a=b%": "1"}},
		"libarchive":   {map[string]string{"LIBARCHIVE.xattr.user.a%20b": "AAE"}, map[string]string{"user.a b": "\x00\x01"}},
		"padded":       {map[string]string{"LIBARCHIVE.xattr.user.a": "dg=="}, map[string]string{"user.a": "v"}},
		"in two ways":  {map[string]string{"LIBARCHIVE.xattr.user.a": "dg==", "SCHILY.xattr.user.a": "v"}, map[string]string{"user.a": "v"}},
		"label":        {map[string]string{"RHT.security.selinux": "u:r:t:s0"}, map[string]string{"security.selinux": "u:r:t:s0\x00"}},
		"list":         {map[string]string{"SCHILY.acl.access": "user::rw-,user:1000:r--,user:lisa:rwx:5,group::r--,group:99:r-x,mask::rwx,other::---"}, map[string]string{"system.posix_acl_access": list}},
		"list, lines":  {map[string]string{"SCHILY.acl.default": "u::rw-\ng::r--\ng:99:rx #effective:r-x\nu:1000:r\nu:5:rwx\nm:rwx\no:---\n"}, map[string]string{"system.posix_acl_default": list}},
		"only a mode":  {map[string]string{"SCHILY.acl.access": "user::rw-,group::r--,other::---"}, nil},
		"list, binary": {map[string]string{"SCHILY.acl.access": "user::rw-,user:lisa:rwx,group::r--,mask::rwx,other::---", "SCHILY.xattr.system.posix_acl_access": "b"}, map[string]string{"system.posix_acl_access": "b"}},
	} {
		got, err := xattrsOf(Options{}, tt.records)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for n, v := range tt.want {
			if got[n] != v {
				t.Errorf("%s: %s is %q, want %q", name, n, got[n], v)
			}
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if key := XattrRecord("user.a=b%"); key != "SCHILY.xattr.user.a%3Db%25" {
		t.Errorf("its record is %s", key)
	}
}

// What cannot be understood is refused, but where nobody wants it.
func TestTarXattrsBad(t *testing.T) {
	for _, text := range []string{"user:lisa:rwx", "user:1000:rwz", "user:1000:rrw", "mask:1:rwx", "x::rwx", "user", "a:b:c:d:e", "user:4294967295:rwx", "user:99999999999:rwx"} {
		records := map[string]string{"SCHILY.acl.access": text}
		if _, err := xattrsOf(Options{}, records); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
		if got, err := xattrsOf(Options{NoXattrs: true}, records); err != nil || len(got) != 1 {
			t.Errorf("%s, where there is no place for it: %q, %v", text, got, err)
		}
	}
	for _, records := range []map[string]string{{"LIBARCHIVE.xattr.a%zz": "dg"}, {"LIBARCHIVE.xattr.user.a": "!"}} {
		if got, err := xattrsOf(Options{}, records); err == nil {
			t.Errorf("%q: %q", records, got)
		}
	}
}

// The highest number is nobody's, and no entry belongs to it.
func TestTarOwner(t *testing.T) {
	for id, fine := range map[int64]bool{0: true, 1<<32 - 2: true, 1<<32 - 1: false, 1 << 32: false} {
		for _, h := range []tar.Header{{Uid: int(id)}, {Gid: int(id)}} {
			h.Typeflag, h.Name, h.Format = tar.TypeReg, "a", tar.FormatPAX
			_, err := list(t, Options{}, &h)
			if fine != (err == nil) || err != nil && !errors.Is(err, vol.ErrRequest) {
				t.Errorf("%d:%d: %v", h.Uid, h.Gid, err)
			}
		}
	}
}

// An entry can have as many attributes as there is room for in its records, and
// reading them takes no longer than that many.
func TestManyXattrs(t *testing.T) {
	const n = 60_000
	records := make(map[string]string)
	for i := range n {
		records[XattrRecord(strconv.Itoa(i))] = "v"
	}
	start := time.Now()
	got, err := xattrsOf(Options{}, records)
	if err != nil || len(got) != n {
		t.Fatalf("%d of %d, %v", len(got), n, err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
