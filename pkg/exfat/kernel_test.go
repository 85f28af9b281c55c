//go:build linux

package exfat

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// What the scripts do is bounded by the number of processes they start, and by
// the bytes that they read: the machine is emulated.

// listScript defines list N, which prints volume N and what there is below the
// current directory: directories, the sizes of the files, and their hashes. Of
// a file too large for that the end must be zeros.
const listScript = `
set -e
list() {
	echo "volume $1"
	find . -mindepth 1 -type d -exec printf 'dir  %s\n' {} +
	find . -type f -exec stat -c '%s  %n' {} +
	find . -type f -size -8193k -exec sha256sum {} +
	[ ! -d dated ] || find dated -type f -exec stat -c '%Y %a  ./%n' {} +
	[ ! -e big ] || [ "$(tail -c 65536 big | tr -d '\0' | wc -c)" = 0 ] || echo "$1: big does not end in zeros"
}
messages() { dmesg -c | grep -E 'exFAT|I/O error|BUG|WARNING' || true; }
dmesg -c >/dev/null
n=0
`

// readScript mounts every volume and lists it.
const readScript = listScript + `
for d; do
	mkdir v$n; mount -t exfat $d v$n
	(cd v$n; list $n)
	umount v$n; n=$((n + 1))
done
messages
`

// writeScript does with every volume what a system does: it lists it, uses
// what is reserved there, makes files and directories and takes some away,
// unmounts, and lists what it finds when it mounts it again.
const writeScript = listScript + `
# This is no >>: there Linux, as of 6.12, looks for what is not valid before it
# knows where it writes, and what the clusters held shows up in front of it.
append() {
	for f; do
		printf 'appended by Linux' | dd of="$f" bs=1 seek=$(stat -c %s "$f") conv=notrunc 2>/dev/null
	done
}
# Files of prealloc's: they are appended to, cut in front of and behind the end
# of what is valid, written to in what is reserved, and taken away. Names are
# found in the other case too.
use() {
	append 'APPEND TO RESERVED.BIN' 'append to chained.BIN' 'ÄRGER/日本語 😀/ÜNÏCÖDÉ.BIN'
	printf 'appended by Linux' >>'WRITTEN.BIN'
	truncate -s $((cs + 5)) 'Cut reserved.bin' 'Cut partly.bin' 'Cut chained.bin'
	truncate -s 5 'Cut into what is valid.bin'
	truncate -s 0 'Cut to nothing.bin'
	printf x | dd of='Write into reserved.bin' bs=1 seek=$((2 * cs + 7)) conv=notrunc 2>/dev/null
	truncate -s $((5 * cs + 9)) 'Grow reserved.bin' 'Grow chained.bin'
	rm -r 'Delete reserved.bin' 'Delete chained.bin' 'delete me'
	mv 'Rename reserved.bin' 'many/Umbenannt für 日本 😀.bin'
}
# Files of Linux' own: two of them grow in turns, and so get chains.
make() {
	mkdir -p 'Von Linux/ein tiefes Verzeichnis' 'Von Linux/😀 leer'
	cd 'Von Linux/ein tiefes Verzeichnis'
	i=1; set --; while [ $i -le 40 ]; do
		f="ein langer Name für $i.txt"; printf "file $i" >"$f"
		[ $((i % 3)) -ne 1 ] || set -- "$@" "$f"
		i=$((i + 1))
	done
	rm "$@"
	mv 'ein langer Name für 2.txt' '../Umbenannt für 日本.txt'
	cd ..
	for i in 1 2 3 4; do
		printf "%0${cs}d" $i >>one.bin
		printf "%0${cs}d" $i >>two.bin
	done
	truncate -s $((3 * cs + 1)) reserved.bin
}
for d; do
	mkdir v$n; mount -t exfat $d v$n
	(cd v$n
	cs=$(stat -f -c %s .)
	list $n
	[ ! -e 'Append to reserved.bin' ] || use
	[ ! -e big ] || truncate -s 4294967297 big
	make)
	umount v$n; mount -t exfat $d v$n
	(cd v$n; list $n)
	umount v$n; n=$((n + 1))
done
messages
`

