package lfs

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// A pack begins and ends with the same block, [Linux] behaviour do_checkpoint(): the
// last one is written when all else is down and the device has been told to keep it, so
// where it is there, if only in part, the checkpoint is whole. One of the two ends can
// then be taken from the other.

// ends is a pack of which one end is damaged: what both should be, and the block that
// is not.
type ends struct {
	cp      checkpoint
	damaged uint32
}

// rightEnd is what the damaged end of a pack should be, nil where that is not known.
func (g *Geometry) rightEnd(d dev.Device, p *pack) (*ends, error) {
	if p.fault == nil || p.err != nil {
		return nil, nil
	}
	switch p.fault.slug {
	case "cp-checksum":
		tail, err := g.lastOfPack(d, p)
		if err != nil || tail == nil {
			return nil, err
		}
		return &ends{tail, p.start}, nil
	case "cp-tail":
		blk := p.start + p.cp.blocks() - 1
		tail, err := readBlock(d, g, blk)
		if err != nil || checkpoint(tail).version() != p.cp.version() {
			return nil, err // it is that of another checkpoint: this one was never finished
		}
		return &ends{p.cp, blk}, nil
	}
	return nil, nil
}

// lastOfPack looks for the last block of a pack whose first one does not tell where it
// is. Where older ones are left the newest counts.
func (g *Geometry) lastOfPack(d dev.Device, p *pack) (tail checkpoint, err error) {
	for n := uint32(packCount + 1); n <= segmentBlocks; n++ {
		b, err := readBlock(d, g, p.start+n-1)
		if err != nil {
			return nil, err
		}
		t := checkpoint(b)
		if t.blocks() != n || !t.sumOK() || t.version() == 0 {
			continue
		}
		if tail == nil || int64(t.version()-tail.version()) > 0 {
			tail = t
		}
	}
	return tail, nil
}

// newerAgain is the pack that counts where one is damaged, would be the newer one, and
// can be made whole; and what it takes. Linux takes the older one, and all that was
// written since is gone.
func (g *Geometry) newerAgain(d dev.Device, packs [packCount]*pack) (*pack, *ends, error) {
	for i, p := range packs {
		other := packs[packCount-1-i]
		if p.fault == nil || other.fault != nil {
			continue
		}
		e, err := g.rightEnd(d, p)
		if err != nil {
			return nil, nil, err
		}
		if e != nil && int64(e.cp.version()-other.cp.version()) > 0 {
			return &pack{start: p.start, cp: e.cp}, e, nil
		}
	}
	return nil, nil, nil
}

// refuseEnds refuses to write over a pack that can be made whole. What its last block
// makes count was finished; where that one was begun a mount, and who forces it, may go
// on from the pack before.
func (l *loaded) refuseEnds(packs [packCount]*pack, o loadOptions) error {
	newer, e, err := l.g.newerAgain(l.d, packs)
	switch {
	case err != nil || newer == nil:
		return err
	case e.damaged == newer.start:
		return damagedf("the first block of the newer checkpoint pack is damaged, and a change would be written over it; run check -p, which makes it whole")
	case o.force:
		return nil
	}
	return vol.Dirtyf("the last block of the newer checkpoint pack was not written whole; run check -p, which does that")
}

// endsFix writes the damaged end of a pack.
func (c *checker) endsFix(e *ends) vol.Fix {
	return c.fix(gradeShape, func(context.Context, vol.Repair) error {
		_, err := c.d.WriteAt(e.cp, c.g.BlockOff(e.damaged))
		return err
	})
}
