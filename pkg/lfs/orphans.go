package lfs

import "github.com/fatkit/fatkit/pkg/dev"

// orphanFault is a block of the list of orphans with more entries than room.
type orphanFault struct {
	blk         uint32
	count, room uint32
}

// orphanBlocks are the blocks of the pack between the payload and the
// summaries, where the list of orphans is if the checkpoint has one.
func (s *state) orphanBlocks() (from, to uint32) {
	return s.p.start + 1 + s.payload, s.p.start + s.cp.startSum()
}

// readOrphans reads the list of files that were deleted while they were open.
// A count that cannot be is cut.
func (s *state) readOrphans(d dev.Device) (list []uint32, faults []orphanFault, err error) {
	if !s.cp.has(cpOrphans) {
		return nil, nil, nil
	}
	room := uint32(s.g.per().orphans())
	from, to := s.orphanBlocks()
	for blk := from; blk < to; blk++ {
		b, err := readBlock(d, s.g, blk)
		if err != nil {
			return nil, nil, err
		}
		o := orphanBlock(b)
		n := o.count()
		if n > room {
			faults = append(faults, orphanFault{blk, n, room})
			n = room
		}
		for i := range n {
			if ino := o.ino(int(i)); ino != 0 {
				list = append(list, ino)
			}
		}
	}
	return list, faults, nil
}