// kernelImage is a volume that the kernel is to mount, and what it must find.
type kernelImage struct {
	name, path string
	cluster    int64
	// valid is set for a kernel that takes what is valid of a file for the
	// file: then all is valid, as by prealloc --valid all.
	valid bool
	files map[string][]byte
	big   int64           // size of one that is too large to be read
	dirs  map[string]bool // that hold nothing
}

func newKernelImage(name string, cluster int64, valid bool) *kernelImage {
	return &kernelImage{name: name, cluster: cluster, valid: valid, files: map[string][]byte{}, dirs: map[string]bool{}}
}

// listed is what listScript prints of the volume, by path.
func (im *kernelImage) listed() map[string]string {
	modes := map[bool]string{false: "755", true: "555"} // as Linux mounts by default
	out := map[string]string{}
	dirs := func(name string) {
		for ; name != "."; name = path.Dir(name) {
			out[name] = " dir"
		}
	}
	for name := range im.dirs {
		dirs(name)
	}
	for name, data := range im.files {
		dirs(path.Dir(name))
		out[name] = fmt.Sprintf(" %d %x", len(data), sha256.Sum256(data))
		if strings.HasPrefix(name, "dated/") {
			out[name] += fmt.Sprintf(" %d %s", dated(name).Unix(), modes[strings.Contains(name, "read-only")])
		}
	}
	if im.big > 0 {
		out["big"] = fmt.Sprintf(" %d", im.big)
	}
	return out
}

// reserve lets prealloc make files or make them grow.
func (im *kernelImage) reserve(t *testing.T, d dev.Device, files ...vol.PreallocFile) *vol.PreallocResult {
	t.Helper()
	res := preallocated(t, d, vol.PreallocRequest{Files: files, Create: true, FillZero: true, ValidAll: im.valid})
	for _, f := range res.Files {
		if name := f.Path; f.Size > 1<<30 {
			im.big = f.Size
		} else {
			im.files[name] = append(im.files[name], make([]byte, f.Size-int64(len(im.files[name])))...)
		}
	}
	return res
}

// write makes a file of n bytes that all were written, as a pattern.
func (im *kernelImage) write(t *testing.T, d dev.Device, name string, n int64) {
	t.Helper()
	res := preallocated(t, d, allValid(one(name, n)))
	data := bytes.Repeat([]byte(name+" of "+im.name+"\n"), int(n)/len(name)+1)[:n]
	im.files[name] = data
	for _, e := range res.Files[0].Extents {
		n := min(e.Length, int64(len(data)))
		_, err := d.WriteAt(data[:n], e.Off)
		must(t, err)
		data = data[n:]
	}
}

// ours is a volume of our making, with files of prealloc's, on free clusters
// that hold something.
func ours(t *testing.T, name string, size, cluster, sector int64, valid bool) *kernelImage {
	t.Helper()
	im := newKernelImage(name, cluster, valid)
	m := formatted(t, size, cluster, func(o *vol.FormatOptions) { o.SectorSize, o.Label = sector, "Kernel é" })
	dirtyFree(t, m)
	im.oneRun(t, m)
	im.chained(t, m)
	im.path = voltest.Saved(t, m)
	return im
}

