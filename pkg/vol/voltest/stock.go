//go:build linux

package voltest

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
)

// Limits of a run in a stock kernel. An emulated machine is slow, and one of
// several on a busy host slower still.
const (
	stockImages = 24 // as many as its bus has room for
	stockTime   = 10 * time.Minute
	stockMemory = 512 // MiB
)

// stockCommand is what the kernel is told. The machine may stand still for as
// long as the host likes: that is no reason to complain or to give up.
const stockCommand = "console=ttyS0 quiet panic=-1 no_timer_check nowatchdog rcupdate.rcu_cpu_stall_suppress=1" +
	" nokaslr mitigations=off cryptomgr.notests"

// stockEnd stands before the exit status of the script, behind its output.
const stockEnd = "\nfatkit: the script ended with "

// stockInit is what the kernel runs first. The first serial port is the
// console; what the script prints goes to the second, as it is.
const stockInit = `#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/ LC_ALL=C.UTF-8 TZ=UTC
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs mnt /mnt
for m in %s; do insmod /modules/$m; done
stty -F /dev/ttyS1 raw
cd /mnt
{ sh /script %s; printf '%s%%d\n' $?; } >/dev/ttyS1 2>&1
sync
poweroff -f
`

// StockKernel is one of Debian's stock kernels, which have what the one of
// Kernel lacks: exFAT. The script .ci/kernel fetches them and says which, and
// why there may be more than one.
type StockKernel struct {
	dir     string // of its vmlinuz and modules
	release string
}

// StockKernels are the kernels that were fetched, the oldest first. Without
// them, or without what it takes to boot one, the test ends as Peer says.
func StockKernels(t testing.TB) []StockKernel {
	t.Helper()
	Peer(t, "qemu-system-x86_64")
	staticBusybox(t)
	cache, err := kernelCache()
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(cache, "kernels"))
	var ks []StockKernel
	for release := range strings.FieldsSeq(string(list)) {
		ks = append(ks, StockKernel{filepath.Join(cache, release), release})
	}
	if len(ks) == 0 {
		needs.Lacks(t, "no stock kernel, as .ci/kernel fetches them, is in %s: %v", cache, err)
	}
	return ks
}

// kernelCache is the directory of the script .ci/kernel.
func kernelCache() (string, error) {
	if dir := os.Getenv("FATKIT_KERNEL_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "fatkit-kernel"), err
}

// Release is what uname -r says in it.
func (k StockKernel) Release() string { return k.release }

// AtLeast tells whether it is Linux major.minor or later.
func (k StockKernel) AtLeast(major, minor int) bool {
	var is [2]int
	if _, err := fmt.Sscanf(k.release, "%d.%d", &is[0], &is[1]); err != nil {
		return false
	}
	return slices.Compare(is[:], []int{major, minor}) >= 0
}

// Run is Kernel in a stock kernel: it runs a shell script that is given the
// images as block devices, and returns what it printed. It differs in what the
// script may use: the machine is emulated, and there is nothing on it but
// Busybox. It takes some 10 to 40 s to boot, so let it have many images at
// once.
func (k StockKernel) Run(t testing.TB, script string, images ...string) string {
	t.Helper()
	if len(images) > stockImages {
		t.Fatalf("%d images, but a stock kernel takes %d", len(images), stockImages)
	}
	out, err := k.boot(t, script, images)
	if err != nil {
		t.Fatalf("Linux %s: %v", k.release, err)
	}
	return out
}

// boot starts the machine and waits for it to end.
func (k StockKernel) boot(t testing.TB, script string, images []string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	initramfs, err := k.initramfs(staticBusybox(t), script, len(images))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "initramfs"), initramfs, 0o644); err != nil {
		return "", err
	}
	args := []string{"-accel", "tcg", "-smp", "1", "-m", fmt.Sprint(stockMemory), "-no-reboot",
		"-display", "none", "-vga", "none", "-nic", "none", "-monitor", "none", "-serial", "stdio", "-serial", "file:out",
		"-kernel", filepath.Join(k.dir, "vmlinuz"), "-initrd", "initramfs", "-append", stockCommand}
	for _, image := range images {
		path, err := filepath.Abs(image)
		if err != nil {
			return "", err
		}
		path = strings.ReplaceAll(path, ",", ",,") // a single one ends the value
		args = append(args, "-drive", "if=virtio,format=raw,cache=unsafe,file="+path)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stockTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, Peer(t, "qemu-system-x86_64"), args...)
	cmd.Dir = dir
	console, err := cmd.CombinedOutput()
	out, _ := os.ReadFile(filepath.Join(dir, "out"))
	return scriptEnded(string(out), string(console), cmp.Or(ctx.Err(), err, errOff))
}

// errOff is how a machine ends that is told to.
var errOff = errors.New("the machine was turned off")

// scriptEnded tells what the script printed from how it ended. How the machine
// did is of interest only if the script did not.
func scriptEnded(out, console string, ended error) (string, error) {
	at := strings.LastIndex(out, stockEnd)
	if at < 0 {
		return "", fmt.Errorf("the script did not come to its end: %w\n%s\nthe console:\n%s", ended, out, console)
	}
	out, status := out[:at], strings.TrimSpace(out[at+len(stockEnd):])
	if status != "0" {
		return "", fmt.Errorf("the script ended with %s:\n%s\nthe console:\n%s", status, out, console)
	}
	return out, nil
}

// initramfs is the root that the kernel starts with.
func (k StockKernel) initramfs(busybox, script string, images int) ([]byte, error) {
	tree, err := readModules(filepath.Join(k.dir, "modules"))
	if err != nil {
		return nil, err
	}
	paths, err := tree.closure(stockModules(tree))
	if err != nil {
		return nil, err
	}
	var a archive
	for _, dir := range []string{"bin", "dev", "proc", "sys", "tmp", "mnt", "modules"} {
		a.dir(dir)
	}
	var modules []string
	for _, path := range paths {
		modules = append(modules, filepath.Base(path))
		if err := a.copy("modules/"+filepath.Base(path), filepath.Join(k.dir, "modules", path)); err != nil {
			return nil, err
		}
	}
	if err := a.copy("bin/busybox", busybox); err != nil {
		return nil, err
	}
	devices := ""
	for i := range images {
		devices += fmt.Sprintf(" /dev/vd%c", 'a'+i)
	}
	a.file("script", []byte(script))
	a.file("init", fmt.Appendf(nil, stockInit, strings.Join(modules, " "), devices, strings.ReplaceAll(stockEnd, "\n", `\n`)))
	return a.end(), nil
}

// stockModules are the drivers that a run needs.
func stockModules(tree *modules) []string {
	names := []string{"virtio_pci", "virtio_blk", "nls_cp437", "nls_ascii", "nls_iso8859_1", "nls_utf8", "vfat", "exfat"}
	// F2FS and encryption ask for these by what they do, which modules.dep does
	// not tell. In some kernels they are not on their own.
	for _, name := range []string{"crc32_generic", "xts", "cts", "ecb", "sha512_generic"} {
		if tree.has(name) {
			names = append(names, name)
		}
	}
	return append(names, "f2fs")
}

// staticBusybox is the path of a Busybox that needs no libraries.
func staticBusybox(t testing.TB) string {
	t.Helper()
	path := Peer(t, "busybox")
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			needs.Lacks(t, "%s is not the one of busybox-static", path)
		}
	}
	return path
}
