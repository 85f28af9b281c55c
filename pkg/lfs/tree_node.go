package lfs

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math"
	"time"

	"github.com/fatkit/fatkit/pkg/vol"
)

// kindModes are the types of files in i_mode, by vol.Kind.
func kindModes() [vol.KindBlock + 1]uint16 {
	return [...]uint16{vol.KindFile: modeFile, vol.KindDir: modeDir, vol.KindSymlink: modeSymlink, vol.KindFIFO: modeFIFO,
		vol.KindSocket: modeSocket, vol.KindChar: modeChar, vol.KindBlock: modeBlock}
}

// kindMode is the type of a kind of file, 0 for none.
func kindMode(k vol.Kind) uint16 {
	modes := kindModes()
	if int(k) >= len(modes) {
		return 0
	}
	return modes[k]
}

// kind is what an inode is of.
func (n nodeBlock) kind() (vol.Kind, bool) {
	for k, mode := range kindModes() {
		if mode == n.fileType() && mode != 0 {
			return vol.Kind(k), true
		}
	}
	return 0, false
}

// node makes a node of an inode, with what that has in itself.
func (t *tree) node(path string, b nodeBlock) (*vol.Node, error) {
	n := &vol.Node{}
	return n, t.fillNode(n, path, b)
}

// fillNode is node in memory that is there.
func (t *tree) fillNode(n *vol.Node, path string, b nodeBlock) error {
	kind, ok := b.kind()
	switch {
	case !ok:
		return damagedf("%s: its mode is %#o; run check -y", path, b.mode())
	case b.size() > math.MaxInt64:
		return damagedf("%s: its size is %d; run check -y", path, b.size())
	}
	*n = vol.Node{Path: path, Nlink: b.links(), ID: uint64(b.nid()), Size: int64(b.size()), Valid: int64(b.size()), Attributes: attributes(b)}
	n.Kind, n.Mode, n.UID, n.GID = kind, uint32(b.mode())&^modeType, b.uid(), b.gid()
	n.Accessed, n.Changed, n.Modified = b.time(inodeAtime, inodeAtimeNsec), b.time(inodeCtime, inodeCtimeNsec), b.time(inodeMtime, inodeMtimeNsec)
	if t.l.g.Has(featInodeCrtime) && b.hasExtraField(inodeCrtimeNsec+4) {
		n.Born = b.time(inodeCrtime, inodeCrtimeNsec)
	}
	h := &handle{w: t.w, path: path, nid: b.nid(), b: b}
	if kind == vol.KindChar || kind == vol.KindBlock {
		n.Major, n.Minor = h.device()
	}
	// What takes no read of its own is at hand now.
	r := ref{nid: b.nid()}
	r.whole = b.xattrNid() == 0 && (kind != vol.KindSymlink || b.inline()&inlineData != 0)
	if r.whole && kind == vol.KindSymlink {
		link, err := h.target()
		n.Link, r.whole = link, err == nil
	}
	if r.whole {
		xs, err := h.xattrs()
		n.Xattrs, r.whole = xs, err == nil
	}
	n.Own = r
	return nil
}

// time is one of the times of an inode. Nanoseconds that cannot be are none.
func (n nodeBlock) time(sec, nsec int) time.Time {
	ns := n.u32(nsec)
	if ns >= 1e9 {
		ns = 0
	}
	return time.Unix(int64(n.u64(sec)), int64(ns)).UTC()
}

func (n nodeBlock) putTime(sec, nsec int, t time.Time) {
	n.put64(sec, uint64(t.Unix()))
	n.put32(nsec, uint32(t.Nanosecond()))
}

// attributes are the marks of an inode in words.
func attributes(b nodeBlock) []string {
	var words []string
	for _, m := range []struct {
		is   bool
		name string
	}{
		{b.advise()&adviseEncrypted != 0, "encrypted"},
		{b.flags()&flagCompressed != 0, "compressed"},
		{b.flags()&flagImmutable != 0, "immutable"},
		{b.flags()&flagAppend != 0, "append-only"},
		{b.inline()&inlinePinned != 0, "pinned"},
		{b.advise()&adviseVerity != 0, "verity"},
		{b.flags()&flagCasefold != 0, "casefold"},
		{b.flags()&flagNoDump != 0, "no-dump"},
	} {
		if m.is {
			words = append(words, m.name)
		}
	}
	return words
}

// Numbers of devices, [Linux] behaviour __get_inode_rdev() and kdev_t.h: the
// first word has one of up to 8 bits for each half, the second a larger one.
const (
	maxMajor = 1<<12 - 1
	maxMinor = 1<<20 - 1
)

// device is the number of a device.
func (h *handle) device() (major, minor uint32) {
	first := h.w.g.extraWords(h.b)
	if v := h.b.word(first); v != 0 {
		return v >> 8 & 0xFF, v & 0xFF
	}
	v := h.b.word(first + 1)
	return v & 0xFFF00 >> 8, v&0xFF | v>>12&0xFFF00
}

func (h *handle) putDevice(major, minor uint32) {
	first := h.w.g.extraWords(h.b)
	if major < 256 && minor < 256 {
		h.b.putWord(first, major<<8|minor)
		return
	}
	h.b.putWord(first+1, minor&0xFF|major<<8|minor&^0xFF<<12)
}

// keylessBytes is how much of an encrypted name is in the one that stands for it.
const keylessBytes = 149

// keylessName is what Linux shows for a name without its key, [Linux] behaviour
// fscrypt_fname_disk_to_usr(): the hash, a second one that is 0, the name, and of
// a long one the digest of the rest, all in the base 64 of URLs.
func keylessName(hash uint32, name []byte) string {
	b := binary.LittleEndian.AppendUint32(nil, hash)
	b = binary.LittleEndian.AppendUint32(b, 0)
	if len(name) <= keylessBytes {
		b = append(b, name...)
	} else {
		sum := sha256.Sum256(name[keylessBytes:])
		b = append(append(b, name[:keylessBytes]...), sum[:]...)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}