// oneRun makes files without chains: with nothing valid, and, by writing them
// and zeroing their ends, with a part valid in front of something else.
func (im *kernelImage) oneRun(t *testing.T, m dev.Device) {
	t.Helper()
	cs := im.cluster
	files := []vol.PreallocFile{
		{Path: "Empty.bin"}, {Path: "One byte.bin", Length: 1}, {Path: "Reserved.bin", Length: 9*cs + 77},
		{Path: "Append to reserved.bin", Length: cs + 77}, {Path: "Cut reserved.bin", Length: 3 * cs}, {Path: "Write into reserved.bin", Length: 4*cs - 1},
		{Path: "Grow reserved.bin", Length: cs}, {Path: "Delete reserved.bin", Length: 2 * cs}, {Path: "Rename reserved.bin", Length: 2*cs + 1},
		{Path: "ärger/日本語 😀/ünïcödé.bin", Length: cs + cs/2}, {Path: "delete me/Reserved.bin", Length: cs}, {Path: strings.Repeat("x", 255), Length: 7},
	}
	for i := range 60 {
		files = append(files, vol.PreallocFile{Path: fmt.Sprintf("many/file with a long name %02d.dat", i), Length: int64(i * 37)})
	}
	im.reserve(t, m, files...)
	im.write(t, m, "Written.bin", 3*cs+1)
	var r vol.ZeroRequest
	for _, name := range []string{"Partly.bin", "Cut partly.bin", "Cut into what is valid.bin"} {
		im.write(t, m, name, 4*cs+5)
		if im.valid {
			continue
		}
		r.Files = append(r.Files, vol.ZeroFile{Path: name, Offset: cs/2 + 3, Length: -1})
		clear(im.files[name][cs/2+3:])
	}
	zeroed(t, m, r)
	p := sound(t, m)
	for _, name := range []string{"Reserved.bin", "Partly.bin", "Cut reserved.bin", "Cut partly.bin"} {
		if f := p.files["/"+name]; !f.noFat || im.valid != (f.valid == f.length) {
			t.Errorf("%s: no chain %v, %d of %d bytes valid", name, f.noFat, f.valid, f.length)
		}
	}
}

// chained makes files that grew past others: one has something written, the
// rest nothing.
func (im *kernelImage) chained(t *testing.T, m dev.Device) {
	t.Helper()
	var grown []vol.PreallocFile
	for i, name := range []string{"Chained.bin", "Append to chained.bin", "Cut chained.bin", "Cut to nothing.bin", "Grow chained.bin", "Delete chained.bin"} {
		if i%2 == 0 {
			im.write(t, m, name, im.cluster-9)
		} else {
			im.reserve(t, m, vol.PreallocFile{Path: name, Length: im.cluster - 9})
		}
		im.reserve(t, m, vol.PreallocFile{Path: "in the way of " + name, Length: im.cluster})
		grown = append(grown, vol.PreallocFile{Path: name, Length: 3*im.cluster + 5})
	}
	im.reserve(t, m, grown...)
	p := sound(t, m)
	for _, f := range grown {
		if f := p.files["/"+f.Path]; f.noFat || f.extents() < 2 || im.valid != (f.valid == f.length) {
			t.Errorf("no chain %v, %d extents, %d of %d bytes valid", f.noFat, f.extents(), f.valid, f.length)
		}
	}
}

// filled is a volume that was put full of files, most of them those of like,
// which others use; with scattered on one that has no long free run.
func filled(t *testing.T, name string, size, cluster int64, scattered bool, like *kernelImage) *kernelImage {
	t.Helper()
	im := newKernelImage(name, cluster, true)
	m := formatted(t, size, cluster)
	if scattered {
		spoiled(t, m, 7)
		im.files["spoiler"] = sound(t, m).data("/spoiler")
	}
	dirtyFree(t, m)
	l := sample(cluster)
	delete(l, "many") // a directory of the others
	for name, data := range like.files {
		l[name] = text(name, int64(len(data)))
	}
	for i := range 50 {
		l[fmt.Sprintf("dated/%0*d", i+1, i)] = text("d", int64(i)*100)
	}
	l["dated/read-only"] = text("r", 9)
	r := l.request()
	for i := range r.Entries {
		if r.Entries[i].Path == "dated/read-only" {
			r.Entries[i].Flags |= vol.FlagReadOnly
		}
	}
	putAll(t, m, r)
	for name, data := range l {
		if im.dirs[name] = data == nil; data != nil {
			delete(im.dirs, name)
			im.files[name] = data
		}
	}
	im.path = voltest.Saved(t, m)
	return im
}

// oursWithBig is a volume of our making with a file of 5 GiB.
func oursWithBig(t *testing.T, valid bool) *kernelImage {
	t.Helper()
	im := newKernelImage("file of 5 GiB", 128*kib, valid)
	m := formatted(t, 8*gib, im.cluster)
	im.reserve(t, m, vol.PreallocFile{Path: "big", Length: 5 * gib})
	im.path = voltest.Saved(t, m)
	return im
}

