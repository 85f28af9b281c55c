package dev

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"unicode/utf8"
)

// The undo log, byte by byte. Numbers are little-endian, offsets and lengths
// bytes, every checksum CRC-32C (Castagnoli).
//
//	   0  header, one sector of 512 bytes, written last: all zeros until then
//	        0   8  magic "FATKITUN"
//	        8   4  version, 2
//	       12   4  length of the label, at most 256
//	       16   8  size of the image
//	       24   8  number of records
//	       32   8  length of the log, from its byte 0 to the end of the records
//	       40   4  checksum of the first 28 bytes of all record headers in order
//	               (with its own checksum every header would add the same)
//	       44   4  zero
//	       48  32  identity: SHA-256 of the first 64 KiB of the image (or all
//	               of a smaller one) as it reads with the log applied
//	       80 256  label, UTF-8, padded with zeros: who wrote it
//	      336 172  zero
//	      508   4  checksum of the 508 bytes before
//	 512  mark, one sector of 512 bytes: all zeros until the commit is finished
//	        0   8  magic "FATKITOK"
//	        8   4  checksum of the header it belongs to
//	       12   4  checksum of the 12 bytes before
//	       16 496  zero
//	1024  zeros
//	4096  records, one after the other: those of kind 1 and 2 by ascending
//	      offset, then those of kind 3 likewise; no two overlap
//	        0   8  offset in the image
//	        8   8  length
//	       16   4  kind: 1 data, the payload follows; 2 zeros, no payload;
//	               3 guard, which restores nothing, neither payload nor
//	               checksums: what is there stays, and what the log restores
//	               counts on it
//	       20   4  checksum of the payload; 0 for zeros; of a guard that of what
//	               is there
//	       24   4  checksum of the checksums that follow the payload
//	       28   4  checksum of the 28 bytes before
//	       32   length bytes of payload, at most 1 MiB: the old contents
//	         4  for each 512 bytes of the range, the last of which may be fewer:
//	            checksum of what the commit writes there; a range of zeros, and
//	            of a guard, is of 64 MiB at most
//
// Life of a log: records are written and synced while the header is zeros
// (incomplete: the image is untouched); the header is written and synced
// (armed: the image may hold old and new sectors); the image is written
// and synced; then the mark is written and synced (finished, kept), or the
// header is zeroed and synced and the log removed. Header and mark are a
// sector each because a power cut leaves a sector either old or new, and the
// header is not touched again while it is needed. Zeroing it before the
// removal makes sure that a log whose removal is lost with the power can not
// come back and undo what has been finished.
const (
	undoMagic    = "FATKITUN"
	undoMark     = "FATKITOK"
	undoVersion  = 2
	undoSector   = 512
	undoRecords  = 4096
	undoRecHead  = 32
	undoPayload  = 1 << 20  // most bytes of a data record
	undoZeros    = 64 << 20 // of one of zeros, and of a guard
	undoLabel    = 256
	undoIdentity = 64 << 10
)

// What may be wrong with an undo log, and what may become of a commit.
var (
	// ErrUndoExists: a commit found a log already there. Nothing was written.
	ErrUndoExists = errors.New("an undo log is there already")
	// ErrUndoDamaged: the log fails its own checksums.
	ErrUndoDamaged = errors.New("the undo log is damaged")
	// ErrUndoForeign: the log belongs to another image.
	ErrUndoForeign = errors.New("the undo log does not belong to this image")
	// ErrUndoStale: the image was changed by something else after the run that
	// the log undoes, whether that was finished or interrupted: where the run had
	// written, or where it counts on what is there, see CommitOptions.Guard.
	ErrUndoStale = errors.New("the image was changed since the undo log was written")
	// ErrUndoUnread: a part of the image cannot be read, so it cannot be told
	// whether the log may be applied. ForceUndo can.
	ErrUndoUnread = errors.New("the image cannot be held against its undo log")
	// ErrUndoLeft: a commit or an undo is done and durable, but its log, which
	// can undo nothing any more, could not be removed.
	ErrUndoLeft = errors.New("done, but the undo log could not be removed")
	// ErrNotRestored: a commit failed, and taking it back failed as well; the
	// image may be neither as before nor as after, and the log is still there.
	ErrNotRestored = errors.New("the image could not be restored; its undo log is kept")
)

