//go:build linux

package lfs

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// guestDir says, in a kernel that a test has booted, what this program lists there.
const guestDir = "FATKIT_GUEST_DIR"

// TestMain lets TestPutKernel run this very program inside the kernel, where it is
// no test, and lists what that says of files.
func TestMain(m *testing.M) {
	dir := os.Getenv(guestDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := listGuest(dir); err != nil {
		fmt.Println("guest:", err)
		os.Exit(1)
	}
}

// listGuest prints a line for each file below a directory.
func listGuest(dir string) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		line, err := guestLine(p)
		if err == nil {
			rel, _ := filepath.Rel(dir, p)
			fmt.Printf("guest %q %s\n", strings.TrimPrefix(rel, "."), line)
		}
		return err
	})
}

// guestLine is what lstat(2), llistxattr(2) and read(2) say of a file.
func guestLine(p string) (string, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(p, &st); err != nil {
		return "", err
	}
	s := fmt.Sprintf("%o %d %d %d %d.%09d %d.%09d %d.%09d", st.Mode, st.Nlink, st.Uid, st.Gid,
		st.Mtim.Sec, st.Mtim.Nsec, st.Atim.Sec, st.Atim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFCHR, syscall.S_IFBLK:
		s += fmt.Sprintf(" %d,%d", st.Rdev>>8&0xFFF, st.Rdev&0xFF|st.Rdev>>12&0xFFF00)
	case syscall.S_IFLNK:
		to, err := os.Readlink(p)
		if err != nil {
			return "", err
		}
		s += fmt.Sprintf(" %d %q", st.Size, to)
	case syscall.S_IFREG:
		b, err := os.ReadFile(p)
		if err != nil {
			return "", err
		}
		s += fmt.Sprintf(" %d %x", len(b), sha256.Sum256(b))
	}
	return s + guestXattrs(p), nil
}

func guestXattrs(p string) string {
	buf := make([]byte, 1<<16)
	n, err := unix.Llistxattr(p, buf)
	if err != nil {
		return fmt.Sprint(" ", err)
	}
	names := strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00")
	slices.Sort(names)
	s := ""
	for _, name := range names {
		if name == "" {
			continue
		}
		k, err := unix.Lgetxattr(p, name, buf)
		if err != nil {
			return fmt.Sprint(s, " ", name, " ", err)
		}
		s += fmt.Sprintf(" %s=%x", name, sha256.Sum256(buf[:k]))
	}
	return s
}

// guestWants are the lines that listGuest should print.
func (s *sourceOf) guestWants() map[string]string {
	names, links := map[int]int{}, map[string]int{}
	for i := range s.entries {
		e := &s.entries[i]
		if e.Same >= 0 {
			names[e.Same]++
		} else if e.Kind == vol.KindDir && e.Path != "" {
			links[strings.TrimPrefix(filepath.Dir(e.Path), ".")]++
		}
	}
	out := map[string]string{}
	for i := range s.entries {
		at := i
		if same := s.entries[i].Same; same >= 0 {
			at = same
		}
		e := &s.entries[at]
		mode, nlink := uint32(kindMode(e.Kind))|e.Mode, 1+names[at]
		if e.Kind == vol.KindSymlink {
			mode |= 0o777
		}
		if e.Kind == vol.KindDir {
			nlink = 2 + links[e.Path]
		}
		line := fmt.Sprintf("%o %d %d %d %d.%09d %d.%09d %d.%09d", mode, nlink, e.UID, e.GID, e.Modified.Unix(), e.Modified.Nanosecond(),
			e.Times.Accessed.Unix(), e.Times.Accessed.Nanosecond(), e.Times.Changed.Unix(), e.Times.Changed.Nanosecond())
		switch e.Kind {
		case vol.KindChar, vol.KindBlock:
			line += fmt.Sprintf(" %d,%d", e.Major, e.Minor)
		case vol.KindSymlink:
			line += fmt.Sprintf(" %d %q", len(e.Link), e.Link)
		case vol.KindFile:
			b := s.contents(at)
			line += fmt.Sprintf(" %d %x", len(b), sha256.Sum256(b))
		}
		for _, x := range e.Xattrs {
			line += fmt.Sprintf(" %s=%x", x.Name, sha256.Sum256(x.Value))
		}
		out[s.entries[i].Path] = line
	}
	return out
}

