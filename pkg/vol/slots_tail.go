package vol

import (
	"errors"

	"github.com/fatkit/fatkit/pkg/dev"
)

// tailView is what lies behind the end mark of a directory on its volume, as
// far as it was looked at.
type tailView struct {
	d    dev.Device
	at   []dev.Range // of the directory
	end  int         // slots before the end mark
	seen int         // slots before this one are of the directory, or not in use
}

// ErrBehindEnd says that a directory would grow over entries that are in use.
var ErrBehindEnd = errors.New("entries behind its end would be lost")

// Growing looks at what lies on the volume where a directory that has got an
// entry of n slots from first on is to be stored, its new end mark and the rest
// of that block included. [FAT] "Directory Structure" and [exFAT] §6.2.1.1 say
// that nothing in use can be there; where an end mark was written by damage
// there is, and the check brings it back. It is ErrBehindEnd then. used tells
// whether a slot is in use. Every slot is read once, in pieces.
func (s *Slots) Growing(first, n int, used func(slot []byte) bool) error {
	if first+n <= s.old.end {
		return nil
	}
	to := (int64(first+n+1)*SlotLen + slotBlock - 1) / slotBlock * slotBlock
	for int64(s.old.seen)*SlotLen < to {
		b, err := s.old.read()
		if err != nil {
			return err
		}
		if len(b) == 0 {
			return nil // what follows is in clusters that the directory gets now
		}
		for ; len(b) > 0 && int64(s.old.seen)*SlotLen < to; b = b[SlotLen:] {
			if used(b[:SlotLen]) {
				return ErrBehindEnd
			}
			s.old.seen++
		}
		for ; len(b) > 0 && !used(b[:SlotLen]); b = b[SlotLen:] {
			s.old.seen++
		}
	}
	return nil
}

// read reads the slots from t.seen on, to the end of a range or less; none
// where there are no more.
func (t *tailView) read() ([]byte, error) {
	const piece = 4 << 10
	pos := int64(0)
	for _, r := range t.at {
		if from := int64(t.seen)*SlotLen - pos; from < r.Len {
			b := make([]byte, min(piece, (r.Len-from)/SlotLen*SlotLen))
			_, err := t.d.ReadAt(b, r.Off+from)
			return b, err
		}
		pos += r.Len
	}
	return nil, nil
}
