// Package devtest tests what writes to devices: it records operations
// ([Trace]), makes them fail ([Fault]), and cuts the power at every one of
// them ([World], [Matrix]).
package devtest

import (
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Kind is what an operation does, on the image or on its undo log.
type Kind int

const (
	Read Kind = iota
	Write
	Zero
	Discard
	Sync
	LogCreate
	LogOpen
	LogRead
	LogWrite
	LogTruncate
	LogSync
	LogRemove
	kinds // how many there are
)

func (k Kind) String() string {
	names := [...]string{"read", "write", "zero", "discard", "sync", "create log", "open log",
		"read log", "write log", "truncate log", "sync log", "remove log"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("kind %d", int(k))
	}
	return names[k]
}

// Op is one operation. The range is of the image or of the log; of a
// LogTruncate its end is the new size; others have none.
type Op struct {
	Kind
	dev.Range
}

func (o Op) String() string {
	if o.Len == 0 && o.Off == 0 {
		return o.Kind.String()
	}
	return o.Kind.String() + " " + o.Range.String()
}

// hook sees every operation before it is carried out; an error is returned in
// its stead.
type hook func(Op) error

// hooked is a Device all of whose operations go by a hook.
type hooked struct {
	dev.Device
	hook hook
}

func (h hooked) ReadAt(p []byte, off int64) (int, error) {
	if err := h.hook(Op{Read, dev.Range{Off: off, Len: int64(len(p))}}); err != nil {
		return 0, err
	}
	return h.Device.ReadAt(p, off)
}

func (h hooked) WriteAt(p []byte, off int64) (int, error) {
	if err := h.hook(Op{Write, dev.Range{Off: off, Len: int64(len(p))}}); err != nil {
		return 0, err
	}
	return h.Device.WriteAt(p, off)
}

func (h hooked) Zero(r dev.Range) error {
	if err := h.hook(Op{Zero, r}); err != nil {
		return err
	}
	return h.Device.Zero(r)
}

func (h hooked) Discard(r dev.Range) error {
	if err := h.hook(Op{Discard, r}); err != nil {
		return err
	}
	return h.Device.Discard(r)
}

func (h hooked) Sync() error {
	if err := h.hook(Op{Kind: Sync}); err != nil {
		return err
	}
	return h.Device.Sync()
}

// hookedJournal is a Journal all of whose operations, and those of its log, go
// by a hook.
type hookedJournal struct {
	dev.Journal
	hook hook
}

func (h hookedJournal) Create() (dev.LogFile, error) { return h.open(LogCreate, h.Journal.Create) }
func (h hookedJournal) Open() (dev.LogFile, error)   { return h.open(LogOpen, h.Journal.Open) }

func (h hookedJournal) open(k Kind, do func() (dev.LogFile, error)) (dev.LogFile, error) {
	if err := h.hook(Op{Kind: k}); err != nil {
		return nil, err
	}
	lf, err := do()
	if err != nil {
		return nil, err
	}
	return hookedLog{lf, h.hook}, nil
}

func (h hookedJournal) Remove() error {
	if err := h.hook(Op{Kind: LogRemove}); err != nil {
		return err
	}
	return h.Journal.Remove()
}

type hookedLog struct {
	dev.LogFile
	hook hook
}

func (h hookedLog) ReadAt(p []byte, off int64) (int, error) {
	if err := h.hook(Op{LogRead, dev.Range{Off: off, Len: int64(len(p))}}); err != nil {
		return 0, err
	}
	return h.LogFile.ReadAt(p, off)
}

func (h hookedLog) WriteAt(p []byte, off int64) (int, error) {
	if err := h.hook(Op{LogWrite, dev.Range{Off: off, Len: int64(len(p))}}); err != nil {
		return 0, err
	}
	return h.LogFile.WriteAt(p, off)
}

func (h hookedLog) Truncate(size int64) error {
	if err := h.hook(Op{LogTruncate, dev.Range{Off: size}}); err != nil {
		return err
	}
	return h.LogFile.Truncate(size)
}

func (h hookedLog) Sync() error {
	if err := h.hook(Op{Kind: LogSync}); err != nil {
		return err
	}
	return h.LogFile.Sync()
}
