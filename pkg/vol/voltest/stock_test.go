//go:build linux

package voltest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
)

// TestArchive: cpio reads the archive as what was put in.
func TestArchive(t *testing.T) {
	var a archive
	a.dir("bin")
	want := map[string]string{"a": "", "bin/bc": "1", "name": "12", "x": "123", "four": "1234"}
	for name, data := range want {
		a.file(name, []byte(data))
	}
	cmd := exec.Command(Peer(t, "cpio"), "--quiet", "-id")
	cmd.Dir, cmd.Stdin = t.TempDir(), bytes.NewReader(a.end())
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("cpio: %v\n%s", err, out)
	}
	for name, data := range want {
		got, err := os.ReadFile(filepath.Join(cmd.Dir, name))
		if err != nil || string(got) != data {
			t.Errorf("%s holds %q, want %q: %v", name, got, data, err)
		}
	}
}

// TestModules: what a module needs comes before it, once, and what the kernel
// has itself is left out.
func TestModules(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "modules.dep"), "k/top-one.ko: k/mid.ko k/base.ko\nk/mid.ko: k/base.ko\nk/base.ko:\nk/other.ko.xz: k/base.ko\n")
	write(t, filepath.Join(dir, "modules.builtin"), "kernel/in-it.ko\n")
	m, err := readModules(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.closure([]string{"in_it", "top_one", "other", "mid"})
	if want := []string{"k/base.ko", "k/mid.ko", "k/top-one.ko", "k/other.ko.xz"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if _, err := m.closure([]string{"gone"}); err == nil {
		t.Error("a module that is not there is not missed")
	}
}

// TestScriptEnded: only a script that ends with 0 has an output.
func TestScriptEnded(t *testing.T) {
	out, err := scriptEnded("some\nlines\n"+stockEnd+"0\n", "", errOff)
	if out != "some\nlines\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := scriptEnded("bad\n"+stockEnd+"3\n", "", errOff); err == nil || !strings.Contains(err.Error(), "ended with 3:\nbad\n") {
		t.Errorf("a script that failed: %v", err)
	}
	if _, err := scriptEnded("so far\n", "Kernel panic", errOff); !errors.Is(err, errOff) || !strings.Contains(err.Error(), "Kernel panic") {
		t.Errorf("a script that did not end: %v", err)
	}
}

// TestStockKernelFails: a script that fails and a machine that stops are told
// from one that ends well.
func TestStockKernelFails(t *testing.T) {
	needs.Long(t, "boots Linux")
	ks := StockKernels(t)
	k := ks[len(ks)-1]
	_, err := k.boot(t, "echo to the point; echo c >/proc/sysrq-trigger", nil)
	if err == nil || !strings.Contains(err.Error(), "to the point") || !strings.Contains(err.Error(), "panic") {
		t.Errorf("a kernel that panics: %v", err)
	}
}