// theirs is a volume that mkfs.exfat has made.
func theirs(t *testing.T, cluster int64, args ...string) *kernelImage {
	t.Helper()
	im := newKernelImage("mkfs.exfat "+strings.Join(args, " "), cluster, false)
	im.path = voltest.SparseFile(t, 24*mib)
	peer(t, "mkfs.exfat", append(args, im.path)...)
	return im
}

// byLinux is what is in the volume after writeScript.
func (im *kernelImage) byLinux() {
	cs := int(im.cluster)
	if im.files["Append to reserved.bin"] != nil {
		im.usedByLinux(cs)
	}
	if im.big > 0 {
		im.big = 4*gib + 1
	}
	for i := 3; i <= 40; i++ {
		if i%3 != 1 {
			im.files[fmt.Sprintf("Von Linux/ein tiefes Verzeichnis/ein langer Name für %d.txt", i)] = fmt.Appendf(nil, "file %d", i)
		}
	}
	im.dirs["Von Linux/😀 leer"] = true
	im.files["Von Linux/Umbenannt für 日本.txt"] = []byte("file 2")
	var turns []byte
	for i := 1; i <= 4; i++ {
		turns = fmt.Appendf(turns, "%0*d", cs, i)
	}
	im.files["Von Linux/one.bin"], im.files["Von Linux/two.bin"] = turns, turns
	im.files["Von Linux/reserved.bin"] = make([]byte, 3*cs+1)
}

func (im *kernelImage) usedByLinux(cs int) {
	f := im.files
	for _, name := range []string{"Written.bin", "Append to reserved.bin", "Append to chained.bin", "ärger/日本語 😀/ünïcödé.bin"} {
		f[name] = append(f[name], "appended by Linux"...)
	}
	for _, name := range []string{"Cut reserved.bin", "Cut partly.bin", "Cut chained.bin"} {
		f[name] = f[name][:cs+5]
	}
	f["Cut into what is valid.bin"] = f["Cut into what is valid.bin"][:5]
	f["Cut to nothing.bin"] = nil
	f["Write into reserved.bin"][2*cs+7] = 'x'
	for _, name := range []string{"Grow reserved.bin", "Grow chained.bin"} {
		f[name] = append(f[name], make([]byte, 5*cs+9-len(f[name]))...)
	}
	f["many/Umbenannt für 日本 😀.bin"] = f["Rename reserved.bin"]
	for _, name := range []string{"Delete reserved.bin", "Delete chained.bin", "delete me/Reserved.bin", "Rename reserved.bin"} {
		delete(f, name)
	}
}

// percentage lets check -y mend the one thing that Linux leaves wrong: it never
// writes PercentInUse.
func (im *kernelImage) percentage(t *testing.T) {
	t.Helper()
	f, err := dev.OpenFile(im.path, dev.OpenOptions{Write: true})
	must(t, err)
	defer f.Close()
	tx := dev.Begin(f)
	res, err := vol.Fsck(t.Context(), tx, Driver(), vol.CheckOptions{}, func(*vol.Finding) int { return 0 }, nil)
	must(t, err)
	for _, o := range res.Outcomes {
		if o.Slug != "percent-in-use" {
			t.Errorf("%s by Linux: check: %s %s: %s", im.name, o.Slug, o.Loc.Path, o.Message())
		}
	}
	commit(t, tx)
}

// again preallocates on the volume that Linux has written: files that it
// made, and one in a directory of its own.
func (im *kernelImage) again(t *testing.T) {
	t.Helper()
	f, err := dev.OpenFile(im.path, dev.OpenOptions{Write: true})
	must(t, err)
	defer f.Close()
	cs := im.cluster
	im.reserve(t, f, vol.PreallocFile{Path: "Von Linux/one.bin", Length: 6*cs + 1}, vol.PreallocFile{Path: "Von Linux/reserved.bin", Length: 7 * cs},
		vol.PreallocFile{Path: "Von Linux/ein tiefes Verzeichnis/und eine von uns.bin", Length: 3 * cs})
}

