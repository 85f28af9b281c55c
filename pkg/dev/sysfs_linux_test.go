package dev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
)

// fakeHost is a host with the disk sda (8:0) with partitions sda1 and sda2
// (8:1, 8:2), and the disk vda (254:0) without. Files are given by their path
// in sys, or as "mountinfo".
func fakeHost(t *testing.T, files map[string]string) host {
	t.Helper()
	root := t.TempDir()
	h := host{sys: filepath.Join(root, "sys"), proc: filepath.Join(root, "proc")}
	put := func(path, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []struct{ dir, number, partition string }{
		{"devices/pci/sda", "8:0", ""},
		{"devices/pci/sda/sda1", "8:1", "1\n"},
		{"devices/pci/sda/sda2", "8:2", "2\n"},
		{"devices/virtual/vda", "254:0", ""},
	} {
		dir := filepath.Join(h.sys, d.dir)
		put(filepath.Join(dir, "dev"), d.number+"\n")
		if d.partition != "" {
			put(filepath.Join(dir, "partition"), d.partition)
		}
		link := filepath.Join(h.sys, "dev/block", d.number)
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(dir, link)); err != nil {
			needs.Lacks(t, "%v", err)
		}
	}
	for name, content := range files {
		path := filepath.Join(h.sys, name)
		if name == "mountinfo" {
			path = filepath.Join(h.proc, "self/mountinfo")
		}
		put(path, content)
	}
	return h
}

func TestQueueOf(t *testing.T) {
	h := fakeHost(t, map[string]string{
		"devices/pci/sda/queue/read_ahead_kb":      "128\n",
		"devices/pci/sda/queue/max_sectors_kb":     "1280\n",
		"devices/pci/sda/queue/rotational":         "1\n",
		"devices/virtual/vda/queue/read_ahead_kb":  "4096\n",
		"devices/virtual/vda/queue/max_sectors_kb": "512\n",
		"devices/virtual/vda/queue/rotational":     "0\n",
	})
	for _, tt := range []struct {
		n    devNumber
		want queue
	}{
		{devNumber{8, 0}, queue{true, 128 << 10, true}},
		{devNumber{8, 2}, queue{true, 128 << 10, true}},
		{devNumber{254, 0}, queue{true, 512 << 10, false}},
		{devNumber{9, 9}, queue{}},
	} {
		if got := h.queueOf(tt.n); got != tt.want {
			t.Errorf("%v: %+v, want %+v", tt.n, got, tt.want)
		}
	}
}

func TestQueueOfOddFiles(t *testing.T) {
	for _, tt := range []struct {
		ra, io string
		want   queue
	}{
		{"0\n", "512\n", queue{known: true}}, // blockdev --setra 0
		{"-1\n", "512\n", queue{}},
		{"many\n", "512\n", queue{}},
		{"99999999999999\n", "512\n", queue{}},
		{"", "", queue{}},
	} {
		h := fakeHost(t, map[string]string{
			"devices/pci/sda/queue/read_ahead_kb":  tt.ra,
			"devices/pci/sda/queue/max_sectors_kb": tt.io,
		})
		if got := h.queueOf(devNumber{8, 1}); got != tt.want {
			t.Errorf("%q, %q: %+v, want %+v", tt.ra, tt.io, got, tt.want)
		}
	}
}

// mountLine is a line of mountinfo for the device number n.
func mountLine(n, at, source string) string {
	return fmt.Sprintf("36 35 %s / %s rw,noatime master:1 - vfat %s rw\n", n, at, source)
}

func TestCheckDevice(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		n     devNumber
		want  error
		text  string
	}{
		{"free", map[string]string{"mountinfo": mountLine("0:25", "/", "none")}, devNumber{8, 1}, nil, ""},
		{"nothing known", nil, devNumber{8, 1}, nil, ""},
		{"mounted", map[string]string{"mountinfo": mountLine("8:1", "/media/my\\040card", "/dev/sda1")},
			devNumber{8, 1}, ErrMounted, "mounted: sda1 on /media/my card"},
		{"its sibling", map[string]string{"mountinfo": mountLine("8:2", "/boot", "/dev/sda2")}, devNumber{8, 1}, nil, ""},
		{"a partition of it", map[string]string{"mountinfo": mountLine("8:2", "/boot", "/dev/sda2")},
			devNumber{8, 0}, ErrMounted, "sda2 on /boot"},
		{"its disk", map[string]string{"mountinfo": mountLine("8:0", "/mnt", "/dev/sda")},
			devNumber{8, 1}, ErrMounted, "sda on /mnt"},
		{"not in sysfs", map[string]string{"mountinfo": mountLine("9:9", "/mnt", "x")},
			devNumber{9, 9}, ErrMounted, "device 9:9 on /mnt"},
		{"the first of two", map[string]string{"mountinfo": mountLine("8:1", "/a", "x") + mountLine("8:1", "/b", "x")},
			devNumber{8, 1}, ErrMounted, "sda1 on /a"},
		{"held", map[string]string{"devices/pci/sda/sda1/holders/md0/x": ""},
			devNumber{8, 1}, ErrInUse, "sda1 is part of md0"},
		{"a partition of it held", map[string]string{"devices/pci/sda/sda2/holders/dm-0/dm/name": "luks-1\n"},
			devNumber{8, 0}, ErrInUse, "sda2 is part of dm-0 (luks-1)"},
		{"rubbish", map[string]string{"mountinfo": "\n - \nx - y\n1 2 a:b / / rw - x /nowhere rw\n"},
			devNumber{8, 1}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := fakeHost(t, tt.files).checkDevice(tt.n)
			if !errors.Is(err, tt.want) {
				t.Fatalf("%v, want %v", err, tt.want)
			}
			if err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%q, want %q", err, tt.text)
			}
		})
	}
}

func TestCheckLoops(t *testing.T) {
	image, other := imageFile(t, make([]byte, 512)), imageFile(t, make([]byte, 512))
	linked := filepath.Join(t.TempDir(), "link")
	if err := os.Link(image, linked); err != nil {
		needs.Lacks(t, "%v", err)
	}
	h := fakeHost(t, map[string]string{
		"block/loop0/loop/backing_file":  filepath.Join(t.TempDir(), "gone") + " (deleted)\n",
		"block/loop17/loop/backing_file": image + "\n",
		"block/loop3/size":               "0\n",
	})
	for path, want := range map[string]error{image: ErrInUse, linked: ErrInUse, other: nil} {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		err = h.checkLoops(fi)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "/dev/loop17") {
			t.Errorf("the loop device is not named: %v", err)
		}
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`/a\040b\134c`: `/a b\c`, `\04`: `\04`, `\999x`: `\999x`, `a\`: `a\`, "": "",
	} {
		if got := unescape(in); got != want {
			t.Errorf("unescape(%q) = %q, want %q", in, got, want)
		}
	}
}
