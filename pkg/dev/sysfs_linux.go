package dev

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// host is where the kernel tells of devices and mounts: /sys and /proc, or
// what a test puts in their place.
type host struct{ sys, proc string }

// devNumber is the number of a block device.
type devNumber struct{ major, minor uint32 }

func (n devNumber) String() string { return fmt.Sprintf("%d:%d", n.major, n.minor) }

// blockDev is a block device as sysfs shows it.
type blockDev struct {
	name   string // sdb1
	number devNumber
	dir    string // its directory in sysfs
}

// queue is what the request queue of a disk is like.
type queue struct {
	known      bool
	window     int64 // bytes; 0: the administrator has turned readahead off
	rotational bool
}

// queueOf reads the queue of the disk that n is, or is a partition of. The
// window is the smaller of read_ahead_kb and max_sectors_kb, min(ra_pages,
// io_pages) in the kernel's words: more than the second would be cut up, and
// the first is where `blockdev --setra` is heard.
func (h host) queueOf(n devNumber) queue {
	d, ok := h.device(n)
	if !ok {
		return queue{}
	}
	if disk, ok := h.diskOf(d); ok {
		d = disk
	}
	ra, ok1 := readInt(filepath.Join(d.dir, "queue", "read_ahead_kb"))
	io, ok2 := readInt(filepath.Join(d.dir, "queue", "max_sectors_kb"))
	rot, _ := readInt(filepath.Join(d.dir, "queue", "rotational"))
	q := queue{known: ok1 && ok2, rotational: rot == 1}
	if q.known {
		q.window = min(ra, io) << 10
	}
	return q
}

// device finds n in sysfs.
func (h host) device(n devNumber) (blockDev, bool) {
	dir, err := filepath.EvalSymlinks(filepath.Join(h.sys, "dev", "block", n.String()))
	if err != nil {
		return blockDev{}, false
	}
	return blockDev{name: filepath.Base(dir), number: n, dir: dir}, true
}

// diskOf is the disk that d is a partition of, if it is one.
func (h host) diskOf(d blockDev) (blockDev, bool) {
	if !exists(filepath.Join(d.dir, "partition")) {
		return blockDev{}, false
	}
	return deviceIn(filepath.Dir(d.dir))
}

// partitionsOf are the partitions of d, if it is a disk.
func (h host) partitionsOf(d blockDev) []blockDev {
	files, err := filepath.Glob(filepath.Join(d.dir, "*", "partition"))
	if err != nil {
		return nil
	}
	var out []blockDev
	for _, f := range files {
		if p, ok := deviceIn(filepath.Dir(f)); ok {
			out = append(out, p)
		}
	}
	return out
}

// deviceIn is the device that has the sysfs directory dir.
func deviceIn(dir string) (blockDev, bool) {
	b, err := os.ReadFile(filepath.Join(dir, "dev"))
	if err != nil {
		return blockDev{}, false
	}
	n, ok := parseNumber(strings.TrimSpace(string(b)))
	return blockDev{name: filepath.Base(dir), number: n, dir: dir}, ok
}

// checkDevice returns ErrMounted or ErrInUse if the device n, a partition of
// it or the disk it is a partition of is mounted or held.
func (h host) checkDevice(n devNumber) error {
	devs := []blockDev{{name: "device " + n.String(), number: n}}
	if d, ok := h.device(n); ok {
		devs[0] = d
		devs = append(devs, h.partitionsOf(d)...)
		if disk, ok := h.diskOf(d); ok {
			devs = append(devs, disk)
		}
	}
	mounts := h.mounts()
	for _, d := range devs {
		if at, ok := mounts[d.number]; ok {
			return fmt.Errorf("%w: %s on %s", ErrMounted, d.name, at)
		}
	}
	for _, d := range devs {
		if by, ok := holder(d); ok {
			return fmt.Errorf("%w: %s is part of %s", ErrInUse, d.name, by)
		}
	}
	return nil
}

// holder names a device that is built on d: of LVM, RAID, encryption.
func holder(d blockDev) (string, bool) {
	if d.dir == "" {
		return "", false
	}
	dir := filepath.Join(d.dir, "holders")
	es, err := os.ReadDir(dir)
	if err != nil || len(es) == 0 {
		return "", false
	}
	name := es[0].Name()
	if b, err := os.ReadFile(filepath.Join(dir, name, "dm", "name")); err == nil {
		return fmt.Sprintf("%s (%s)", name, strings.TrimSpace(string(b))), true
	}
	return name, true
}

// mounts says where each device is mounted, for the first place of each.
func (h host) mounts() map[devNumber]string {
	out := map[devNumber]string{}
	f, err := os.Open(filepath.Join(h.proc, "self", "mountinfo"))
	if err != nil {
		return out
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		for _, n := range h.mountedBy(sc.Text()) {
			at := unescape(strings.Fields(sc.Text())[4])
			if _, ok := out[n]; !ok {
				out[n] = at
			}
		}
	}
	return out
}

// mountedBy are the devices that a line of mountinfo is about: the number in
// it, and that of its source. File systems of several devices (btrfs) have a
// number in the first place that is no device's.
func (h host) mountedBy(line string) []devNumber {
	left, right, ok := strings.Cut(line, " - ")
	fields, tail := strings.Fields(left), strings.Fields(right)
	if !ok || len(fields) < 6 {
		return nil
	}
	var out []devNumber
	if n, ok := parseNumber(fields[2]); ok {
		out = append(out, n)
	}
	if len(tail) < 2 || !strings.HasPrefix(tail[1], "/") {
		return out
	}
	fi, err := os.Stat(unescape(tail[1]))
	if err != nil || fi.Mode()&fs.ModeDevice == 0 {
		return out
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		out = append(out, numberOf(uint64(st.Rdev)))
	}
	return out
}

// checkLoops returns ErrInUse if the file fi is the image behind a loop device.
func (h host) checkLoops(fi fs.FileInfo) error {
	files, err := filepath.Glob(filepath.Join(h.sys, "block", "loop*", "loop", "backing_file"))
	if err != nil {
		return nil
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		back, err := os.Stat(strings.TrimSuffix(string(b), "\n"))
		if err == nil && os.SameFile(fi, back) {
			loop := filepath.Base(filepath.Dir(filepath.Dir(f)))
			return fmt.Errorf("%w: it is the image behind /dev/%s", ErrInUse, loop)
		}
	}
	return nil
}

// unescape undoes what mountinfo does to blanks and the like: \040.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// parseNumber reads "8:17".
func parseNumber(s string) (devNumber, bool) {
	a, b, ok := strings.Cut(s, ":")
	major, err1 := strconv.ParseUint(a, 10, 32)
	minor, err2 := strconv.ParseUint(b, 10, 32)
	return devNumber{uint32(major), uint32(minor)}, ok && err1 == nil && err2 == nil
}

// readInt reads a file that holds one number, 0 to 2^40.
func readInt(path string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil && n >= 0 && n <= 1<<40
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
