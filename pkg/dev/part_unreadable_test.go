package dev

import "testing"

// unreadable is a device with bad sectors.
type unreadable struct {
	*Mem
	bad []Range
}

func (d unreadable) ReadAt(p []byte, off int64) (int, error) {
	for _, r := range d.bad {
		if !r.Intersect(Range{off, int64(len(p))}).Empty() {
			return 0, &Error{Op: "read", Range: Range{off, int64(len(p))}, Err: errMedium}
		}
	}
	return d.Mem.ReadAt(p, off)
}

// A bad sector in one copy of a GPT leaves the other one.
func TestPartitionsBadSector(t *testing.T) {
	for _, sector := range []int64{512, 4096} {
		size := 500 * sector
		m := NewMem(size)
		writeGPT(t, m, usualGPT(sector))
		first, last := []Range{{sector, sector}, {2 * sector, 512}}, []Range{{size - sector, sector}, {size - 3*sector, 512}}
		for i := range first {
			checkPartitions(t, unreadable{m, first[i : i+1]}, usualParts(sector), append([]string{FaultPrimary}, usualFaults()...)...)
			checkPartitions(t, unreadable{m, last[i : i+1]}, usualParts(sector), append([]string{FaultBackup}, usualFaults()...)...)
			got, err := ReadTable(unreadable{m, []Range{first[i], last[i]}})
			wantError(t, err, "partitions", errGPT)
			wantError(t, err, "partitions", errMedium)
			if got != nil {
				t.Errorf("partitions %v", got)
			}
		}
	}
}
