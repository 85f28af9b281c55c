package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// block is a fenced block of a Markdown file.
type block struct {
	kind  string
	lines []string
}

func blocks(t *testing.T, name string) []block {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var bs []block
	inside := false
	for _, line := range strings.Split(string(text), "\n") {
		kind, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !inside:
			bs = append(bs, block{kind: kind})
			inside = true
		case fence:
			inside = false
		case inside:
			b := &bs[len(bs)-1]
			b.lines = append(b.lines, line)
		}
	}
	return bs
}

// TestReadme runs what the README shows, in its order: what is shown with a
// prompt must print what stands below it, and the recipes must work.
func TestReadme(t *testing.T) {
	for _, tool := range []string{"sh", "jq", "dd", "mcopy", "sfdisk"} {
		voltest.Peer(t, tool)
	}
	dir := t.TempDir()
	buildImages(t, dir)
	script, want := "exec 2>&1\n", map[int]string{}
	for _, b := range blocks(t, "../../README.md") {
		if b.kind == "sh" && !strings.Contains(b.lines[0], "go ") {
			script += "{\n" + strings.Join(b.lines, "\n") + "\n} >/dev/null || exit\n"
		}
		if b.kind != "console" {
			continue
		}
		for _, line := range b.lines {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				// $? is for the next command, as it is for a person.
				script += fmt.Sprintf("rc=$?; echo '@@@'; (exit $rc)\n%s\n", command)
				want[len(want)] = "$ " + command + "\n"
				continue
			}
			want[len(want)-1] += line + "\n"
		}
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("the last command: %v\n%s", err, out)
	}
	got := strings.Split(string(out), "@@@\n")[1:]
	if len(got) != len(want) {
		t.Fatalf("%d of %d commands were run:\n%s", len(got), len(want), out)
	}
	for i, text := range got {
		command, output, _ := strings.Cut(want[i], "\n")
		if sorted(text) != sorted(output) {
			t.Errorf("%s\nprints\n%s\nthe README says\n%s", command, text, output)
		}
	}
}

// buildImages makes what the recipes find in the directory of a build.
func buildImages(t *testing.T, dir string) {
	t.Helper()
	for _, sub := range []string{"build", "EFI/BOOT"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "EFI/BOOT/BOOTX64.EFI"), []byte("boot"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"fat", "exfat", "f2fs"} {
		if out, code := runNamed(t, "fatkit", "format", "-t", kind, "-s", "64M", filepath.Join(dir, "build", kind+".img")); code != exitOK {
			t.Fatal(out)
		}
	}
}

// sorted are the lines of text in order: those of standard error may come
// before or after those of standard output.
func sorted(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// writeDisk makes a disk image with an MBR and one EFI partition.
func writeDisk(t *testing.T, path string) {
	t.Helper()
	b := make([]byte, 512)
	b[446+4] = 0xEF
	binary.LittleEndian.PutUint32(b[446+8:], 2048)
	binary.LittleEndian.PutUint32(b[446+12:], 64<<20/512)
	b[510], b[511] = 0x55, 0xAA
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 66<<20); err != nil {
		t.Fatal(err)
	}
}
