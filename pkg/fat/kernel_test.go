//go:build linux

package fat

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// hashable is the size in bytes up to which the contents of a file are
// compared; of larger ones it is the size.
const hashable = 8 << 20

// kernelFile is what is in a file; data is nil for one that is not hashable.
type kernelFile struct {
	size int64
	data []byte
}

func filled(data []byte) kernelFile { return kernelFile{int64(len(data)), data} }

// String is how listScript describes the file.
func (f kernelFile) String() string {
	if f.size > hashable {
		return fmt.Sprintf(" %d", f.size)
	}
	return fmt.Sprintf(" %d %x", f.size, sha256.Sum256(f.data))
}

// kernelImage is a volume that the kernel is to mount, and what it must find.
type kernelImage struct {
	name, path string
	want       map[string]kernelFile
}

// What the scripts do is bounded by the number of processes they start: each
// takes the kernel some 30 ms.

// listScript defines list N, which prints volume N and, for each file below the
// current directory, its size and its hash.
const listScript = `
set -e
list() {
	echo "volume $1"
	find . -type f -printf '%s  %p\n' -size -8193k -exec sha256sum {} +
}
messages() { dmesg -c | grep -E 'FAT|I/O error|BUG|WARNING' || true; }
dmesg -c >/dev/null
n=0
`

// readScript mounts every volume and lists it.
const readScript = listScript + `
for d; do
	mkdir v$n; mount -t vfat -o utf8 $d v$n
	(cd v$n; list $n)
	umount v$n; n=$((n + 1))
done
messages
`

// writeScript does with every volume what a system does: it lists it, appends
// to a file, cuts one, makes files and directories with long names and takes
// some away, renames one into another directory, and unmounts.
const writeScript = listScript + `
for d; do
	mkdir v$n; mount -t vfat -o utf8 $d v$n
	(cd v$n
	list $n
	printf 'appended by Linux' >>'Append to me.bin'
	truncate -s 1000 'Cut me.bin'
	rm 'Delete me.bin'
	mkdir -p 'Made by Linux/a deep directory'
	cd 'Made by Linux/a deep directory'
	i=1; set --; while [ $i -le 40 ]; do
		f="a file with a long name $i.txt"; printf "file $i" >"$f"
		[ $((i % 3)) -ne 1 ] || set -- "$@" "$f"
		i=$((i + 1))
	done
	rm "$@"
	mv 'a file with a long name 2.txt' '../Umbenannt für 日本.txt'
	printf %020000d 0 >../ZEROS.TXT)
	umount v$n; n=$((n + 1))
done
messages
`

// byLinux is what is in the volume after writeScript.
func (im *kernelImage) byLinux() {
	appended := im.want["Append to me.bin"].data
	im.want["Append to me.bin"] = filled(append(slices.Clone(appended), "appended by Linux"...))
	im.want["Cut me.bin"] = filled(im.want["Cut me.bin"].data[:1000])
	delete(im.want, "Delete me.bin")
	for i := 3; i <= 40; i++ {
		if i%3 != 1 {
			path := fmt.Sprintf("Made by Linux/a deep directory/a file with a long name %d.txt", i)
			im.want[path] = filled(fmt.Appendf(nil, "file %d", i))
		}
	}
	im.want["Made by Linux/Umbenannt für 日本.txt"] = filled([]byte("file 2"))
	im.want["Made by Linux/ZEROS.TXT"] = filled(bytes.Repeat([]byte("0"), 20_000))
}

