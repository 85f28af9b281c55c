package exfat

import (
	"fmt"

	"github.com/fatkit/fatkit/pkg/vol"
)

// slotKind says what a slot of a directory begins.
type slotKind int

const (
	slotFree  slotKind = iota // [exFAT] §6.2.1.4: the bit for "in use" is 0
	slotFile                  // a set that has all its parts
	slotOther                 // what the root has, and benign entries
	slotOdd                   // what cannot be, or is not known
)

// slotRun is a run of slots that belong together.
type slotRun struct {
	kind  slotKind
	first int
	n     int
	why   string // of a slotOdd
}

// eachSlotRun calls fn for what is in a directory, in order, until it returns
// false. The check has a view of its own, which makes the best of damage.
func eachSlotRun(s *vol.Slots, fn func(r slotRun) bool) {
	for k := 0; k < s.End(); {
		r := slotRunAt(s, k)
		if !fn(r) {
			return
		}
		k += r.n
	}
}

// slotRunAt is what begins in slot k, which is before the end.
func slotRunAt(s *vol.Slots, k int) slotRun {
	e := entry(s.At(k))
	r := slotRun{kind: slotOther, first: k, n: 1}
	switch {
	case !e.inUse():
		r.kind = slotFree
		for k+r.n < s.End() && !entry(s.At(k+r.n)).inUse() {
			r.n++
		}
	case e.isSecondary():
		r.kind, r.why = slotOdd, fmt.Sprintf("an entry of type %#02x that belongs to no other", e.kind())
	case e.kind() == typeFile:
		r.kind, r.n, r.why = fileSetAt(s, k)
	case e.kind() == typeBitmap, e.kind() == typeUpcase, e.kind() == typeLabel:
	default:
		// §6.3.2: a primary entry of any other kind counts its secondaries.
		n := int(e[offSecondaryCount])
		for r.n <= n && k+r.n < s.End() && entry(s.At(k+r.n)).isSecondary() {
			r.n++
		}
		if !e.isBenign() {
			r.kind, r.why = slotOdd, fmt.Sprintf("an entry of type %#02x, which is not known", e.kind())
		}
	}
	return r
}

// fileSetAt looks at the set of the File entry in slot k: [exFAT] §7.4, a
// Stream Extension and the name follow it, and then anything that is secondary.
func fileSetAt(s *vol.Slots, k int) (kind slotKind, n int, why string) {
	count := int(s.At(k)[offSecondaryCount])
	if count < minFileSets || k+1+count > s.End() {
		return slotOdd, 1, fmt.Sprintf("a file entry with %d secondary ones", count)
	}
	set := entrySet(s.Run(k, 1+count))
	for i := 1; i <= count; i++ {
		if !set.at(i).isSecondary() {
			return slotOdd, 1, fmt.Sprintf("a file entry with %d secondary ones, of which %d are there", count, i-1)
		}
	}
	n = set.nameLen()
	if set.stream().kind() != typeStream || n == 0 || set.behindNames() > set.slots() {
		return slotOdd, 1 + count, "a file entry without a stream extension or a whole name"
	}
	for i := 2; i < set.behindNames(); i++ {
		if set.at(i).kind() != typeName {
			return slotOdd, 1 + count, "a file entry without a whole name"
		}
	}
	return slotFile, 1 + count, ""
}

// setAt is the set of the file in slot k, which a scan has found whole.
func setAt(s *vol.Slots, k int) entrySet {
	return entrySet(s.Run(k, 1+int(s.At(k)[offSecondaryCount])))
}
