package lfs

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/fatkit/fatkit/pkg/vol"
)

// encryption is an attribute as an encrypted inode has one: [Linux]
// fs/f2fs/xattr.h F2FS_XATTR_INDEX_ENCRYPTION, and fs/crypto/fscrypt_private.h
// struct fscrypt_context_v2 as layout.
func encryption(nonce byte) []byte {
	context := make([]byte, 40)
	context[0], context[1], context[2] = 2, 1, 4
	context[39] = nonce
	return xattr(9, "c", context)
}

// cipherNames are names that only an encrypted directory has: bytes of all kinds,
// from 16 on, in which anything may come.
func cipherNames() []string {
	names := []string{
		"a/b/../\x00/////////", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"..\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\x1b[2J\x1b[31mred\r\n\t\x7f", "\xff\xfe\xc3\x28\xe2\x80\xae\"quoted\\\"",
	}
	for n := 16; n <= maxNameLen; n += 13 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i*i*31 + n*7)
		}
		names = append(names, string(b))
	}
	return names
}

// encryptedVolume has encrypted directories, with entries in blocks and in the
// inode, and a plain one beside them.
func encryptedVolume(t *testing.T, features string) (m *builder, secret, inline *built) {
	t.Helper()
	m = newBuilder(t, 64<<20, vol.FormatOptions{Features: features})
	marks := byte(adviseEncrypted)
	encrypt := func(n nodeBlock) { n[inodeAdvise] |= marks | adviseEncryptedName }
	secret, inline = m.dir(m.root, "secret"), m.inlineDir(m.root, "inline")
	secret.node[inodeAdvise], inline.node[inodeAdvise] = marks, marks
	secret.putXattrs(file{more: encryption(1)})
	inline.putXattrs(file{xattrs: encryption(2)})
	names := cipherNames()
	for i, name := range names {
		m.file(secret, name, file{pages: []uint32{0, 1}, xattrs: encryption(byte(i)), change: encrypt})
	}
	for i, name := range names[:5] {
		m.file(inline, name, file{pages: []uint32{0}, more: encryption(byte(i)), change: encrypt})
	}
	m.file(m.root, "plain", file{pages: []uint32{0}})
	return m.finish(), secret, inline
}

// TestCheckEncrypted: bytes of encrypted names are opaque, and their hashes are
// over them as they are. What is printed of them is text, and one name.
func TestCheckEncrypted(t *testing.T) {
	for _, features := range []string{"encrypt", "encrypt,extra_attr,inode_checksum,flexible_inline_xattr"} {
		m, secret, inline := encryptedVolume(t, features)
		if res := checked(t, m.d); len(res.Outcomes) > 0 || res.Stats.Files != uint64(len(secret.entries)+len(inline.entries)-4+1) {
			t.Errorf("%s: found %q, %d files", features, found(res), res.Stats.Files)
		}
		for _, dir := range []*built{secret, inline} {
			for _, name := range cipherNames()[:5] {
				dir.editEntry(name, func(d dentryBlock, i int) { d.entry(i)[dentryHash] ^= 1 })
			}
			m.child(dir, cipherNames()[0]).editInode(func(n nodeBlock) { n.put32(inodeLinks, 7) })
		}
		res := checked(t, m.d)
		if got := strings.Join(slugs(res), " "); !strings.Contains(got, "dentry-hash") || !strings.Contains(got, "inode-links") {
			t.Errorf("%s: found %q", features, got)
		}
		for _, o := range res.Outcomes {
			name, ok := strings.CutPrefix(o.Loc.Path, "/secret/")
			if !ok {
				name, ok = strings.CutPrefix(o.Loc.Path, "/inline/")
			}
			bytes, err := strconv.Unquote(`"` + name + `"`)
			if !ok || err != nil || strings.ContainsFunc(name, func(r rune) bool { return r == '/' || !unicode.IsPrint(r) }) || !slices.Contains(cipherNames(), bytes) {
				t.Errorf("%s: %s: the path is %q", features, o.Slug, o.Loc.Path)
			}
		}
	}
}

// child is the file with a name in a directory.
func (m *builder) child(dir *built, name string) *built {
	m.t.Helper()
	for _, x := range m.all {
		if x.parent == dir && x.name == name {
			return x
		}
	}
	m.t.Fatalf("there is no %q", name)
	return nil
}

// TestCheckPlainNames: the same bytes are wrong where nothing is encrypted.
func TestCheckPlainNames(t *testing.T) {
	m, secret, inline := encryptedVolume(t, "encrypt")
	for _, x := range []*built{secret, inline} {
		x.editInode(func(n nodeBlock) { n[inodeAdvise] = 0 })
	}
	if got := slugs(checked(t, m.d)); !slices.Contains(got, "dentry-name") {
		t.Errorf("found %q", got)
	}
}
