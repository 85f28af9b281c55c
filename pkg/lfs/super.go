package lfs

import (
	"bytes"

	"github.com/fatkit/fatkit/pkg/dev"
)

// superCopy is one of the two superblocks as it was read.
type superCopy struct {
	off   int64
	raw   superblock // nil where the device ends before it
	g     *Geometry
	fault *fault
}

// readSupers reads both superblocks. Where the second lies depends on the size
// of blocks, which the first says; where that is lost, every size is tried.
func readSupers(d dev.Device) (first, second superCopy, err error) {
	if first, err = readSuper(d, superOffset); err != nil {
		return first, second, err
	}
	sizes := []int64{1 << minLogBlock, 1 << (minLogBlock + 1), 1 << maxLogBlock}
	if first.g != nil {
		sizes = []int64{first.g.BlockSize}
	}
	for _, size := range sizes {
		c, err := readSuper(d, size+superOffset)
		if err != nil {
			return first, second, err
		}
		if c.g != nil && c.g.BlockSize == size {
			return first, c, nil
		}
		if second.raw == nil {
			second = c
		}
	}
	return first, second, nil
}

func readSuper(d dev.Device, off int64) (superCopy, error) {
	c := superCopy{off: off}
	if dev.CheckRange("read", dev.Range{Off: off, Len: superLen}, d.Size()) != nil {
		return c, nil
	}
	raw := make(superblock, superLen)
	if _, err := d.ReadAt(raw, off); err != nil {
		return c, err
	}
	c.raw = raw
	c.g, c.fault = parseSuperblock(raw)
	return c, nil
}

// differ reports whether two superblocks say different things. The version
// string of who mounted last, and the notes of errors, are written to one copy
// after the other, and may differ after a power cut: they count all the same,
// as every writer writes both.
func (c *superCopy) differ(o *superCopy) bool { return !bytes.Equal(c.raw, o.raw) }
