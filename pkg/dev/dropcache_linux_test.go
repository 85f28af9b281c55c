package dev

import "golang.org/x/sys/unix"

// dropCache has the system forget what it holds of f, so that a benchmark
// reads from the disk.
func dropCache(f *File) {
	_ = control(f.f, func(fd int) error { return unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) })
}
