package fat

import (
	"fmt"
	"slices"

	"github.com/fatkit/fatkit/pkg/vol"
)

// scanNote is something that the slots of a directory show by themselves.
type scanNote struct {
	slug   string
	dir    int32
	slot   int32 // first slot concerned
	n      int32 // how many
	name   string
	detail string
	offer  []string
	value  byte   // for attr-wrong and entry-beheaded: what the byte should be
	was    byte   // for attr-wrong: what it is
	head   uint32 // for directory-garbage: the lost directory that it should be
}

// layoutNote is a directory whose slots must move to be mended: without dot
// entries, or with entries behind its end.
type layoutNote struct {
	dir  int32
	slug string
	slot int32
	n    int32 // live entries concerned, or remains of dot entries
	live int32 // entries of a directory that lacks its dots
}

// labelAt is a volume label in the root directory.
type labelAt struct {
	slot  int64
	name  [11]byte
	first bool
}

// liveEntry is a file or directory of a directory.
type liveEntry struct {
	slot     int32
	long     int32  // its first long-name slot; slot itself where there is none
	hash     uint32 // of the short name, for the name table
	longHash uint32
}

// dirScan is one directory as it was read: the slots, the entries in use, and
// what is wrong that shows without looking elsewhere.
type dirScan struct {
	w      *walk
	dir    int32
	node   *dirNode
	parent uint32 // first cluster of the directory above
	buf    []byte
	live   []liveEntry
	notes  []scanNote
	layout []layoutNote
	labels []labelAt

	names   *vol.NameTable // of this scan and of those before it in its memory
	run     longRun        // the long name being gathered
	odd     int            // entries that look like anything but entries
	remains int            // of dot entries
	sifting bool           // slots that cannot be entries are passed over
	sifted  int            // how many were
	garbage bool
}

// scan reads directory i and looks at every slot once.
func (w *walk) scan(i int32) (*dirScan, error) {
	s := &dirScan{w: w}
	return s, s.scan(i, w.dirs)
}

// scan is that of directory i of dirs, in the memory of what s scanned before.
func (s *dirScan) scan(i int32, dirs []dirNode) (err error) {
	w, d := s.w, &dirs[i]
	*s = dirScan{w: w, dir: i, node: d, parent: dirs[d.parent].start, names: s.names,
		buf: s.buf[:0], live: s.live[:0], notes: s.notes[:0], layout: s.layout[:0], labels: s.labels[:0]}
	if s.buf, err = w.readNode(d, s.buf); err != nil {
		return err
	}
	if s.names == nil && !w.quiet {
		s.names = s.newNameTable()
	}
	s.live = slices.Grow(s.live, s.slots()/2)
	end := s.each()
	if s.odd > 0 || s.isFile() {
		switch {
		case !s.isGarbage():
		case s.isFile() || s.isRoot() || !s.holdsEntry():
			s.giveUp()
			return nil
		default:
			s.sift(end)
		}
	}
	s.checkEnd(end)
	if i != 0 {
		s.checkDots()
	}
	if !w.quiet {
		s.checkNames()
	}
	return nil
}

// each looks at every slot, and returns where the end mark is, or how many slots there
// are.
func (s *dirScan) each() (end int) {
	end = s.slots()
	for k := 0; k < s.slots(); k++ {
		e := dirEntry(s.slot(k))
		if e.isEnd() {
			end = k
			break
		}
		s.one(k, e)
	}
	switch {
	case end < s.slots():
		s.beheaded(end)
	case s.node.cut:
		s.run = longRun{} // its entry may stand in what the chain has lost
	}
	s.dropRun()
	return end
}

func (s *dirScan) slots() int        { return len(s.buf) / entryLen }
func (s *dirScan) slot(k int) []byte { return s.buf[k*entryLen : (k+1)*entryLen : (k+1)*entryLen] }

// ref of live entry k.
func (s *dirScan) ref(k int) entryRef {
	return entryRef{dir: s.dir, slot: s.live[k].slot, long: s.live[k].long}
}

// isRoot: the root directory has no dot entries, and may have a label.
func (s *dirScan) isRoot() bool { return s.dir == 0 }

func (s *dirScan) note(slug string, slot, n int, name string, format string, args ...any) *scanNote {
	if s.w.quiet {
		return &scanNote{}
	}
	s.notes = append(s.notes, scanNote{slug: slug, dir: s.dir, slot: int32(slot), n: int32(n), name: name, detail: fmt.Sprintf(format, args...)})
	return &s.notes[len(s.notes)-1]
}

// one looks at a slot before the end mark.
func (s *dirScan) one(k int, e dirEntry) {
	switch {
	case e.isFree():
		s.dropRun()
	case e.isLong():
		s.longSlot(k, longSlot(e))
	case !s.isRoot() && dotRemains(s.w.c.g.Type, k, e, s.node.start, s.up()):
		s.dropRun()
		s.remains++
	case s.sifting && hopeless(s.w.c.g, s.w.c.cp, e):
		s.dropRun()
		s.sifted++
	case e[0] == '.':
		s.dotEntry(k, e)
	case e.isVolume():
		s.dropRun()
		s.labelEntry(k, e)
	default:
		s.entry(k, e)
	}
}