// putScript lists what is on the volumes, and uses them as a system does.
const putScript = listScript + `
lxattr() { perl -e 'syscall(189, $ARGV[0], $ARGV[1], $ARGV[2], length $ARGV[2], 0) == 0 or die "lsetxattr: $!"' "$1" "$2" "$3"; }
guest=$1; shift
for d; do
	echo "volume"; mkdir -p /mnt/v; mount -t f2fs -o ro,noatime $d /mnt/v
	` + guestDir + `=/mnt/v $guest
	umount /mnt/v; mount -t f2fs -o noatime $d /mnt/v; cd /mnt/v
	echo more >>files/0003500; echo more >>files/0070000; truncate -s 10 files/0008192; truncate -s 300000 files/0003400
	rm files/0000001 first; mv "link long" moved; ln second fourth; rmdir empty; mkdir -p empty/again; mkfifo dev/another
	for f in x/z "x/z long" "x/zz 0" "x/zz 1 more" "x/zz 2" "x/zz 3 more"; do
		lxattr "$f" security.selinux "$(printf 'y%.0s' $(seq 1 300))"; lxattr "$f" trusted.new value
	done
	chown 5:6 files/film.mp4; chmod 600 x/many; rm -r deep
	i=0; while [ $i -lt 300 ]; do echo $i >"zz new name $i"; i=$((i + 1)); done
	rm zz\ a*7; printf x | dd of=files/holes bs=1 seek=500000 conv=notrunc 2>/dev/null
	dd if=/dev/zero of=full bs=1M 2>/dev/null || true; sync; rm full; sync
	cd /; umount /mnt/v; mount -t f2fs $d /mnt/v; [ -p /mnt/v/dev/another ]; [ $(stat -c %h /mnt/v/second) = 3 ]; umount /mnt/v
done
dmesg -c | grep -E 'F2FS|BUG|WARNING|rror' | grep -v -e 'Mounted with checkpoint version' -e 'recover fsync data on readonly fs' || true
`

// filledImage is an image of a volume that was filled, with which neither check
// nor fsck.f2fs finds fault.
func filledImage(t *testing.T, fsck string, o vol.FormatOptions, fill func(dev.Device) error) string {
	t.Helper()
	path := made(t, 128<<20)
	_, m := plannedVolume(t, 128<<20, o)
	onImage(t, path, func(d dev.Device) {
		if err := copyOf(m, d); err != nil {
			t.Fatal(err)
		}
		if err := fill(d); err != nil {
			t.Fatal(err)
		}
		clean(t, d)
	})
	if said, err := peerRun(t, fsck, "--dry-run", path); err != nil || strings.Contains(said, "[Fail]") {
		t.Errorf("%q: fsck.f2fs says\n%s", o.Features, said)
	}
	return path
}

// TestPutKernel: fsck.f2fs finds nothing on volumes that were filled; Linux reads
// every byte and attribute, uses the files, fills the disk, and all is clean
// again.
func TestPutKernel(t *testing.T) {
	needs.Long(t, "boots Linux")
	voltest.Peer(t, "linux.uml")
	voltest.Peer(t, "perl")
	fsck := voltest.Peer(t, "fsck.f2fs")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	features := []string{"", "extra_attr,inode_checksum,sb_checksum,flexible_inline_xattr,inode_crtime,lost_found", "extra_attr,project_quota,quota,inode_checksum"}
	s := mixed()
	var paths []string
	for _, f := range features {
		paths = append(paths, filledImage(t, fsck, vol.FormatOptions{Features: f}, func(d dev.Device) error {
			_, err := s.put(t, d, vol.PutRequest{})
			return err
		}))
	}
	script := "set -- " + self + " \"$@\"\n" + putScript
	out := voltest.Kernel(t, script, paths...)
	for i, part := range strings.Split(out, "volume\n")[1:] {
		s.compareGuest(t, features[i], part)
	}
	for i, path := range paths {
		if rows, why, res, _ := judge(t, path); rows != "" || why != "" {
			t.Errorf("%q, used by Linux: found %q, %q", features[i], found(res), why)
		}
		onImage(t, path, func(d dev.Device) { newAttributes(t, d) })
		if said, err := exec.Command(fsck, "--dry-run", path).CombinedOutput(); err != nil {
			t.Errorf("%q, used by Linux: fsck.f2fs says\n%s", features[i], said)
		}
	}
}

