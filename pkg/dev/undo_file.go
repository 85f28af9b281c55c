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
	if err := syncDir(filepath.Dir(string(j))); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(string(j)))
	}
	return logFile{f}, nil
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
	return logFile{f}, nil
}

func (j fileJournal) Remove() error {
	if err := os.Remove(string(j)); err != nil {
		return err
	}
	return syncDir(filepath.Dir(string(j)))
}

// logFile is an *os.File that knows its size.
type logFile struct{ *os.File }

func (f logFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}
