package dev

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// FileJournal is the undo log in the file path.
func FileJournal(path string) Journal { return fileJournal(path) }

type fileJournal string

func (j fileJournal) Name() string { return string(j) }

// Create makes the file, for its owner only: it holds what the image held.
func (j fileJournal) Create() (LogFile, error) {
	f, err := os.OpenFile(string(j), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &logFile{File: f, newborn: true}, nil
}

// Open falls back to reading only: that is enough to inspect a log.
func (j fileJournal) Open() (LogFile, error) {
	f, err := os.OpenFile(string(j), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		f, err = os.Open(string(j))
	}
	if err != nil {
		return nil, err
	}
	return &logFile{File: f}, nil
}

// Remove leaves it to the file system when the entry is gone for good: a log
// that comes back with a power cut is worth nothing by then, as its header is
// zeroed first.
func (j fileJournal) Remove() error { return os.Remove(string(j)) }

// logFile is an *os.File that knows its size, and whether its entry in the
// directory is not durable yet.
type logFile struct {
	*os.File
	newborn bool
}

// Sync makes what was written durable. With the first one that is so for the
// entry of a new log: file systems with a journal have written that with the file
// by then, so that it costs nothing.
func (f *logFile) Sync() error {
	if err := syncData(f.File); err != nil {
		return err
	}
	if f.newborn {
		if err := syncDir(filepath.Dir(f.Name())); err != nil {
			return err
		}
		f.newborn = false
	}
	return nil
}

func (f *logFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}
