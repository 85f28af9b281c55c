package fat

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
func formatted(t testing.TB, typ string, size, cluster int64, change ...func(*vol.FormatOptions)) *dev.Mem {
	t.Helper()
	o := vol.FormatOptions{Type: typ, ClusterSize: cluster, ID: "1234-ABCD", Seed: 1}
	for _, c := range change {
		c(&o)
	}
	p, err := planFormat(vol.Target{Size: size}, o)
	if err != nil {
		t.Fatal(err)
	}
	m := dev.NewMem(size)
	if _, err := p.Apply(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// begun is a transaction over base with the volume open on it.
func begun(t testing.TB, base dev.Device) (*dev.Txn, *volume) {
	t.Helper()
	tx := dev.Begin(base)
	v, err := open(context.Background(), tx, vol.OpenOptions{Raw: base, Now: 1700000000})
	if err != nil {
		t.Fatal(err)
	}
	return tx, v.(*volume)
}

// preallocated carries out r and commits it.
func preallocated(t testing.TB, base dev.Device, r vol.PreallocRequest) *vol.PreallocResult {
	t.Helper()
	tx, v := begun(t, base)
	res, err := v.Preallocate(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, tx)
	return res
}

func commit(t testing.TB, tx *dev.Txn) {
	t.Helper()
	if _, err := tx.Commit(context.Background(), dev.CommitOptions{}); err != nil {
		t.Fatal(err)
	}
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
	return vol.PreallocRequest{Create: true, FillZero: true, Files: []vol.PreallocFile{{Path: path, Length: size}}}
}

// peer runs another implementation and returns what it prints.
func peer(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(voltest.Peer(t, name), args...)
	cmd.Env = append(os.Environ(), "MTOOLS_SKIP_CHECK=1", "LC_ALL=C.UTF-8", "TZ=UTC")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// sound holds a volume against our check and, where it is there, fsck.fat.
func sound(t testing.TB, d dev.Device) {
	t.Helper()
	res, err := vol.Fsck(context.Background(), d, Driver(), vol.CheckOptions{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range res.Outcomes {
		if o.Severity >= vol.SevWarning && o.Slug != "few-clusters" {
			t.Errorf("check: %s %s: %s", o.Code, o.Loc.Path, o.Message())
		}
	}
}

// fsckSilent runs fsck.fat -n, which must have nothing to say.
func fsckSilent(t testing.TB, d dev.Device) {
	t.Helper()
	out := peer(t, "fsck.fat", "-n", voltest.Saved(t, d))
	for i, line := range splitLines(out) {
		if i == 0 || isTotals(line) {
			continue
		}
		t.Errorf("fsck.fat: %s", line)
	}
}

func splitLines(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
}

// isTotals tells the last line of fsck.fat: "image: 3 files, 4/5 clusters".
func isTotals(line string) bool { return strings.Contains(line, " files, ") }