// dotEntry is a slot whose name starts with a dot. Only . and .. in the first
// two slots of a directory other than the root are that; the rest is either
// one of these in the wrong place or a bad name.
func (s *dirScan) dotEntry(k int, e dirEntry) {
	if !isDotName(e.name()) {
		s.entry(k, e)
		return
	}
	s.dropRun()
	if s.isRoot() || k != dotSlot(e) || !e.isDir() {
		s.note("dot-misplaced", k, 1, s.w.c.cp.decode(e.name(), 0), "%s in slot %d", s.w.c.cp.decode(e.name(), 0), k)
	}
}

func isDotName(n []byte) bool { return string(n) == dotName || string(n) == dotdotName }

const (
	dotName    = ".          "
	dotdotName = "..         "
)

// dotSlot is where a dot entry belongs.
func dotSlot(e dirEntry) int {
	if e[1] == '.' {
		return 1
	}
	return 0
}

// labelEntry is a volume label.
func (s *dirScan) labelEntry(k int, e dirEntry) {
	name := labelText(e.name())
	if !s.isRoot() {
		s.note("label-misplaced", k, 1, name, "%s", quote(name))
		return
	}
	l := labelAt{slot: s.w.nodeSlotOff(s.node, k), first: len(s.labels) == 0}
	copy(l.name[:], e.name())
	s.labels = append(s.labels, l)
	if !l.first {
		s.note("label-twice", k, 1, name, "%s", quote(name))
		return
	}
	if e.u16(offClusLo) != 0 || s.w.c.g.Type == FAT32 && e.u16(offClusHi) != 0 || e.size() != 0 {
		s.note("label-clusters", k, 1, name, "%s", quote(name))
	}
	for i, b := range s.w.c.cp.lone(e.name()) {
		if badLabelByte(b, i) {
			s.note("label-invalid", k, 1, name, "%s", quote(name))
			return
		}
	}
}

// badLabelByte: [FAT] a label is made as a short name is, with blanks allowed
// anywhere but at its start.
func badLabelByte(b byte, i int) bool {
	switch classifyShort(b, i) {
	case shortOK, shortLower, shortLongOnly:
		// Lower case and + , ; = [ ] stand in labels that Windows and
		// dosfstools write.
		return false
	case shortLeading:
		return i == 0
	default:
		return true
	}
}

// entry is a file or directory.
func (s *dirScan) entry(k int, e dirEntry) {
	l := liveEntry{slot: int32(k), long: int32(k)}
	if s.run.n > 0 {
		if s.finishRun(k, e) {
			l.long, l.longHash = int32(s.run.from), s.run.hash
		}
		s.run = longRun{}
	}
	plain := plainShort(e.name())
	if !s.w.quiet {
		l.hash = s.hashShort(e.name(), plain)
	}
	s.live = append(s.live, l)
	if odd(s.w.c.g, s.w.c.cp, e, plain) {
		s.odd++
	}
	if s.w.quiet {
		return
	}
	if e.attr()&(attrVolume|attrDirectory) == attrVolume|attrDirectory {
		// Whether its size is wrong is seen when it is known what it is.
		s.note("attr-directory-volume", k, 1, s.name(len(s.live)-1), "attributes %#x", e.attr())
	} else if e.isDir() && e.size() != 0 {
		s.note("directory-size", k, 1, s.name(len(s.live)-1), "%d bytes", e.size())
	}
	if e.attr()&attrReserved != 0 {
		s.note("attr-reserved", k, 1, s.name(len(s.live)-1), "attributes %#x", e.attr())
	}
	if why := badTime(e); why != "" {
		s.note("time-invalid", k, 1, s.name(len(s.live)-1), "%s", why)
	}
	s.shortName(k, e, plain)
}

// odd reports whether a slot does not look like a directory entry at all: a name
// that no system writes, a first cluster that no volume has, or attributes that
// no entry has together with lower case, which is what text looks like. plain is
// what plainShort says of its name.
func odd(g *Geometry, cp codepage, e dirEntry, plain bool) bool {
	if n := e.name(); !plain && !isDotName(n) {
		lower := false
		for i, b := range cp.lone(n) {
			switch classifyShort(b, i) {
			case shortIllegal:
				return true
			case shortLower:
				lower = true
			}
		}
		if lower && e.attr()&attrReserved != 0 {
			return true
		}
	}
	st := e.start(g.Type)
	return st != 0 && !g.Valid(st)
}

// isFile: the entry has the size of a file that fits the clusters, and there is
// not one dot entry: nothing but the attribute says directory.
func (s *dirScan) isFile() bool {
	d := s.node
	if d.size == 0 || s.hasDot(0) || s.hasDot(1) {
		return false
	}
	n := uint32(0)
	for _, e := range d.extents {
		n += e.Len
	}
	return s.w.c.g.clustersFor(d.size) == n
}