// again preallocates on the volume that Linux has written.
func (im *kernelImage) again(t *testing.T) {
	t.Helper()
	f, err := dev.OpenFile(im.path, dev.OpenOptions{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	preallocated(t, f, newFiles(map[string]int64{"made by linux/zeros.txt": 50_000, "made by linux/A DEEP DIRECTORY/and one by us.bin": 33_333},
		"made by linux/zeros.txt", "made by linux/A DEEP DIRECTORY/and one by us.bin"))
	z := im.want["Made by Linux/ZEROS.TXT"].data
	im.want["Made by Linux/ZEROS.TXT"] = filled(append(slices.Clone(z), make([]byte, 50_000-len(z))...))
	im.want["Made by Linux/a deep directory/and one by us.bin"] = filled(make([]byte, 33_333))
}

// mounted runs a script in a kernel and compares what it lists of each volume
// with what there must be. Whatever else it prints is an error.
func mounted(t *testing.T, script string, images []*kernelImage) {
	t.Helper()
	var paths []string
	for _, im := range images {
		paths = append(paths, im.path)
	}
	lists := make([]map[string]string, len(images))
	n := -1
	for _, line := range splitLines(voltest.Kernel(t, script, paths...)) {
		value, path, ok := strings.Cut(line, "  ./")
		switch {
		case ok && n >= 0:
			lists[n][path] += " " + value // size and hash
		case strings.HasPrefix(line, "volume "):
			n++
			lists[n] = map[string]string{}
		default:
			t.Errorf("the kernel says: %s", line)
		}
	}
	for i, im := range images {
		for _, path := range slices.Sorted(maps.Keys(im.want)) {
			if want := im.want[path].String(); lists[i][path] != want {
				t.Errorf("%s: of %s the kernel reads%s, want%s", im.name, path, lists[i][path], want)
			}
		}
		if len(lists[i]) != len(im.want) {
			t.Errorf("%s: the kernel lists %d files, want %d", im.name, len(lists[i]), len(im.want))
		}
	}
}

// prepare preallocates files, fills those that are not too large with a
// pattern through the extents that it is told, and notes what is to be read.
func (im *kernelImage) prepare(t *testing.T, d dev.Device, r vol.PreallocRequest) {
	t.Helper()
	for _, f := range preallocated(t, d, r).Files {
		if f.Size > hashable {
			im.want[f.Path] = kernelFile{size: f.Size}
			continue
		}
		data := pattern(f.Path+" of "+im.name, int(f.Size))
		im.want[f.Path] = filled(data)
		for _, e := range f.Extents {
			n := min(int(e.Length), len(data))
			if _, err := d.WriteAt(data[:n], e.Off); err != nil {
				t.Fatal(err)
			}
			data = data[n:]
		}
	}
}

// put adds files as format --from and copy do.
func (im *kernelImage) put(t *testing.T, d dev.Device) {
	t.Helper()
	r := &vol.PutRequest{}
	entry := func(path string, kind vol.Kind, data []byte) {
		e := vol.Entry{Path: path, Same: -1, Size: int64(len(data))}
		e.Kind, e.Modified = kind, time.Unix(1_700_000_000, 0)
		r.Entries = append(r.Entries, e)
		if kind == vol.KindFile {
			im.want[path] = filled(data)
		}
	}
	entry("Put there", vol.KindDir, nil)
	for i, name := range []string{"SHORT.TXT", "lower.txt", "Mixed Case.txt", "ünïcödé 日本語", strings.Repeat("y", 255), "two.dots.txt"} {
		entry("Put there/"+name, vol.KindFile, pattern(name, i*4099))
	}
	r.Open = func(i int) (vol.Contents, error) {
		return inMemory{bytes.NewReader(im.want[r.Entries[i].Path].data)}, nil
	}
	putFiles(t, d, r, vol.ReadOptions{})
}

// inMemory is vol.Contents of bytes.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// putFiles carries a request out.
func putFiles(t testing.TB, d dev.Device, r *vol.PutRequest, o vol.ReadOptions) {
	t.Helper()
	ctx := context.Background()
	txn := dev.Begin(d)
	v, err := open(ctx, txn, vol.OpenOptions{Raw: d, ReadOptions: o})
	must(t, err)
	res, err := v.Put(ctx, r)
	must(t, err)
	must(t, vol.Pour(ctx, txn, d, r, res, func(int64) {}))
	_, err = txn.Commit(ctx, dev.CommitOptions{})
	must(t, err)
}

func pattern(text string, n int) []byte {
	return bytes.Repeat([]byte(text), n/len(text)+1)[:n]
}

// ours is a volume of our making, with files of prealloc's, on free clusters
// that hold something. big is the size of one more file, 0 for none.
func ours(t *testing.T, name, typ string, size, cluster, sector, big int64) *kernelImage {
	t.Helper()
	im := &kernelImage{name: name, want: map[string]kernelFile{}}
	m := formatted(t, typ, size, cluster, func(o *vol.FormatOptions) { o.SectorSize, o.Label = sector, "KERNEL" })
	if size < hashable {
		dirtyFree(t, m)
	}
	im.prepare(t, m, newFiles(map[string]int64{"Append to me.bin": 3000, "Delete me.bin": 5000, "Cut me.bin": 70_000},
		"Append to me.bin", "Delete me.bin", "Cut me.bin"))
	long := strings.Repeat("x", 255)
	r := newFiles(map[string]int64{
		"DCIM/100MEDIA/CLIP0001.MP4": 200_000, "UPPER.TXT": 1, "lower.txt": 512, "empty": 0,
		"A Long Directory Name/ünïcödé 日本語.bin": 20_000, long: 7, "big": big,
	}, "DCIM/100MEDIA/CLIP0001.MP4", "UPPER.TXT", "lower.txt", "empty", "A Long Directory Name/ünïcödé 日本語.bin", long, "big")
	for i := range 60 {
		r.Files = append(r.Files, vol.PreallocFile{Path: fmt.Sprintf("many/file with a long name %02d.dat", i), Length: int64(i * 37)})
	}
	im.prepare(t, m, r)
	im.put(t, m)
	// A file of several extents: others are in its way when it grows.
	im.prepare(t, m, newFiles(map[string]int64{"Append to me.bin": 60_000}, "Append to me.bin"))
	im.path = voltest.Saved(t, m)
	return im
}

// theirs is a volume that another tool has made, and mcopy has filled. In the
// arguments IMAGE stands for its path.
func theirs(t *testing.T, name string, size int64, tool string, args ...string) *kernelImage {
	t.Helper()
	im := &kernelImage{name: name, path: voltest.Saved(t, dev.NewMem(size)), want: map[string]kernelFile{}}
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "IMAGE", im.path)
	}
	peer(t, tool, args...)
	dir := t.TempDir()
	for path, n := range map[string]int{"Append to me.bin": 3000, "Delete me.bin": 5000, "Cut me.bin": 70_000, "sub directory/Grüße.txt": 12_345, "sub directory/X.Y": 1} {
		data := pattern(path, n)
		im.want[path] = filled(data)
		host := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(host), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(host, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	copies := []string{"-s", "-i", im.path}
	for _, name := range []string{"Append to me.bin", "Delete me.bin", "Cut me.bin", "sub directory"} {
		copies = append(copies, filepath.Join(dir, name))
	}
	peer(t, "mcopy", append(copies, "::/")...)
	return im
}

// judged holds an image against our check and fsck.fat.
func (im *kernelImage) judged(t *testing.T, when string) {
	t.Helper()
	t.Run(im.name+" "+when, func(t *testing.T) {
		f, err := dev.OpenFile(im.path, dev.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		sound(t, f)
		if im.want["big"].size == maxFileSize {
			return // dosfstools 4.2 takes the size for a mistake
		}
		for i, line := range splitLines(peer(t, "fsck.fat", "-n", im.path)) {
			if i > 0 && !isTotals(line) {
				t.Errorf("fsck.fat: %s", line)
			}
		}
	})
}

// TestKernel lets a real Linux kernel use what we made, and us what it made:
// our volumes and those of mkfs.fat and mtools are mounted, every file is read
// and compared, files are appended to, cut, made, renamed and deleted. Then
// our check must find the volumes clean, prealloc works on them, and a second
// kernel reads it all again. The kernels must have nothing to say.
func TestKernel(t *testing.T) {
	needs.Long(t, "boots Linux twice")
	voltest.Peer(t, "linux.uml") // before the work
	images := []*kernelImage{
		ours(t, "floppy", "fat12", 1440<<10, 0, 0, 0),
		ours(t, "FAT12", "fat12", 4<<20, 2048, 0, 0),
		ours(t, "FAT16", "fat16", 40<<20, 2048, 0, 0),
		ours(t, "FAT32", "fat32", 40<<20, 512, 0, 20<<20),
		ours(t, "FAT12 with 4096-byte sectors", "fat12", 10<<20, 4096, 4096, 0),
		ours(t, "FAT16 with 4096-byte sectors", "fat16", 100<<20, 4096, 4096, 0),
		ours(t, "FAT32 with 4096-byte sectors", "fat32", 300<<20, 4096, 4096, 0),
		ours(t, "FAT32 with a file of 4 GiB - 1", "fat32", 8<<30, 32<<10, 0, maxFileSize),
		theirs(t, "mkfs.fat's FAT12", 2<<20, "mkfs.fat", "-F", "12", "IMAGE"),
		theirs(t, "mkfs.fat's FAT16", 40<<20, "mkfs.fat", "-F", "16", "IMAGE"),
		theirs(t, "mkfs.fat's FAT32", 40<<20, "mkfs.fat", "-F", "32", "-s", "1", "IMAGE"),
		theirs(t, "mformat's FAT16", 64<<20, "mformat", "-i", "IMAGE", "-t", "64", "-h", "64", "-s", "32", "::"),
		theirs(t, "mformat's FAT32", 64<<20, "mformat", "-F", "-i", "IMAGE", "-t", "64", "-h", "64", "-s", "32", "-c", "1", "::"),
	}
	for _, im := range images {
		im.judged(t, "as made")
	}
	mounted(t, writeScript, images)
	for _, im := range images {
		im.byLinux()
		im.judged(t, "by Linux")
		im.again(t)
		im.judged(t, "by Linux and us")
	}
	mounted(t, readScript, images)
}
