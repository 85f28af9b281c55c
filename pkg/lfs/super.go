package lfs

import (
	"bytes"
	"cmp"

	"github.com/fatkit/fatkit/pkg/dev"
)

// superCopy is one of the two superblocks as it was read.
type superCopy struct {
	off   int64
	raw   superblock // nil where the device ends before it
	g     *Geometry
	fault *fault
	err   error // where it cannot be read, which is a fault, too
}

// readSupers reads both superblocks. Where the second lies depends on the size
// of blocks, which the first says; where that is lost, every size is tried. It is
// an error that one of them cannot be read only where the other cannot be used:
// [Linux] behaviour.
func readSupers(d dev.Device) (first, second superCopy, err error) {
	first = readSuper(d, superOffset)
	sizes := []int64{1 << minLogBlock, 1 << (minLogBlock + 1), 1 << maxLogBlock}
	if first.g != nil {
		sizes = []int64{first.g.BlockSize}
	}
	for _, size := range sizes {
		c := readSuper(d, size+superOffset)
		if c.g != nil && c.g.BlockSize == size {
			return first, c, nil
		}
		if second.raw == nil && second.err == nil {
			second = c
		}
		err = cmp.Or(err, c.err)
	}
	if first.g != nil {
		err = nil
	}
	return first, second, cmp.Or(first.err, err)
}

func readSuper(d dev.Device, off int64) superCopy {
	c := superCopy{off: off}
	if dev.CheckRange("read", dev.Range{Off: off, Len: superLen}, d.Size()) != nil {
		return c
	}
	raw := make(superblock, superLen)
	if _, err := d.ReadAt(raw, off); err != nil {
		c.err, c.fault = err, &fault{slug: "sb-copy", len: superLen, detail: textf("it cannot be read: %v", err)}
		return c
	}
	c.raw = raw
	c.g, c.fault = parseSuperblock(raw)
	return c
}

// unknownEncoding tells whether names of directories that fold case are in an encoding
// that Linux does not know: [Linux] behaviour f2fs_setup_casefold().
func (s superblock) unknownEncoding() bool {
	return s.has(featCasefold) && s.u16(sbEncoding) != encodingUTF8
}

// differ reports whether two superblocks say different things. The version
// string of who mounted last, and the notes of errors, are written to one copy
// after the other, and may differ after a power cut: they count all the same,
// as every writer writes both.
func (c *superCopy) differ(o *superCopy) bool { return !bytes.Equal(c.raw, o.raw) }

// odd is what makes a copy that passes the tests less likely than one that differs and
// does not have it: features that nobody has made yet, or that other fields contradict.
func (c *superCopy) odd() *fault {
	const alone = featZoned | featDeviceAlias // on a volume of one device
	switch x := c.g.Features; {
	case x&^featKnown != 0:
		return &fault{slug: "sb-features", off: sbFeatures, len: 4, got: hex(x &^ featKnown), detail: "features that are not known"}
	case c.g.Devices == 0 && x&alone != 0:
		return &fault{slug: "multi-device", off: sbFeatures, len: 4, got: hex(x & alone), detail: "zones or aliases, and no devices"}
	case c.raw.unknownEncoding():
		return &fault{slug: "sb-encoding", off: sbEncoding, len: 2, got: c.raw.u16(sbEncoding), want: encodingUTF8, detail: "an encoding of names that is not known"}
	}
	return nil
}
