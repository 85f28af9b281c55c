package space

// LoopFinder notices that a walk from unit to unit comes back to where it was, by
// Brent's method: one place is kept, a later one each time that the number of steps
// has doubled. Units are counted from 1.
type LoopFinder struct{ mark, steps, power uint32 }

// Met reports whether unit c was met before. It may say so late, but within three
// times as many steps as there are units to be met.
func (l *LoopFinder) Met(c uint32) bool {
	if c == l.mark && l.mark != 0 {
		return true
	}
	if l.steps++; l.steps > l.power {
		l.mark, l.power, l.steps = c, 2*l.power+1, 0
	}
	return false
}
