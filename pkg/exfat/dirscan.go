package exfat

import (
	"fmt"

	"github.com/fatkit/fatkit/pkg/vol"
)

// setNote is something that an entry or entry set shows by itself.
type setNote struct {
	slug   string
	ref    setRef
	name   string
	detail string
	value  uint64 // what the repair writes, where it is a number
}

// dirScan is one directory as it was read: the slots up to its end mark, the
// sets, and what is wrong that shows without looking elsewhere.
type dirScan struct {
	w       *walk
	dir     int32
	buf     []byte
	end     int32    // slot of the end mark, or the first that is not there
	sets    []setRef // file sets that have a name
	lens    []uint8  // their name lengths
	streams []stream
	notes   []setNote
	ends    []endNote

	read     int64
	files    uint64
	variants int    // sets of which variants were looked for
	odd      int    // slots that look like anything but entries
	were     string // the types that a set has on the disk, where they were hit
}

// readPiece is how much of a directory is read at a time: up to its end mark,
// not up to what a length may claim.
const readPiece = 64 << 10

// scan reads directory i and looks at every slot once.
func (w *walk) scan(i int32) (*dirScan, error) {
	s := &dirScan{w: w, dir: i}
	if err := s.fill(); err != nil {
		return nil, err
	}
	for k := int32(0); k < s.end; {
		k += s.one(k)
	}
	if s.isGarbage() {
		s.giveUp()
		return s, nil
	}
	if err := s.behindEnd(); err != nil {
		return nil, err
	}
	if !w.quiet {
		s.checkNames()
	}
	return s, nil
}

// fill reads the directory up to its end mark.
func (s *dirScan) fill() error {
	d := &s.w.dirs[s.dir]
	left := s.dirBytes()
	for _, e := range d.extents {
		r := s.w.c.g.ClusterRange(e.Start, e.Len)
		r.Len = min(r.Len, left)
		for r.Len > 0 {
			n := min(r.Len, readPiece)
			from := len(s.buf)
			s.buf = append(s.buf, make([]byte, n)...)
			if _, err := s.w.c.d.ReadAt(s.buf[from:], r.Off); err != nil {
				return err
			}
			s.read += n
			for k := from; k < len(s.buf); k += entryLen {
				if s.buf[k] == typeEnd {
					s.end = int32(k / entryLen)
					return nil
				}
			}
			r.Off, r.Len, left = r.Off+n, r.Len-n, left-n
		}
	}
	s.end = s.slots()
	return nil
}

// dirBytes is how much of the directory's clusters may hold entries.
func (s *dirScan) dirBytes() int64 {
	d := &s.w.dirs[s.dir]
	var n int64
	for _, e := range d.extents {
		n += int64(e.Len) * s.w.c.g.ClusterSize
	}
	return min(n, maxDirBytes)
}

func (s *dirScan) slots() int32 { return int32(len(s.buf) / entryLen) }
func (s *dirScan) slot(k int32) entry {
	return entry(s.buf[int(k)*entryLen : int(k+1)*entryLen : int(k+1)*entryLen])
}
func (s *dirScan) isRoot() bool { return s.dir == 0 }

func (s *dirScan) note(slug string, slot, n int32, name string, format string, args ...any) *setNote {
	if s.w.quiet {
		return &setNote{}
	}
	s.notes = append(s.notes, setNote{slug: slug, ref: setRef{s.dir, slot, n}, name: name, detail: fmt.Sprintf(format, args...)})
	return &s.notes[len(s.notes)-1]
}

// one looks at the entry in slot k and returns how many slots belong to it.
func (s *dirScan) one(k int32) int32 {
	e := s.slot(k)
	switch {
	case e.kind() == typeFile:
		return s.fileSet(k)
	case s.retype(k):
		return s.fileSet(k)
	case !e.inUse():
		return 1
	case e.isSecondary():
		n := s.stray(k)
		s.odd += int(n)
		s.note("stray-secondary", k, n, "", "type %#02x", e.kind())
		return n
	default:
		return s.otherPrimary(k, e)
	}
}

// stray is how many secondary entries from slot k on belong to no set.
func (s *dirScan) stray(k int32) int32 {
	n := int32(1)
	for n < maxSecondary && k+n < s.end && s.slot(k+n).isSecondary() && !s.retypes(k+n) {
		n++
	}
	return n
}

// secondaries is how many secondary entries follow slot k, at most limit.
func (s *dirScan) secondaries(k, limit int32) int32 {
	n := int32(0)
	for k+1+n < s.slots() && n < limit && s.slot(k+1+n).isSecondary() {
		n++
	}
	return n
}

// otherPrimary is a primary entry other than a file's. Those of the root are
// looked at by the pass before; here it matters that they stand nowhere else.
func (s *dirScan) otherPrimary(k int32, e entry) int32 {
	switch e.kind() {
	case typeBitmap, typeUpcase, typeLabel, typeGUID:
		if !s.isRoot() {
			s.note("special-misplaced", k, 1, "", "type %#02x", e.kind())
		}
		return 1
	case typePadding:
		s.note("texfat-padding", k, 1, "", "")
		return 1
	}
	n := 1 + s.secondaries(k, int32(e[offSecondaryCount]))
	if e.isBenign() {
		// §8.2: what is not known and benign is ignored, and not to be changed.
		s.addBenign(k, n)
		return n
	}
	s.odd++
	s.note("unknown-critical", k, n, "", "type %#02x", e.kind())
	return n
}

// isGarbage: most of what is in use cannot be entries, as in a cluster of
// erased flash or of another file.
func (s *dirScan) isGarbage() bool {
	return !s.isRoot() && s.odd > 4 && s.odd > 4*len(s.sets)
}

// giveUp forgets what was seen: the directory is no directory.
func (s *dirScan) giveUp() {
	odd := s.odd
	*s = dirScan{w: s.w, dir: s.dir, read: s.read}
	s.note("directory-garbage", 0, 0, "", "%d slots cannot be entries", odd)
}

// units appends the name of the set at ref, of n units, to dst.
func (s *dirScan) units(slot int32, n int, dst []uint16) []uint16 {
	for k := slot + 2; n > 0 && k < s.slots(); k++ {
		e := s.slot(k)
		for i := 0; i < min(n, nameUnits); i++ {
			dst = append(dst, e.u16(offName+2*i))
		}
		n -= nameUnits
	}
	return dst
}

// checkNames looks for names that are equal after up-casing.
func (s *dirScan) checkNames() {
	if len(s.sets) < 2 {
		return
	}
	t := vol.NewNameTable(len(s.sets), s.w.c.upcase.fold, func(id int32, dst []uint16) []uint16 {
		return s.units(s.sets[id].slot, int(s.lens[id]), dst)
	}, nil)
	for i := range s.sets {
		if other := t.Add(int32(i)); other >= 0 {
			ref := s.sets[i]
			s.note("name-twice", ref.slot, ref.n, s.nameOf(i), "that of the entry in slot %d", s.sets[other].slot)
		}
	}
}

// nameOf set i, as a user sees it.
func (s *dirScan) nameOf(i int) string {
	return decodeUnits(s.units(s.sets[i].slot, int(s.lens[i]), nil))
}
