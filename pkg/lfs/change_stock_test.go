//go:build linux

package lfs

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// stockChangeScript finds the names in a directory that folds case in another
// case, and uses the files of the second volume.
const stockChangeScript = `
set -e
dmesg -c >/dev/null
mkdir a b
mount -t f2fs $1 a
for n in ` + stockNames + `; do [ -f a/folded/$n ] || echo "no $n"; done
[ -e a/folded/readme.txt ] && [ -e a/folded/STRASSE ] && [ -e a/folded/äöü ] && [ -e a/folded/sub/ÄÄ ]
[ ! -e a/folded/ecole ] || echo "é is no e"
rm a/folded/README.txt; echo new >a/folded/Readme.txt
umount a
mount -t f2fs $2 b
cd b
for f in dir/reserved dir/pinned; do [ $(tr -d '\0' <$f | wc -c) = 0 ] || echo "$f is no zeros"; stat -c '%n %s %b' $f; done
printf x | dd of=dir/pinned bs=1 seek=9000 conv=notrunc 2>/dev/null
printf appended >>dir/reserved; printf appended >>dir/kept; truncate -s 5 dir/reserved
mv dir elsewhere; rm elsewhere/kept
dd if=/dev/zero of=full bs=1M 2>/dev/null || true
sync; rm full
cd ..; umount b
mount -t f2fs $2 b; [ "$(tail -c 1 b/elsewhere/pinned | tr -d '\0' | wc -c)" = 0 ]; umount b
dmesg -c | grep -E 'F2FS|BUG|WARNING|rror' | grep -v -i -e 'mounted with checkpoint' -e 'Using encoding' || true
`

// TestChangeStock: stock kernels take what we made, in a directory that folds
// case, too, which the one of TestChangeKernel lacks.
func TestChangeStock(t *testing.T) {
	needs.Long(t, "boots Linux in an emulator")
	fsck := voltest.Peer(t, "fsck.f2fs")
	for _, k := range voltest.StockKernels(t) {
		t.Run(k.Release(), func(t *testing.T) {
			folded := made(t, 128<<20, "-q", "-O", "casefold", "-C", "utf8")
			onImage(t, folded, func(d dev.Device) { fillFolded(t, d) })
			plain := made(t, 128<<20, "-q", "-O", "extra_attr,inode_checksum,sb_checksum,flexible_inline_xattr,inode_crtime") // quotas take modules that are not there
			onImage(t, plain, func(d dev.Device) {
				if err := changed(t, d, func(ctx context.Context, v vol.Volume) error {
					_, err := v.Preallocate(ctx, vol.PreallocRequest{Create: true, Files: []vol.PreallocFile{{Path: "dir/reserved", Length: 5 << 20}}})
					if err == nil {
						_, err = v.Preallocate(ctx, vol.PreallocRequest{Create: true, KeepSize: true, Files: []vol.PreallocFile{{Path: "dir/kept", Length: 1 << 20}}})
					}
					if err == nil {
						_, err = v.Preallocate(ctx, vol.PreallocRequest{Create: true, Contiguous: true, FillZero: true, Files: []vol.PreallocFile{{Path: "dir/pinned", Length: 3 << 20}}})
					}
					return err
				}); err != nil {
					t.Fatal(err)
				}
			})
			want := "dir/reserved 5242880 10248\ndir/pinned 3145728 8200\n"
			if out := k.Run(t, stockChangeScript, folded, plain); out != want {
				t.Errorf("the kernel says\n%s", out)
			}
			for _, image := range []string{folded, plain} {
				if rows, why, res, _ := judge(t, image); rows != "" || why != "" {
					t.Errorf("found %q, %q", found(res), why)
				}
				if said, err := exec.Command(fsck, "--dry-run", image).CombinedOutput(); err != nil {
					t.Errorf("fsck.f2fs says\n%s", said)
				}
			}
		})
	}
}

// fillFolded makes a directory that folds case, and files in it; names that fold
// alike are the same file.
func fillFolded(t *testing.T, d dev.Device) {
	t.Helper()
	err := edited(t, d, func(c *batch) error {
		root, err := c.w.open("/", rootIno)
		if err != nil {
			return err
		}
		n, err := root.nameIn("folded")
		if err != nil {
			return err
		}
		h, err := root.create(&n, newDirMode)
		if err != nil {
			return err
		}
		h.b.put32(inodeFlags, h.b.flags()|flagCasefold)
		c.files[h.nid] = h.path
		return h.store()
	})
	if err != nil {
		t.Fatal(err)
	}
	r := vol.PreallocRequest{Create: true, Files: []vol.PreallocFile{{Path: "folded/sub/ää", Length: 5}}}
	for name := range strings.FieldsSeq(stockNames) {
		for _, form := range []string{name, strings.ToLower(name)} {
			if name != "İstanbul" { // ToLower knows nothing of dots
				r.Files = append(r.Files, vol.PreallocFile{Path: "folded/" + form, Length: 10})
			}
		}
	}
	r.Files = append(r.Files, vol.PreallocFile{Path: "folded/İstanbul", Length: 10})
	if err := changed(t, d, func(ctx context.Context, v vol.Volume) error {
		_, err := v.Preallocate(ctx, r)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	res := checked(t, d)
	if len(slugs(res)) > 0 || res.Stats.Files != uint64(len(strings.Fields(stockNames))+1) {
		t.Errorf("%d files, found %q", res.Stats.Files, found(res))
	}
}
