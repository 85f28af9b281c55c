package fat

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

type peerCase struct {
	at vol.Target
	o  vol.FormatOptions
}

// peerCases are layouts of all kinds that other tools are to accept.
func peerCases() []peerCase {
	var cs []peerCase
	add := func(size int64, o vol.FormatOptions) { cs = append(cs, peerCase{vol.Target{Size: size}, o}) }
	for _, f := range floppies() {
		add(f.total*512, vol.FormatOptions{Type: "fat", Label: "FLOPPY"})
	}
	for _, size := range []int64{6 * kib, 16 * kib, 64 * kib, mib, 4 * mib, 8400 * 512, 8401 * 512, 16 * mib, 33*mib + 512, 100 * mib, 511 * mib, 512 * mib, gib, 5 * gib} {
		add(size, vol.FormatOptions{Type: "fat"})
	}
	for _, c := range []int64{512, 1024, 4096, 32 * kib, 64 * kib} {
		add(70000*c, vol.FormatOptions{Type: "fat32", ClusterSize: c, Label: "My card #1"})
		add(30000*c+512, vol.FormatOptions{Type: "fat16", ClusterSize: c})
		add(3000*c+1536, vol.FormatOptions{Type: "fat12", ClusterSize: c, Fats: ptr(1)})
	}
	for _, s := range []int64{1024, 2048, 4096} {
		add(300*mib, vol.FormatOptions{Type: "fat32", SectorSize: s})
		add(100*mib, vol.FormatOptions{Type: "fat16", SectorSize: s, Label: "SECTORS"})
		add(10*mib, vol.FormatOptions{Type: "fat12", SectorSize: s})
	}
	add(2*gib, vol.FormatOptions{Type: "fat16"})
	add(gib, vol.FormatOptions{Type: "fat16", RootEntries: ptr(1024), MediaType: ptr(0xF0)})
	add(gib, vol.FormatOptions{Type: "fat32", ReservedSectors: ptr(int64(7))})
	add(gib, vol.FormatOptions{Type: "fat32", ReservedSectors: ptr(int64(8)), Fats: ptr(1)})
	add(gib, vol.FormatOptions{Type: "fat32", ReservedSectors: ptr(int64(4))})
	add(gib, vol.FormatOptions{Type: "fat32", Align: 4 * mib})
	cs = append(cs, peerCase{vol.Target{Size: gib, Offset: 63 * 512}, vol.FormatOptions{Type: "fat32", Align: mib}})
	return cs
}

func peerRun(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MTOOLS_SKIP_CHECK=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(name), err, out)
	}
	return string(out)
}

// TestPlanFsck: fsck.fat has nothing to say but its name and the counts.
func TestPlanFsck(t *testing.T) {
	fsck := voltest.Peer(t, "fsck.fat")
	for _, c := range peerCases() {
		p, g := mustPlan(t, c.at, c.o)
		used := g.Clusters - freeClusters(g)
		out := strings.Split(strings.TrimSpace(peerRun(t, fsck, "-n", voltest.WriteImage(t, c.at.Size, p))), "\n")
		files := 0
		if p.Label != "" {
			files = 1
		}
		want := fmt.Sprintf(": %d files, %d/%d clusters", files, used, g.Clusters)
		if len(out) != 2 || !strings.HasPrefix(out[0], "fsck.fat ") || !strings.HasSuffix(out[1], want) {
			t.Errorf("%s of %s, %s: fsck.fat says\n%s\nwant ...%s", p.Type, vol.SizeText(c.at.Size), showOptions(c.o), strings.Join(out, "\n"), want)
		}
	}
}