// Journal is the place of one undo log.
type Journal interface {
	// Create makes the log, empty; fs.ErrExist if it is there. That it exists
	// is durable with the first Sync of it.
	Create() (LogFile, error)
	// Open opens the log for reading and writing; fs.ErrNotExist if there is none.
	Open() (LogFile, error)
	// Remove removes the log; it is not open. It may come back with a power cut.
	Remove() error
	// Name is how messages call it.
	Name() string
}

// LogFile is an undo log that is open. WriteAt grows it.
type LogFile interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	Size() (int64, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// UndoState is what an undo log is good for.
type UndoState int

const (
	// UndoNone: there is no log.
	UndoNone UndoState = iota
	// UndoIncomplete: the log was not finished, so the image was not touched,
	// or the log had done its work; either way it can be removed.
	UndoIncomplete
	// UndoArmed: a commit or an undo was interrupted; applying the log
	// restores the image.
	UndoArmed
	// UndoFinished: the log of a finished commit that was asked to keep it.
	UndoFinished
	// UndoDamaged, UndoForeign and UndoStale: refused, see ErrUndoDamaged,
	// ErrUndoForeign and ErrUndoStale.
	UndoDamaged
	UndoForeign
	UndoStale
)

func (s UndoState) String() string {
	names := [...]string{"none", "incomplete", "armed", "finished", "damaged", "foreign", "stale"}
	if s < 0 || int(s) >= len(names) {
		return "unknown"
	}
	return names[s]
}

// Err is the sentinel for which a log in this state is refused; nil if it is not.
func (s UndoState) Err() error {
	switch s {
	case UndoDamaged:
		return ErrUndoDamaged
	case UndoForeign:
		return ErrUndoForeign
	case UndoStale:
		return ErrUndoStale
	}
	return nil
}

// UndoInfo is what is known of a log. Label, Blocks and Bytes are the log's
// own words: of a damaged one they may be missing.
type UndoInfo struct {
	State  UndoState
	Cut    bool   // the run was interrupted, also where the log is stale
	Label  string // who wrote it
	Blocks int    // records of what it restores
	Bytes  int64  // bytes of the image that it restores
	Unread int64  // of these, bytes that cannot be read: all with ForceUndo, else some
}

// undoHeader is the header of a log in memory.
type undoHeader struct {
	imageSize int64
	records   int64
	length    int64
	sum       uint32 // of the record headers, see addRecord
	identity  [sha256.Size]byte
	label     string
}

// undoRecord is the header of a record in memory.
type undoRecord struct {
	Range
	zero  bool
	guard bool
	old   uint32 // checksum of what was there
	sums  uint32 // checksum of those of what is going to be there
}

// crc continues the checksum sum with p.
func crc(sum uint32, p []byte) uint32 {
	return crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), p)
}

func (h *undoHeader) encode() []byte {
	b := make([]byte, undoSector)
	label := cutLabel(h.label)
	copy(b, undoMagic)
	binary.LittleEndian.PutUint32(b[8:], undoVersion)
	binary.LittleEndian.PutUint32(b[12:], uint32(len(label)))
	binary.LittleEndian.PutUint64(b[16:], uint64(h.imageSize))
	binary.LittleEndian.PutUint64(b[24:], uint64(h.records))
	binary.LittleEndian.PutUint64(b[32:], uint64(h.length))
	binary.LittleEndian.PutUint32(b[40:], h.sum)
	copy(b[48:80], h.identity[:])
	copy(b[80:], label)
	binary.LittleEndian.PutUint32(b[508:], crc(0, b[:508]))
	return b
}

// addRecord continues sum, that of all record headers, with one of them.
func addRecord(sum uint32, head []byte) uint32 { return crc(sum, head[:28]) }

