//go:build !(linux || darwin || freebsd)

package dev

import "os"

// freeBytes does not know: the system says so when it is full.
func freeBytes(*os.File) (int64, bool) { return 0, false }
