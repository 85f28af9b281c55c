package exfat

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/fatkit/fatkit/pkg/space"
)

// setNote is something that an entry or entry set shows by itself.
type setNote struct {
	slug   string
	ref    setRef
	name   string
	detail string
	value  uint64 // what the repair writes, where it is a number
	owns   bool   // what the repair would remove leads to clusters
}

// dirScan is one directory as it was read: the slots up to its end mark, the
// sets, and what is wrong that shows without looking elsewhere.
type dirScan struct {
	w       *walk
	dir     int32
	extents []space.Extent // the directory's clusters
	cut     bool           // there may be more of them
	scanMem
	from    int          // where its share of plain begins
	said    []plainClaim // and, when it is done, that
	end     int32        // slot of the end mark, or the first that is not there
	ended   bool         // there is an end mark
	partial int32        // 1 more than the slot of a set that goes on where the directory is cut, 0 for none
	streams []stream
	notes   []setNote
	ends    []endNote

	read     int64
	files    uint64
	variants int // sets of which variants were looked for
	next     slotSum
	odd      int    // slots that look like anything but entries
	sealed   int    // sets whose checksum fits
	were     string // the types that a set has on the disk, where they were hit
}

// scanMem is what a scan takes much of, to be used again for the next directory
// of the same job.
type scanMem struct {
	buf   []byte
	sets  []setRef     // file sets that have a name
	lens  []uint8      // their name lengths
	folds []uint32     // their hashes, see plainName
	cells []int32      // checkNames' table: 1 more than the number of a set, or 0
	plain []plainClaim // what is said of clusters, in the order of the slots
}

// reset empties m, but for plain, for another directory. It is kept unless it is
// much.
func (m *scanMem) reset() {
	if cap(m.buf) > keepMem {
		*m = scanMem{plain: m.plain}
	}
	m.buf, m.sets, m.lens, m.folds = m.buf[:0], m.sets[:0], m.lens[:0], m.folds[:0]
}

// keepMem is the longest directory for which memory is kept.
const keepMem = 1 << 20

// newDirScan is a scan of directory i that has not begun.
func newDirScan(w *walk, i int32) *dirScan {
	return &dirScan{w: w, dir: i, extents: w.dirs[i].extents, cut: w.dirs[i].cut}
}

// addSet notes a set that has a name.
func (s *dirScan) addSet(ref setRef, units int, fold uint32) {
	s.sets, s.lens, s.folds = append(s.sets, ref), append(s.lens, uint8(units)), append(s.folds, fold)
}

// readPiece is how much of a directory is read at a time: up to its end mark,
// not up to what a length may claim.
const readPiece = 64 << 10

// scan reads directory i and looks at every slot once.
func (w *walk) scan(i int32) (*dirScan, error) {
	s := newDirScan(w, i)
	return s, s.run()
}

// run scans the directory, with memory that is empty.
func (s *dirScan) run() error {
	s.from = len(s.plain)
	err := s.look()
	s.said = s.plain[s.from:]
	return err
}

func (s *dirScan) look() error {
	if err := s.fill(); err != nil {
		return err
	}
	for k := int32(0); k < s.end; {
		k += s.one(k)
	}
	if garbage, err := s.isGarbage(); err != nil || garbage {
		s.giveUp()
		return err
	}
	if err := s.behindEnd(); err != nil {
		return err
	}
	if !s.w.quiet {
		s.checkNames()
	}
	return nil
}

// fill reads the directory up to its end mark.
func (s *dirScan) fill() error {
	left := s.dirBytes()
	at := 0 // where the end mark is looked for
	for _, e := range s.extents {
		r := s.w.c.g.ClusterRange(e.Start, e.Len)
		r.Len = min(r.Len, left)
		for r.Len > 0 {
			n := min(r.Len, readPiece)
			from := len(s.buf)
			s.buf = slices.Grow(s.buf, int(n))[:from+int(n)]
			if _, err := s.w.c.d.ReadAt(s.buf[from:], r.Off); err != nil {
				return err
			}
			s.read += n
			r.Off, r.Len, left = r.Off+n, r.Len-n, left-n
			var err error
			if at, err = s.findEnd(at, left > 0); err != nil || s.ended {
				return err
			}
		}
	}
	s.end = s.slots()
	return nil
}

// dirBytes is how much of the directory's clusters may hold entries.
func (s *dirScan) dirBytes() int64 {
	var n int64
	for _, e := range s.extents {
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
	case e.kind() == typeFile && s.goesOn(k):
		return s.cutSet(k)
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
	if s.isRoot() && k == s.w.c.sup.labelSlot {
		return 1
	}
	n := 1 + s.secondaries(k, int32(e[offSecondaryCount]))
	// §8.2: what is not known is not to be changed; benign it is ignored, too.
	owns := s.addUnknown(k, n)
	if !e.isBenign() {
		s.odd++
		s.note("unknown-critical", k, n, "", "type %#02x", e.kind()).owns = owns
	}
	return n
}

// isGarbage: most of what is in use cannot be entries, as in a cluster of
// erased flash or of another file. One entry set with the checksum that it must
// have, [exFAT] §6.3.3, shows that it is a directory all the same, of which a part
// was overwritten: what else is in it must not go.
func (s *dirScan) isGarbage() (bool, error) {
	if s.isRoot() || s.odd <= 4 || s.odd <= 4*len(s.sets) || s.sealed > 0 {
		return false, nil
	}
	hides, err := s.hidesSets()
	return !hides, err
}

// giveUp forgets what was seen: the directory is no directory.
func (s *dirScan) giveUp() {
	odd := s.odd
	s.plain = s.plain[:s.from]
	s.reset()
	*s = dirScan{w: s.w, dir: s.dir, extents: s.extents, cut: s.cut, read: s.read, scanMem: s.scanMem, from: s.from}
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
	size := 1 << bits.Len(uint(2*len(s.sets)))
	s.cells = slices.Grow(s.cells[:0], size)[:size]
	clear(s.cells)
	for i := range s.sets {
		if other := s.enterName(i); other >= 0 {
			ref := s.sets[i]
			s.note("name-twice", ref.slot, ref.n, s.nameOf(i), "that of the entry in slot %d", s.sets[other].slot)
		}
	}
}

// enterName enters the name of set i in the table, or returns the number of the
// set that has the same one.
func (s *dirScan) enterName(i int) int {
	mask := uint32(len(s.cells) - 1)
	for k := s.folds[i] & mask; ; k = (k + 1) & mask {
		j := int(s.cells[k]) - 1
		if j < 0 {
			s.cells[k] = int32(i + 1)
			return -1
		}
		if s.folds[j] == s.folds[i] && s.sameName(i, j) {
			return j
		}
	}
}

// sameName reports whether two sets have the same name after up-casing.
func (s *dirScan) sameName(i, j int) bool {
	var a, b [maxName + nameUnits]uint16
	return s.w.c.upcase.equalFold(s.units(s.sets[i].slot, int(s.lens[i]), a[:0]), s.units(s.sets[j].slot, int(s.lens[j]), b[:0]))
}

// nameOf set i, as a user sees it.
func (s *dirScan) nameOf(i int) string {
	return decodeUnits(s.units(s.sets[i].slot, int(s.lens[i]), nil))
}
