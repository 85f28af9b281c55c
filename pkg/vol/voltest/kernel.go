//go:build linux

package voltest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Limits of a run in a kernel: it has no names for more images, and one that
// takes longer hangs.
const (
	kernelImages = 16
	kernelTime   = 5 * time.Minute
	kernelMemory = 384 // MiB
)

// kernelInit is what the kernel runs first: it makes a place for mounts, loads
// the file systems, runs the script, and turns the machine off. The host's
// files are its root, read-only; only the directory of the run can be written.
const kernelInit = `#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 TZ=UTC
mount -t proc proc /proc
mount -t sysfs sys /sys
[ -b /dev/ubda ] || mount -t devtmpfs dev /dev
mount -t tmpfs tmp /mnt
mkdir /mnt/run
mount -t hostfs -o "%s" run /mnt/run
for m in fat vfat nls_cp437 nls_ascii nls_iso8859-1 nls_utf8; do
	for ko in /usr/lib/uml/modules/$(uname -r)/kernel/fs/*/$m.ko*; do
		[ ! -e "$ko" ] || insmod "$ko"
	done
done
cd /mnt
sh /mnt/run/script %s >/mnt/run/out 2>&1
echo $? >/mnt/run/status
sync
echo o >/proc/sysrq-trigger
sleep 5
halt -f
`

// Kernel runs a shell script in a real Linux kernel that has the images as
// block devices, and returns what it printed. The devices are the script's
// arguments, in the order of the images; it is root, starts in an empty
// directory in which it can make mount points, and must unmount what it
// mounted. Images are written if the script writes to them.
//
// The kernel is Linux built to run as a process, from Debian's package
// user-mode-linux; insmod is in kmod. It needs no root: any user can run it, and
// inside it sees the host's files, read-only, so the script may use whatever is
// installed. Processes are slow in it, some 30 ms each. Where it is missing,
// Peer says what becomes of the test.
func Kernel(t testing.TB, script string, images ...string) string {
	t.Helper()
	linux := Peer(t, "linux.uml")
	Peer(t, "insmod")
	if len(images) > kernelImages {
		t.Fatalf("%d images, but a kernel takes %d", len(images), kernelImages)
	}
	dir := kernelDir(t)
	args := []string{fmt.Sprintf("mem=%dM", kernelMemory), "rootfstype=hostfs", "rootflags=/", "ro", "quiet",
		"con=null", "con0=fd:0,fd:1", "uml_dir=" + dir, "init=" + filepath.Join(dir, "init")}
	devices := ""
	for i, image := range images {
		path, err := filepath.Abs(image)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, fmt.Sprintf("ubd%d=%s", i, path))
		devices += fmt.Sprintf(" /dev/ubd%c", 'a'+i)
	}
	write(t, filepath.Join(dir, "script"), script)
	write(t, filepath.Join(dir, "init"), fmt.Sprintf(kernelInit, dir, devices))

	ctx, cancel := context.WithTimeout(context.Background(), kernelTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, linux, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+kernelRAM(dir))
	console, err := cmd.CombinedOutput() // how it ends says nothing
	out, _ := os.ReadFile(filepath.Join(dir, "out"))
	status, serr := os.ReadFile(filepath.Join(dir, "status"))
	switch rc := strings.TrimSpace(string(status)); {
	case serr != nil:
		t.Fatalf("the kernel did not run the script to its end: %v\n%s\nits console:\n%s", err, out, console)
	case rc != "0":
		t.Fatalf("the script in the kernel ended with %s:\n%s", rc, out)
	}
	return string(out)
}

// kernelDir is a directory for a run that the kernel can see: it has a /dev of
// its own. Its name is short, as those of the sockets in it must be.
func kernelDir(t testing.TB) string {
	t.Helper()
	parent := ""
	if strings.HasPrefix(os.TempDir(), "/dev/") {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "uml")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// kernelRAM is the directory of the file that is the kernel's memory: in the
// host's memory if there is room, which a container may lack.
func kernelRAM(dir string) string {
	const shm = "/dev/shm"
	var fs syscall.Statfs_t
	if err := syscall.Statfs(shm, &fs); err == nil && fs.Bavail*uint64(fs.Bsize) > 2*kernelMemory<<20 {
		return shm
	}
	return dir
}

// write makes a file that can be run.
func write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}
