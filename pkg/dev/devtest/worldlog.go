package devtest

import (
	"io"
	"io/fs"

	"github.com/fatkit/fatkit/pkg/dev"
)

// worldLog is the log of a World, open.
type worldLog struct{ w *World }

func (l *worldLog) Close() error { return nil }
func (l *worldLog) Sync() error  { return l.w.do(Op{Kind: LogSync}, nil) }

func (l *worldLog) WriteAt(p []byte, off int64) (int, error) {
	if err := l.w.do(Op{LogWrite, dev.Range{Off: off, Len: int64(len(p))}}, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (l *worldLog) Truncate(size int64) error {
	return l.w.do(Op{LogTruncate, dev.Range{Off: size}}, nil)
}

func (l *worldLog) Size() (int64, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	switch {
	case l.w.off:
		return 0, ErrPowerCut
	case l.w.live.log == nil:
		return 0, fs.ErrNotExist
	}
	return l.w.live.log.size, nil
}

// ReadAt reads as io.ReaderAt does: io.EOF with what there is before the end.
func (l *worldLog) ReadAt(p []byte, off int64) (int, error) {
	size, err := l.Size()
	if err != nil {
		return 0, err
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	n := int(min(int64(len(p)), max(size-off, 0)))
	if err := l.w.live.log.readAt(p[:n], off); err != nil {
		return 0, err
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