// judged holds an image against our check and fsck.exfat, and what the other
// implementation reads against what there must be.
func (im *kernelImage) judged(t *testing.T, when string) {
	t.Helper()
	t.Run(im.name+" "+when, func(t *testing.T) {
		f, err := dev.OpenFile(im.path, dev.OpenOptions{})
		must(t, err)
		defer f.Close()
		p := sound(t, f)
		for name, want := range im.files {
			if !bytes.Equal(p.data("/"+name), want) {
				t.Errorf("%s is not what it should be", name)
			}
		}
		if got, want := len(p.files), len(im.listed()); got != want {
			t.Errorf("%d files and directories, want %d: %q", got, want, p.paths())
		}
		out := peer(t, "fsck.exfat", "-n", im.path)
		if !strings.Contains(out, ": clean.") || strings.Contains(out, "ERROR") {
			t.Errorf("fsck.exfat: %s", out)
		}
	})
}

// listings are what the script lists of the volumes, in turn. Whatever else it
// prints is an error.
func listings(t *testing.T, out string) (lists []map[string]string) {
	t.Helper()
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		value, name, ok := strings.Cut(line, "  ./")
		switch {
		case ok && len(lists) > 0:
			lists[len(lists)-1][name] += " " + value
		case strings.HasPrefix(line, "volume "):
			lists = append(lists, map[string]string{})
		default:
			t.Errorf("the kernel says: %s", line)
		}
	}
	return lists
}

// sees compares a listing with what there must be.
func (im *kernelImage) sees(t *testing.T, when string, list map[string]string) {
	t.Helper()
	want := im.listed()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if list[name] != want[name] {
			t.Errorf("%s, %s: of %s the kernel reads%s, want%s", im.name, when, name, list[name], want[name])
		}
	}
	for name := range list {
		if want[name] == "" {
			t.Errorf("%s, %s: the kernel finds %s", im.name, when, name)
		}
	}
}

// TestKernel lets real Linux kernels use what we made, and us what they made:
// our volumes and those of mkfs.exfat are mounted, every file is read and
// compared, what is reserved is appended to, cut, written into and deleted, and
// files are made. Then our check must find the volumes clean, prealloc works on
// them, and the kernel reads it all again. It must have nothing to say.
func TestKernel(t *testing.T) {
	needs.Long(t, "boots Linux several times")
	for _, k := range voltest.StockKernels(t) {
		t.Run(k.Release(), func(t *testing.T) {
			t.Parallel()
			// Linux 6.8 was the first to know that a file can be longer than
			// what is valid of it. Before, it takes what is valid for the file,
			// and makes it so when it writes the entry, be it for having read
			// the file: the rest of the clusters is lost.
			throughKernel(t, k, !k.AtLeast(6, 8))
		})
	}
}

func throughKernel(t *testing.T, k voltest.StockKernel, valid bool) {
	images := []*kernelImage{
		ours(t, "clusters of 4 KiB", 24*mib, 4*kib, 0, valid),
		ours(t, "clusters of 32 KiB", 48*mib, 32*kib, 0, valid),
		ours(t, "clusters of 512 bytes", 8*mib, 512, 0, valid),
		ours(t, "sectors of 4096 bytes", 24*mib, 4*kib, 4096, valid),
		oursWithBig(t, valid),
		theirs(t, 4*kib),
		theirs(t, 32*kib, "-c", "32K", "-L", "mkfs é"),
		theirs(t, 512, "-c", "512"),
	}
	images = append(images, filled(t, "files that were put", 24*mib, 4*kib, false, images[0]),
		filled(t, "files that were put between others", 48*mib, 32*kib, true, images[1]))
	var paths []string
	for _, im := range images {
		im.judged(t, "as made")
		paths = append(paths, im.path)
	}
	lists := listings(t, k.Run(t, writeScript, paths...))
	for i, im := range images {
		im.sees(t, "as made", lists[2*i])
		im.byLinux()
		im.sees(t, "by Linux", lists[2*i+1])
		im.percentage(t)
		im.judged(t, "by Linux")
		im.valid = valid
		im.again(t)
		im.judged(t, "by Linux and us")
	}
	lists = listings(t, k.Run(t, readScript, paths...))
	for i, im := range images {
		im.sees(t, "by Linux and us", lists[i])
	}
}
