package dev

// WholeUnits is a device whose holes are whole units of so many bytes: what is read
// around them is then made of whole units, too. A host has holes in units of its own,
// and a volume may begin anywhere in a file.
type WholeUnits struct {
	Device
	Unit int64 // bytes
}

// NextData widens data to units.
func (w WholeUnits) NextData(off int64) Range {
	r := w.Device.NextData(off)
	if r.Empty() {
		return r
	}
	from := max(off, r.Off/w.Unit*w.Unit)
	end := min((r.End()+w.Unit-1)/w.Unit*w.Unit, w.Size())
	return Range{Off: from, Len: end - from}
}