// TestPlanMtools: mtools read the same fields, the label and the free space,
// and can put a file there and take it out again.
func TestPlanMtools(t *testing.T) {
	minfo, mdir, mcopy := voltest.Peer(t, "minfo"), voltest.Peer(t, "mdir"), voltest.Peer(t, "mcopy")
	fsck := voltest.Peer(t, "fsck.fat")
	for _, c := range peerCases() {
		p, g := mustPlan(t, c.at, c.o)
		image := voltest.WriteImage(t, c.at.Size, p)
		what := fmt.Sprintf("%s of %s, %s", p.Type, vol.SizeText(c.at.Size), showOptions(c.o))
		out := peerRun(t, minfo, "-i", image, "::")
		for _, want := range []string{
			fmt.Sprintf("sector size: %d bytes", g.SectorSize),
			fmt.Sprintf("cluster size: %d sectors", g.SectorsPerCluster),
			fmt.Sprintf("reserved (boot) sectors: %d", g.Reserved),
			fmt.Sprintf("fats: %d", g.Fats),
			fmt.Sprintf("serial number: %s", strings.ReplaceAll(p.ID, "-", "")),
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: minfo does not say %q:\n%s", what, want, out)
			}
		}
		out = peerRun(t, mdir, "-i", image, "::")
		label := "has no label"
		if p.Label != "" {
			label = "is " + p.Label
		}
		if !strings.Contains(out, label) {
			t.Errorf("%s: mdir does not show the label %q:\n%s", what, p.Label, out)
		}
		free := digits(out[strings.LastIndex(strings.TrimSpace(out), "\n"):])
		if want := int64(freeClusters(g)) * g.ClusterSize(); free != want {
			t.Errorf("%s: mdir finds %d bytes free, want %d", what, free, want)
		}
		checkMcopy(t, mcopy, fsck, image, what, min(100_000, free))
	}
}

func checkMcopy(t *testing.T, mcopy, fsck, image, what string, size int64) {
	t.Helper()
	in, out := image+".in", image+".out"
	want := bytes.Repeat([]byte("fatkit!\n"), int(size/8))
	if err := os.WriteFile(in, want, 0o600); err != nil {
		t.Fatal(err)
	}
	peerRun(t, mcopy, "-i", image, in, "::File.bin")
	peerRun(t, mcopy, "-i", image, "::File.bin", out)
	if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: what mcopy wrote does not come back: %v", what, err)
	}
	peerRun(t, fsck, "-n", image)
}

// digits is the number that s spells, whatever stands between its digits.
func digits(s string) int64 {
	n, _ := strconv.ParseInt(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s), 10, 64)
	return n
}

// TestPlanBoots starts a PC from the volume: it must say what is wrong, on
// all types, and wait.
func TestPlanBoots(t *testing.T) {
	qemu := voltest.Peer(t, "qemu-system-i386", "qemu-system-x86_64")
	for _, c := range []struct {
		kind  string
		size  int64
		drive string
	}{
		{"fat12", 1440 * kib, "if=floppy"}, {"fat16", 100 * mib, "if=ide"}, {"fat32", gib, "if=ide"},
	} {
		p, _ := mustPlan(t, vol.Target{Size: c.size}, vol.FormatOptions{Type: c.kind})
		image := voltest.WriteImage(t, c.size, p)
		if !bootSays(t, qemu, fmt.Sprintf("file=%s,format=raw,%s", image, c.drive), "This is not a bootable disk") {
			t.Fatalf("%s: the boot sector did not print its message", c.kind)
		}
	}
}

// bootSays reports whether a machine with the drive prints want, within a
// time that is long for an emulated BIOS.
func bootSays(t *testing.T, qemu, drive, want string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, qemu, "-nographic", "-nodefaults", "-m", "16", "-serial", "stdio", "-drive", drive)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen []byte
	buf := make([]byte, 4096)
	for !bytes.Contains(seen, []byte(want)) {
		n, err := pipe.Read(buf)
		seen = append(seen, buf[:n]...)
		if err != nil {
			t.Logf("the machine printed %q", seen)
			break
		}
	}
	cancel()
	_ = cmd.Wait() // it was killed
	return bytes.Contains(seen, []byte(want))
}
