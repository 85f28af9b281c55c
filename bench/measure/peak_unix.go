//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peak is the most memory, in KiB, that a process had resident.
func peak(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" { // which counts bytes
		return int64(usage.Maxrss) / 1024
	}
	return int64(usage.Maxrss)
}
