//go:build !linux

package dev

import "os"

// syncData makes what is in a file durable.
func syncData(f *os.File) error { return f.Sync() }
