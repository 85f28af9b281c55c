package lfs

import (
	"cmp"

	"github.com/fatkit/fatkit/pkg/dev"
)

// node is what NAT says of one node that is there.
type node struct {
	nid, ino, addr uint32
	inode          int32 // in walk.inodes, where it is one that was read; else -1
	version        byte
	role           role // what it turned out to be; roleNone until something leads to it
}

func byNid(a, b node) int { return cmp.Compare(a.nid, b.nid) }

// readNAT reads one entry of NAT.
func (s *state) readNAT(d dev.Device, nid uint32) (natEntry, error) {
	if e, ok := s.natOverrides()[nid]; ok {
		return e, nil
	}
	index, slot := s.g.NATIndex(nid)
	b, err := readBlock(d, s.g, s.g.NATAddr(index, testMSB(s.natVersions, index)))
	return natEntry(b[slot*natLen:][:natLen]), err
}
