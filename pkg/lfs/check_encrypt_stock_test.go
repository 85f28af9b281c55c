//go:build linux

package lfs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// encryptScript has a stock kernel fill encrypted directories; in that of the
// second volume case is folded, too. The third device is the program that sets
// them up. It says how many files and directories there are.
const encryptScript = `
set -e
cat $3 >/tmp/encrypt
chmod +x /tmp/encrypt
fill() {
	mkdir $1 a/plain; /tmp/encrypt $2 a $1
	cd $1
	i=1; while [ $i -le 255 ]; do : >$(printf "%0${i}d" 0); i=$((i + 1)); done
	mkdir sub sub/deeper; i=0; while [ $i -lt 400 ]; do echo $i >sub/"Ein Name $i"; i=$((i + 1)); done
	dd if=/dev/urandom of=large bs=4k count=1500 2>/dev/null; printf hello >small; dd if=small of=holes bs=4k seek=3000 2>/dev/null
	ln small hard; ln hard sub/other; rm small; ln -s hard soft; ln -s $(printf 'x%.0s' $(seq 1 200)) longer; mkfifo fifo
	mv sub/deeper renamed; mv large sub/LARGE; fallocate -l 1M reserved; truncate -s 5000 reserved
	[ "$(cat hard)" = hello ]
	cd /mnt; find a -type f -exec stat -c %i {} + | sort -u | wc -l; find a -type d | wc -l
}
mkdir a
mount -t f2fs $1 a; fill a/secret; umount a
mount -t f2fs $2 a; fill a/secret -fold; [ -e a/secret/SUB/large ]; umount a
mount -t f2fs $1 a; ls -l a/secret >/dev/null; umount a # without the key
`

// TestCheckStockEncrypted: what stock kernels encrypt is right without the key,
// by us and by fsck.f2fs, and is named in text.
func TestCheckStockEncrypted(t *testing.T) {
	needs.Long(t, "boots Linux in an emulator")
	fsck := voltest.Peer(t, "fsck.f2fs")
	helper := encryptHelper(t)
	for _, k := range voltest.StockKernels(t) {
		t.Run(k.Release(), func(t *testing.T) {
			images := []string{
				made(t, 128<<20, "-q", "-O", "encrypt,extra_attr,inode_checksum"),
				made(t, 128<<20, "-q", "-O", "encrypt,casefold", "-C", "utf8"),
			}
			counts := strings.Fields(k.Run(t, encryptScript, images[0], images[1], helper))
			if len(counts) != 4 {
				t.Fatalf("the kernel says %q", counts)
			}
			for i, image := range images {
				rows, why, res, _ := judge(t, image)
				if got := textf("%d %d", res.Stats.Files, res.Stats.Directories+1); rows != "" || why != "" || got != counts[2*i]+" "+counts[2*i+1] {
					t.Errorf("image %d: found %q; files and directories: %s, should be %q", i, found(res), got, counts[2*i:][:2])
				}
				if said, err := exec.Command(fsck, "--dry-run", image).CombinedOutput(); err != nil {
					t.Errorf("image %d: fsck.f2fs says\n%s", i, said)
				}
				cipherPaths(t, image)
			}
		})
	}
}

// TestCheckEncryptedPeer: fsck.f2fs takes what TestCheckEncrypted has for encrypted
// as that, too.
func TestCheckEncryptedPeer(t *testing.T) {
	fsck := voltest.Peer(t, "fsck.f2fs")
	m, _, _ := encryptedVolume(t, "encrypt,extra_attr,inode_checksum,flexible_inline_xattr")
	if said, err := exec.Command(fsck, "--dry-run", voltest.Saved(t, m.d)).CombinedOutput(); err != nil {
		t.Errorf("fsck.f2fs: %v\n%s", err, said)
	}
}

// encryptHelper builds the program that makes directories encrypted, padded to
// sectors, so that a guest can have it as a disk.
func encryptHelper(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "encrypt")
	cmd := exec.Command(voltest.Peer(t, "go"), "build", "-buildvcs=false", "-o", path, "./testdata/encrypt")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	fi, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, (fi.Size()+4095)/4096*4096)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// cipherPaths makes something wrong with all files below /secret, and looks at
// how they are called.
func cipherPaths(t *testing.T, image string) {
	t.Helper()
	n, opaque := 0, 0
	inodesOf(t, image, func(b nodeBlock) bool {
		if b.advise()&adviseEncrypted == 0 || b.fileType() != modeFile {
			return false
		}
		n++
		if bytes.ContainsAny(b.name(), "/\x00") {
			opaque++
		}
		b.put64(inodeBlocks, 12345)
		if b.hasSum() {
			b.put32(inodeChecksum, 0)
		}
		return true
	})
	if n < 600 || opaque < 20 {
		t.Errorf("%d files are encrypted, and %d of them have names that others cannot have", n, opaque)
	}
	onImage(t, image, func(d dev.Device) {
		for _, o := range checked(t, d).Outcomes {
			if o.Slug != "inode-blocks" {
				continue
			}
			if n--; !strings.HasPrefix(o.Loc.Path, "/secret/") || strings.ContainsFunc(o.Loc.Path, func(r rune) bool { return r < ' ' || r == 0x7F }) || strings.Count(o.Loc.Path, "/") > 3 {
				t.Errorf("the path is %q", o.Loc.Path)
			}
		}
	})
	if n != 0 {
		t.Errorf("%d files more were found than are encrypted", -n)
	}
}