// cutLabel is label as valid UTF-8 of at most undoLabel bytes.
func cutLabel(label string) string {
	label = strings.ToValidUTF8(label, "?")
	if len(label) <= undoLabel {
		return label
	}
	n := undoLabel
	for !utf8.RuneStart(label[n]) {
		n--
	}
	return label[:n]
}

// decodeHeader is false unless b is a sector that encode made, with numbers
// that fit each other and a log of size bytes.
func decodeHeader(b []byte, size int64) (h undoHeader, ok bool) {
	if len(b) < undoSector || string(b[:8]) != undoMagic ||
		binary.LittleEndian.Uint32(b[508:]) != crc(0, b[:508]) ||
		binary.LittleEndian.Uint32(b[8:]) != undoVersion {
		return h, false
	}
	label := binary.LittleEndian.Uint32(b[12:])
	h.imageSize = int64(binary.LittleEndian.Uint64(b[16:]))
	h.records = int64(binary.LittleEndian.Uint64(b[24:]))
	h.length = int64(binary.LittleEndian.Uint64(b[32:]))
	h.sum = binary.LittleEndian.Uint32(b[40:])
	copy(h.identity[:], b[48:80])
	ok = label <= undoLabel && h.imageSize >= 0 &&
		h.length >= undoRecords && h.length <= size &&
		h.records >= 0 && h.records <= (h.length-undoRecords)/undoRecHead
	if ok {
		h.label = strings.ToValidUTF8(string(b[80:80+label]), "?")
	}
	return h, ok
}

// encodeMark is the mark that says that the commit of header is finished.
func encodeMark(header []byte) []byte {
	b := make([]byte, undoSector)
	copy(b, undoMark)
	copy(b[8:12], header[508:512])
	binary.LittleEndian.PutUint32(b[12:], crc(0, b[:12]))
	return b
}

// encode writes r to b, undoRecHead bytes.
func (r undoRecord) encode(b []byte) {
	binary.LittleEndian.PutUint64(b[0:], uint64(r.Off))
	binary.LittleEndian.PutUint64(b[8:], uint64(r.Len))
	kind := uint32(1)
	switch {
	case r.zero:
		kind = 2
	case r.guard:
		kind = 3
	}
	binary.LittleEndian.PutUint32(b[16:], kind)
	binary.LittleEndian.PutUint32(b[20:], r.old)
	binary.LittleEndian.PutUint32(b[24:], r.sums)
	binary.LittleEndian.PutUint32(b[28:], crc(0, b[:28]))
}

// decodeRecord is false unless b is a record that encode made.
func decodeRecord(b []byte) (r undoRecord, ok bool) {
	r.Off = int64(binary.LittleEndian.Uint64(b[0:]))
	r.Len = int64(binary.LittleEndian.Uint64(b[8:]))
	kind := binary.LittleEndian.Uint32(b[16:])
	r.zero, r.guard = kind == 2, kind == 3
	r.old = binary.LittleEndian.Uint32(b[20:])
	r.sums = binary.LittleEndian.Uint32(b[24:])
	ok = binary.LittleEndian.Uint32(b[28:]) == crc(0, b[:28]) &&
		((r.zero || r.guard) && r.Len <= undoZeros || kind == 1 && r.Len <= undoPayload) &&
		r.Off >= 0 && r.Len > 0
	return r, ok
}

// payload is how many bytes of old contents follow the header of r, and
// sumBytes how many of checksums follow those.
func (r undoRecord) payload() int64 {
	if r.zero || r.guard {
		return 0
	}
	return r.Len
}

// most is how long r may become.
func (r undoRecord) most() int64 {
	if r.zero || r.guard {
		return undoZeros
	}
	return undoPayload
}

func (r undoRecord) sumBytes() int64 {
	if r.guard {
		return 0
	}
	return (r.Len + undoSector - 1) / undoSector * 4
}

// sumSectors appends the checksums of the sectors of b.
func sumSectors(sums, b []byte) []byte {
	for len(b) > 0 {
		n := min(len(b), undoSector)
		sums = binary.LittleEndian.AppendUint32(sums, crc(0, b[:n]))
		b = b[n:]
	}
	return sums
}
