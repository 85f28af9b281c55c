//go:build linux

package lfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// stockNames are names for a directory that folds case.
const stockNames = `README.TXT Mixed-Case_Name ÄÖÜ Straße ΣΑΣ Ελληνικά ВСЕМ Ёлка İstanbul Ǆ がぎ 日本 한글 É ÉCOLE Ṩ ᾞ`

// stockScript has a stock kernel compress files on the first volume, and fill a
// directory that folds case on the second. It says which sectors it saved.
const stockScript = `
set -e
mkdir a b
mount -t f2fs -o compress_algorithm=lz4,compress_log_size=3,compress_extension=txt $1 a
dd if=/dev/zero of=a/zeros.txt bs=1000 count=300 2>/dev/null
dd if=/dev/urandom of=a/noise.txt bs=4k count=50 2>/dev/null
{ dd if=/dev/zero bs=1000 count=90; dd if=/dev/urandom bs=1000 count=90; } >a/mixed.txt 2>/dev/null
dd if=/dev/zero of=a/holes.txt bs=4k count=20 seek=1000 2>/dev/null
dd if=/dev/zero of=a/plain bs=4k count=20 2>/dev/null
truncate -s 50000 a/mixed.txt
i=0; while [ $i -lt 300 ]; do : >a/packed/$i; i=$((i + 1)); done
umount a
mount -t f2fs $2 b
for n in ` + stockNames + `; do : >b/folded/$n; done
long=Aa; for i in 1 2 3 4 5 6; do long=$long$long; done; long=$long${long%Aa}
: >b/folded/$long; : >b/folded/${long}B; : >b/folded/Ä${long%Aa}; : >b/folded/Ä${long%a}
[ -e b/folded/$(echo $long | tr A a) ] && [ ! -e b/folded/$(echo ${long}B | tr A a) ]
[ -e b/folded/readme.txt ] && [ -e b/folded/STRASSE ] && [ -e b/folded/äöü ]
i=0; while [ $i -lt 300 ]; do : >b/folded/NÄME$i; i=$((i + 1)); done
umount b
`

// TestCheckStock: what stock kernels compress, and the names that they fold, are
// right by our reading of them. The kernel of TestCheckKernel has neither.
func TestCheckStock(t *testing.T) {
	needs.Long(t, "boots Linux in an emulator")
	sload := voltest.Peer(t, "sload.f2fs")
	tree := t.TempDir()
	for _, name := range []string{"folded", "packed"} {
		if err := os.Mkdir(filepath.Join(tree, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range voltest.StockKernels(t) {
		t.Run(k.Release(), func(t *testing.T) {
			compressed := made(t, 128<<20, "-q", "-O", "extra_attr,compression,inode_checksum")
			folded := made(t, 128<<20, "-q", "-O", "casefold", "-C", "utf8")
			for _, image := range []string{compressed, folded} {
				if out, err := exec.Command(sload, "-f", tree, image).CombinedOutput(); err != nil {
					t.Fatalf("sload.f2fs: %v\n%s", err, out)
				}
			}
			foldsCase(t, folded, "folded")
			packs(t, compressed, "packed")
			k.Run(t, stockScript, compressed, folded)
			for image, files := range map[string]uint64{compressed: 5 + 300, folded: uint64(len(strings.Fields(stockNames))) + 4 + 300} {
				rows, why, res, _ := judge(t, image)
				if rows != "" || why != "" || res.Stats.Files != files {
					t.Errorf("found %q, %d files; should be %d", found(res), res.Stats.Files, files)
				}
			}
			if n := savedBlocks(t, compressed); n == 0 {
				t.Error("nothing is compressed")
			}
		})
	}
}

// inodesOf calls fn with the block of every inode of an image, and writes back
// what fn says is changed.
func inodesOf(t *testing.T, path string, fn func(n nodeBlock) bool) {
	t.Helper()
	f, err := dev.OpenFile(path, dev.OpenOptions{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := stateOf(t, f)
	tables, _, err := s.loadTables(t.Context(), f, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tables.nodes {
		n := &tables.nodes[i]
		if n.nid != n.ino || !s.g.ValidMain(n.addr) {
			continue
		}
		b, err := readBlock(f, s.g, n.addr)
		if err != nil {
			t.Fatal(err)
		}
		if !fn(nodeBlock(b)) {
			continue
		}
		if _, err := f.WriteAt(b, s.g.BlockOff(n.addr)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

// foldsCase marks an empty directory, as chattr +F does.
func foldsCase(t *testing.T, path, name string) {
	t.Helper()
	mark(t, path, name, func(n nodeBlock) { n.put32(inodeFlags, n.flags()|flagCasefold) })
}

// packs marks an empty directory, as chattr +c does where clusters are of 256
// blocks, and spreads what will be in it over a thousand of its own.
func packs(t *testing.T, path, name string) {
	t.Helper()
	seed := inodeSeed(nil)
	onImage(t, path, func(d dev.Device) {
		first, _, err := readSupers(d)
		if err != nil {
			t.Fatal(err)
		}
		seed = inodeSeed(first.raw.uuid())
	})
	mark(t, path, name, func(n nodeBlock) {
		n.put32(inodeFlags, n.flags()|flagCompressed)
		n[inodeComprAlgo], n[inodeLogCluster], n[inodeDirLevel] = comprLZ4, maxClusterLog, 9
		n.put32(inodeChecksum, inodeSum(seed, n))
	})
}

// mark changes the inode of a directory.
func mark(t *testing.T, path, name string, fn func(n nodeBlock)) {
	t.Helper()
	done := false
	inodesOf(t, path, func(n nodeBlock) bool {
		if !n.isDir() || string(n.name()) != name {
			return false
		}
		fn(n)
		done = true
		return true
	})
	if !done {
		t.Fatalf("there is no %s", name)
	}
}

// savedBlocks is how many blocks the inodes say that compression saved.
func savedBlocks(t *testing.T, path string) (n uint64) {
	t.Helper()
	inodesOf(t, path, func(b nodeBlock) bool {
		if b.flags()&flagCompressed != 0 {
			n += b.u64(inodeComprBlocks)
		}
		return false
	})
	return n
}