// isGarbage: a directory that does not start with dot entries and most of
// whose slots are no entries holds something else. Taking it for a directory
// would rename and cut without end. All slots count, as an end mark among
// random bytes means nothing.
func (s *dirScan) isGarbage() bool {
	if s.hasDot(0) || s.hasDot(1) {
		return false
	}
	if s.isFile() {
		return true
	}
	if s.odd*2 <= len(s.live) {
		return false
	}
	strange, all := 0, 0
	for k := range s.slots() {
		e := dirEntry(s.slot(k))
		if e.isEnd() || e.isFree() || e.isLong() && longSlot(e).ordOK() {
			continue
		}
		if all++; odd(s.w.c.g, s.w.c.cp, e, plainShort(e.name())) {
			strange++
		}
	}
	return strange > 2 && strange*2 > all
}

// giveUp forgets what was seen: the directory is no directory.
func (s *dirScan) giveUp() {
	n := len(s.live)
	s.garbage, s.live, s.notes, s.labels, s.layout = true, s.live[:0], s.notes[:0], s.labels[:0], s.layout[:0]
	if s.isRoot() {
		return // root-garbage
	}
	s.note("directory-garbage", 0, s.slots(), "", "%d of %d entries cannot be", s.odd, n)
}

// hasDot reports whether slot k holds its dot entry.
func (s *dirScan) hasDot(k int) bool {
	if k >= s.slots() {
		return false
	}
	e := dirEntry(s.slot(k))
	return isDotName(e.name()) && dotSlot(e) == k && e.isDir()
}

// up is what .. of the directory is to hold: [FAT] 0 where that is the root.
func (s *dirScan) up() uint32 {
	if s.node.parent == 0 {
		return 0
	}
	return s.parent
}

// checkDots looks at the first two slots.
func (s *dirScan) checkDots() {
	if !s.hasDot(0) || !s.hasDot(1) {
		s.layout = append(s.layout, layoutNote{dir: s.dir, slug: "dots-missing", n: int32(s.remains), live: int32(len(s.live))})
	}
	for k, want := range []uint32{s.node.start, s.up()} {
		if !s.hasDot(k) {
			continue
		}
		if got := dirEntry(s.slot(k)).start(s.w.c.g.Type); got != want {
			slug := [2]string{"dot-start", "dotdot-start"}[k]
			s.note(slug, k, 1, "", "it leads to cluster %d, should be %d", got, want)
		}
	}
}

// checkEnd looks behind the end mark.
func (s *dirScan) checkEnd(end int) {
	if s.w.quiet {
		return
	}
	live, first := 0, 0
	for k := end; k < s.slots(); k++ {
		if e := dirEntry(s.slot(k)); !e.isEnd() && !e.isFree() {
			if live == 0 {
				first = k
			}
			live++
		}
	}
	if live > 0 {
		s.layout = append(s.layout, layoutNote{dir: s.dir, slug: "after-end", slot: int32(first), n: int32(live)})
		return
	}
	per := int(s.w.c.g.ClusterSize() / entryLen)
	if spare := (s.slots() - end) / per; spare > 0 && s.node.start != 0 && s.slots() > per {
		s.note("directory-spare", end, 1, "", "%d clusters", spare)
	}
}

// name of live entry k, as a user sees it.
func (s *dirScan) name(k int) string {
	l := s.live[k]
	e := dirEntry(s.slot(int(l.slot)))
	if l.long == l.slot {
		return s.w.c.cp.decode(e.name(), e[offNTRes])
	}
	var u [maxLongSlots * ldirChars]uint16
	return decodeUnits(s.longUnits(int(l.long), int(l.slot), u[:0]))
}

// badTime says what is wrong with the times of e, or "".
func badTime(e dirEntry) string {
	check := func(what string, date, time uint16) string {
		if m := date >> 5 & 15; date != 0 && (m < 1 || m > 12) {
			return fmt.Sprintf("%s: month %d", what, m)
		}
		if d := date & 31; date != 0 && d == 0 {
			return what + ": day 0"
		}
		if h, m, sec := time>>11, time>>5&63, time&31; h > 23 || m > 59 || sec > 29 {
			return fmt.Sprintf("%s: %02d:%02d:%02d", what, h, m, 2*sec)
		}
		return ""
	}
	if s := check("modified", e.u16(offWrtDate), e.u16(offWrtTime)); s != "" {
		return s
	}
	if s := check("created", e.u16(offCrtDate), e.u16(offCrtTime)); s != "" {
		return s
	}
	if s := check("read", e.u16(offAccDate), 0); s != "" {
		return s
	}
	if e[offCrtTenth] > 199 {
		return fmt.Sprintf("created: %d hundredths", e[offCrtTenth])
	}
	return ""
}
