package source

import (
	"archive/tar"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// PAX records of extended attributes, as GNU tar, star and libarchive write them.
const (
	recordXattr   = "SCHILY.xattr."
	recordXattr64 = "LIBARCHIVE.xattr." // the name as in a URL, the value in base 64
	recordSELinux = "RHT.security.selinux"
	recordAccess  = "SCHILY.acl.access" // as text, acl(5)
	recordDefault = "SCHILY.acl.default"
	selinuxName   = "security.selinux"
)

// tarXattrs are the extended attributes that an archive has of an entry, in order
// of name. What is there in two ways is taken as it would be on a file.
func (t *tarList) tarXattrs(h *tar.Header) ([]vol.Xattr, error) {
	var out []vol.Xattr
	have := make(map[string]bool) // an entry of an archive can have tens of thousands
	add := func(name string, value []byte) {
		if !have[name] {
			out, have[name] = append(out, vol.Xattr{Name: name, Value: value}), true
		}
	}
	plain := strings.NewReplacer("%3D", "=", "%25", "%") // GNU tar spells two characters of names as in a URL
	keys := slices.Sorted(maps.Keys(h.PAXRecords))
	for _, key := range keys {
		if name, ok := strings.CutPrefix(key, recordXattr); ok && name != "" {
			add(plain.Replace(name), []byte(h.PAXRecords[key]))
		}
	}
	for _, key := range keys {
		name, ok := strings.CutPrefix(key, recordXattr64)
		if !ok || name == "" {
			continue
		}
		name, err := url.PathUnescape(name)
		if err != nil {
			return nil, fmt.Errorf("the name of the attribute %s: %w", key, err)
		}
		value, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(h.PAXRecords[key], "="))
		if err != nil {
			return nil, fmt.Errorf("the attribute %s: %w", name, err)
		}
		add(name, value)
	}
	if label := h.PAXRecords[recordSELinux]; label != "" {
		add(selinuxName, append([]byte(strings.TrimRight(label, "\x00")), 0))
	}
	for _, r := range []struct{ record, name string }{{recordAccess, vol.ACLAccessName}, {recordDefault, vol.ACLDefaultName}} {
		text := h.PAXRecords[r.record]
		if text == "" || have[r.name] {
			continue // as an attribute it has numbers
		}
		list, err := aclOf(text)
		if err != nil && t.o.NoXattrs {
			list, err = []byte(text), nil // nobody will look at it
		}
		if err != nil {
			return nil, fmt.Errorf("the access control list: %w", err)
		}
		if list != nil {
			add(r.name, list)
		}
	}
	slices.SortFunc(out, func(a, b vol.Xattr) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// XattrRecord is the key of the PAX record for an attribute: what Tar reads as name.
func XattrRecord(name string) string {
	return recordXattr + strings.NewReplacer("=", "%3D", "%", "%25").Replace(name)
}

// aclEntry is an entry of an access control list.
type aclEntry struct {
	tag, perm uint16
	id        uint32
}

const aclNamed = vol.ACLUser | vol.ACLGroup // entries with an id

// aclOf makes of the text of an access control list the value of the attribute that
// it is on Linux; nil where it says no more than a mode does.
func aclOf(text string) ([]byte, error) {
	var es []aclEntry
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' }) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		e, err := aclEntryOf(line)
		if err != nil {
			return nil, err
		}
		es = append(es, e)
	}
	if !slices.ContainsFunc(es, func(e aclEntry) bool { return e.tag&(aclNamed|vol.ACLMask) != 0 }) {
		return nil, nil
	}
	slices.SortFunc(es, func(a, b aclEntry) int { return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.id, b.id)) })
	le := binary.LittleEndian
	b := le.AppendUint32(nil, vol.ACLVersion)
	for _, e := range es {
		b = le.AppendUint32(le.AppendUint16(le.AppendUint16(b, e.tag), e.perm), e.id)
	}
	return b, nil
}

// aclEntryOf reads an entry: a tag, whose it is, permissions, and perhaps the number
// of a name behind them, with colons between.
func aclEntryOf(line string) (e aclEntry, err error) {
	fs := strings.Split(line, ":")
	if len(fs) == 2 { // some write mask and other so
		fs = []string{fs[0], "", fs[1]}
	}
	if len(fs) < 3 || len(fs) > 4 {
		return e, fmt.Errorf("%q is no entry of one", line)
	}
	tags := map[string][2]uint16{"user": {vol.ACLUserObj, vol.ACLUser}, "group": {vol.ACLGroupObj, vol.ACLGroup}, "mask": {vol.ACLMask}, "other": {vol.ACLOther}}
	short := map[string]string{"u": "user", "g": "group", "m": "mask", "o": "other"}
	tag, ok := tags[cmp.Or(short[fs[0]], fs[0])]
	if e.tag, e.id = tag[0], vol.ACLNoID; fs[1] != "" {
		e.tag = tag[1]
	}
	if !ok || e.tag == 0 {
		return e, fmt.Errorf("%q is no entry of one", line)
	}
	for _, c := range fs[2] {
		bit := map[rune]uint16{'r': 4, 'w': 2, 'x': 1, '-': 0}
		n, ok := bit[c]
		if !ok || e.perm&n != 0 {
			return e, fmt.Errorf("%q: %q are no permissions", line, fs[2])
		}
		e.perm |= n
	}
	if fs[1] == "" {
		return e, nil
	}
	number := fs[1]
	if _, err := strconv.ParseUint(number, 10, 32); err != nil && len(fs) == 4 {
		number = fs[3]
	}
	id, err := strconv.ParseUint(number, 10, 32)
	if err != nil || id == vol.ACLNoID {
		return e, fmt.Errorf("which number %q in %q has is not known here; tar --xattrs --xattrs-include='*' writes numbers", fs[1], line)
	}
	e.id = uint32(id)
	return e, nil
}
