package devtest

import (
	"bytes"
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
)

const compareStep = 64 << 10

// Diff is the first byte at which a and b differ, as a Range up to the last
// one that differs in the same 64 KiB; Len 0 if they are equal. What lies in
// ignore does not count. Holes of both are not read.
func Diff(a, b dev.Device, ignore ...dev.Range) (dev.Range, error) {
	if a.Size() != b.Size() {
		return dev.Range{}, fmt.Errorf("sizes differ: %d and %d bytes", a.Size(), b.Size())
	}
	pa, pb := make([]byte, compareStep), make([]byte, compareStep)
	for pos := int64(0); ; {
		r := nextStep(a, b, pos)
		if r.Empty() {
			return dev.Range{}, nil
		}
		pa, pb = pa[:r.Len], pb[:r.Len]
		if _, err := a.ReadAt(pa, r.Off); err != nil {
			return r, err
		}
		if _, err := b.ReadAt(pb, r.Off); err != nil {
			return r, err
		}
		if !bytes.Equal(pa, pb) {
			for _, i := range ignore {
				if i = i.Intersect(r); i.Empty() {
					continue
				}
				copy(pa[i.Off-r.Off:][:i.Len], pb[i.Off-r.Off:])
			}
			if d := differing(pa, pb); d.Len > 0 {
				return dev.Range{Off: r.Off + d.Off, Len: d.Len}, nil
			}
		}
		pos, pa, pb = r.End(), pa[:compareStep], pb[:compareStep]
	}
}

// nextStep is the next range at or after pos that either device has data in.
func nextStep(a, b dev.Device, pos int64) dev.Range {
	da, db := a.NextData(pos), b.NextData(pos)
	off := a.Size()
	if da.Len > 0 {
		off = da.Off
	}
	if db.Len > 0 {
		off = min(off, db.Off)
	}
	return dev.Range{Off: off, Len: min(compareStep, a.Size()-off)}
}

// differing is from the first to the last byte at which a and b differ.
func differing(a, b []byte) dev.Range {
	first, end := 0, len(a)
	for first < end && a[first] == b[first] {
		first++
	}
	for end > first && a[end-1] == b[end-1] {
		end--
	}
	return dev.Range{Off: int64(first), Len: int64(end - first)}
}