// roScript lists what is on volumes that are only read, on devices that are, too:
// where Linux can write it turns quotas on and leaves a checkpoint of a volume that
// is in use, on those that mkfs.f2fs and sload.f2fs made as well.
const roScript = listScript + `
guest=$1; shift
for d; do
	echo "volume"; mkdir -p /mnt/v; blockdev --setro $d; mount -t f2fs -o ro $d /mnt/v
	` + guestDir + `=/mnt/v $guest
	umount /mnt/v
done
dmesg -c | grep -E 'F2FS|BUG|WARNING|rror' | grep -v -e 'Mounted with checkpoint version' -e 'write access unavailable, skipping recovery' || true
`

// TestPutReadOnlyKernel: fsck.f2fs finds nothing on volumes that are only read and
// were filled, and Linux reads every byte and attribute.
func TestPutReadOnlyKernel(t *testing.T) {
	needs.Long(t, "boots Linux")
	voltest.Peer(t, "linux.uml")
	voltest.Peer(t, "perl")
	fsck := voltest.Peer(t, "fsck.f2fs")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := mixed()
	var paths []string
	for i, f := range roFeatures() {
		o := vol.FormatOptions{Features: f, SegmentsPerSection: ptr(1 + i%2)}
		paths = append(paths, filledImage(t, fsck, o, func(d dev.Device) error { return s.fillNew(t, d) }))
	}
	out := voltest.Kernel(t, "set -- "+self+" \"$@\"\n"+roScript, paths...)
	for i, part := range strings.Split(out, "volume\n")[1:] {
		s.compareGuest(t, roFeatures()[i], part)
	}
	for i, path := range paths {
		if rows, why, res, _ := judge(t, path); rows != "" || why != "" {
			t.Errorf("%q, read by Linux: found %q, %q", roFeatures()[i], found(res), why)
		}
	}
}

// newAttributes checks that what putScript set on links, FIFOs and devices is read.
func newAttributes(t *testing.T, d dev.Device) {
	t.Helper()
	tr, err := read(t.Context(), d, vol.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"security.selinux": strings.Repeat("y", 300), "trusted.new": "value"}
	for _, p := range []string{"/x/z", "/x/z long", "/x/zz 0", "/x/zz 1 more", "/x/zz 2", "/x/zz 3 more"} {
		n, err := vol.Resolve(tr, p)
		if err == nil {
			err = tr.Details(n)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, x := range n.Xattrs {
			if v, ok := want[x.Name]; ok && v == string(x.Value) {
				got++
			}
		}
		if got != len(want) {
			t.Errorf("%s has the attributes %q", p, n.Xattrs)
		}
	}
}

// compareGuest holds what listGuest printed against the entries.
func (s *sourceOf) compareGuest(t *testing.T, features, out string) {
	t.Helper()
	want := s.guestWants()
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		rest, ok := strings.CutPrefix(line, "guest ")
		var p string
		if ok {
			if n, err := fmt.Sscanf(rest, "%q", &p); n != 1 || err != nil {
				ok = false
			}
		}
		if !ok {
			t.Errorf("%q: the kernel says %q", features, line)
			continue
		}
		got := strings.TrimPrefix(rest, fmt.Sprintf("%q ", p))
		if w, there := want[p]; !there && p != "lost+found" {
			t.Errorf("%q: %q is there", features, p)
		} else if there && got != w && (p != "" || features == "") {
			t.Errorf("%q: %q is\n%s\nnot\n%s", features, p, got, w)
		}
		delete(want, p)
	}
	for p := range want {
		t.Errorf("%q: %q is not there", features, p)
	}
}
