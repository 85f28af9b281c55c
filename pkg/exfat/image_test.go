package exfat

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// formatted is a fresh volume in memory.
func formatted(t testing.TB, size, cluster int64, change ...func(*vol.FormatOptions)) *dev.Mem {
	t.Helper()
	o := vol.FormatOptions{Type: "exfat", ClusterSize: cluster, ID: "1234-ABCD", Seed: 1}
	for _, c := range change {
		c(&o)
	}
	p, err := planFormat(vol.Target{Size: size}, o)
	must(t, err)
	m := dev.NewMem(size)
	_, err = p.Apply(context.Background(), m)
	must(t, err)
	return m
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// begun is a transaction over base with the volume open on it.
func begun(t testing.TB, base dev.Device) (*dev.Txn, *volume) {
	t.Helper()
	tx := dev.Begin(base)
	v, err := open(context.Background(), tx, vol.OpenOptions{Raw: base, Now: 1700000001})
	must(t, err)
	return tx, v.(*volume)
}

// preallocated carries out r and commits it.
func preallocated(t testing.TB, base dev.Device, r vol.PreallocRequest) *vol.PreallocResult {
	t.Helper()
	tx, v := begun(t, base)
	res, err := v.Preallocate(context.Background(), r)
	must(t, err)
	commit(t, tx)
	return res
}

// zeroed zeroes ranges of files and commits that.
func zeroed(t testing.TB, base dev.Device, r vol.ZeroRequest) *vol.ZeroResult {
	t.Helper()
	tx, v := begun(t, base)
	res, err := v.ZeroRanges(context.Background(), r)
	must(t, err)
	commit(t, tx)
	return res
}

func commit(t testing.TB, tx *dev.Txn) {
	t.Helper()
	_, err := tx.Commit(context.Background(), dev.CommitOptions{})
	must(t, err)
}

// newFiles is a request for files that are to be made with these sizes.
func newFiles(sizes map[string]int64, paths ...string) vol.PreallocRequest {
	r := vol.PreallocRequest{Create: true, FillZero: true}
	for _, p := range paths {
		r.Files = append(r.Files, vol.PreallocFile{Path: p, Length: sizes[p]})
	}
	return r
}

// one is a request for one new file.
func one(path string, size int64) vol.PreallocRequest {
	return newFiles(map[string]int64{path: size}, path)
}

// emptyFiles is a request for new files without contents.
func emptyFiles(paths ...string) vol.PreallocRequest { return newFiles(nil, paths...) }

// allValid is r with all of the files valid.
func allValid(r vol.PreallocRequest) vol.PreallocRequest {
	r.ValidAll = true
	return r
}

// peer runs another implementation and returns what it prints.
func peer(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(voltest.Peer(t, name), args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TZ=UTC")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// fsckClean runs fsck.exfat -n, which must find nothing.
func fsckClean(t testing.TB, d dev.Device) {
	t.Helper()
	out := peer(t, "fsck.exfat", "-n", voltest.Saved(t, d))
	if !strings.Contains(out, ": clean.") || strings.Contains(out, "ERROR") {
		t.Errorf("fsck.exfat: %s", out)
	}
}

// patched changes n bytes of d at off.
func patched(t testing.TB, d dev.Device, off, n int64, change func(b []byte)) {
	t.Helper()
	must(t, vol.Patch(d, off, n, change))
}

// resealed gives both boot regions, of sectors of size bytes, the checksum that
// is right for them.
func resealed(t testing.TB, d dev.Device, size int64) {
	t.Helper()
	for _, off := range []int64{0, backupSector * size} {
		patched(t, d, off, regionSectors*size, func(b []byte) {
			copy(b[sectorChecksum*size:], checksumSector(b[:sectorChecksum*size], size))
		})
	}
}

// sameBytes tells where two devices differ first, -1 for nowhere.
func sameBytes(t testing.TB, a, b dev.Device) int64 {
	t.Helper()
	pa, pb := make([]byte, 1<<20), make([]byte, 1<<20)
	for off := int64(0); off < a.Size(); off += int64(len(pa)) {
		n := min(int64(len(pa)), a.Size()-off)
		if noData(a, off, n) && noData(b, off, n) {
			continue
		}
		_, err := a.ReadAt(pa[:n], off)
		must(t, err)
		_, err = b.ReadAt(pb[:n], off)
		must(t, err)
		if string(pa[:n]) == string(pb[:n]) {
			continue
		}
		for i := range n {
			if pa[i] != pb[i] {
				return off + i
			}
		}
	}
	return -1
}

func noData(d dev.Device, off, n int64) bool {
	r := d.NextData(off)
	return r.Empty() || r.Off >= off+n
}
