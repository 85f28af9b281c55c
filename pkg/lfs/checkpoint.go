package lfs

import (
	"context"
	"encoding/binary"
	"slices"
)

// commit writes the checkpoint that makes a change count: the tables to their
// other copies, the other pack with the next version, and its last block after
// all else is down. [Linux] behaviour f2fs_write_checkpoint(), as it is done when
// a volume is unmounted.
func (w *writer) commit(ctx context.Context) error {
	if err := w.putQuotas(); err != nil {
		return err
	}
	sit, err := w.writeSIT(ctx)
	if err != nil {
		return err
	}
	nat, err := w.writeNAT(ctx)
	if err != nil {
		return err
	}
	return w.writePack(sit, nat)
}

// turnOver turns bit i of a version bitmap over, and tells which copy counts then.
func turnOver(bits []byte, i uint32) (second bool) {
	bits[i>>3] ^= 0x80 >> (i & 7)
	return testMSB(bits, i)
}

// writeSIT writes the blocks of SIT that change, to the copies that do not
// count, and returns the bitmap that says so. The journal is left empty: what
// it said goes to the blocks, too.
func (w *writer) writeSIT(ctx context.Context) ([]byte, error) {
	over := w.s.sitOverrides()
	segnos := make([]uint32, 0, len(w.sit.changed)+len(over))
	for segno := range w.sit.changed {
		segnos = append(segnos, segno)
	}
	for segno := range over {
		if segno < w.g.MainSegments {
			segnos = append(segnos, segno)
		}
	}
	slices.Sort(segnos)
	versions := slices.Clone(w.s.sitVersions)
	for i := 0; i < len(segnos); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		index, _ := w.g.SITIndex(segnos[i])
		b, err := readBlock(w.d, w.g, w.g.SITAddr(index, testMSB(versions, index)))
		if err != nil {
			return nil, err
		}
		for ; i < len(segnos); i++ {
			at, slot := w.g.SITIndex(segnos[i])
			if at != index {
				break
			}
			e := sitEntry(b[slot*sitLen:][:sitLen])
			if o, ok := over[segnos[i]]; ok {
				copy(e, o)
			}
			if s := w.sit.changed[segnos[i]]; s != nil {
				s.put(e, w.sit.count[segnos[i]], w.s.cp.u64(cpElapsed))
			}
		}
		if _, err := w.d.WriteAt(b, w.g.BlockOff(w.g.SITAddr(index, turnOver(versions, index)))); err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// writeNAT does the same for NAT.
func (w *writer) writeNAT(ctx context.Context) ([]byte, error) {
	for nid := range w.nat.over {
		if nid >= w.g.NIDs() {
			continue
		}
		index, _ := w.g.NATIndex(nid)
		n, err := w.nat.block(index)
		if err != nil {
			return nil, err
		}
		n.dirty = true
	}
	var indexes []uint32
	for index, n := range w.nat.blocks {
		if n.dirty {
			indexes = append(indexes, index)
		}
	}
	slices.Sort(indexes)
	versions := slices.Clone(w.s.natVersions)
	for _, index := range indexes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, err := w.d.WriteAt(w.nat.blocks[index].b, w.g.BlockOff(w.g.NATAddr(index, turnOver(versions, index)))); err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// writePack writes the pack that does not count: all but its last block, which
// comes after everything else.
func (w *writer) writePack(sit, nat []byte) error {
	start := w.g.PackBlock(0)
	if w.s.p.start == start {
		start = w.g.PackBlock(1)
	}
	bs := w.g.BlockSize
	orphans := w.orphanBlocks()
	first := 1 + w.s.payload + uint32(len(orphans)) // of the summaries
	blocks := first + logCount + 1
	bits, err := w.natBits()
	if err != nil {
		return err
	}
	if bits != nil && (blocks+w.g.natBitsBlocks() > segmentBlocks || !w.g.natBitsFit()) {
		bits = nil
	}
	if blocks > segmentBlocks {
		return damagedf("a checkpoint pack of %d blocks does not fit its segment", blocks)
	}
	b := make([]byte, int64(blocks)*bs)
	at := func(i uint32) []byte { return b[int64(i)*bs:][:bs] }
	w.putVersions(b, sit, nat)
	for i, o := range orphans {
		copy(at(1+w.s.payload+uint32(i)), o)
	}
	for i := range w.logs.heads {
		sum := summaryBlock(at(first + uint32(i))[:w.g.SummaryBytes])
		copy(sum, w.logs.heads[i].sum)
		w.carry.putSummary(sum, i, w.logs.heads[i].segno)
	}
	cp := checkpoint(at(0))
	w.putCheckpoint(cp, first, blocks, bits != nil)
	copy(at(blocks-1), cp)
	if err := w.putNATBits(bits, cp, start); err != nil {
		return err
	}
	if _, err := w.d.WriteAt(b[:int64(blocks-1)*bs], w.g.BlockOff(start)); err != nil {
		return err
	}
	if err := w.d.Sync(); err != nil {
		return err
	}
	if _, err := w.d.WriteAt(at(blocks-1), w.g.BlockOff(start+blocks-1)); err != nil {
		return err
	}
	return w.d.Sync() // before another change takes the pack that was left
}

// putVersions writes the version bitmaps to where readVersions finds them: b is
// the first block of the pack and its payload.
func (w *writer) putVersions(b, sit, nat []byte) {
	copy(b, w.s.cp[:cpBitmaps])
	switch {
	case w.s.cp.has(cpLargeNat):
		at := cpBitmaps + 4 // behind the checksum
		copy(b[at+copy(b[at:], nat):], sit)
	case w.s.payload > 0:
		copy(b[cpBitmaps:], nat)
		copy(b[w.g.BlockSize:], sit)
	default:
		copy(b[cpBitmaps+copy(b[cpBitmaps:], sit):], nat)
	}
}

// putCheckpoint updates the block that the pack starts and ends with.
func (w *writer) putCheckpoint(cp checkpoint, first, blocks uint32, bits bool) {
	cp.put64(cpVersion, w.s.cp.version()+1)
	cp.put64(cpValidBlocks, w.validBlocks)
	cp.put32(cpValidNodes, w.validNodes)
	cp.put32(cpValidInodes, w.validInodes)
	cp.put32(cpFreeSegments, w.freeSegments())
	cp.put32(cpNextNid, w.nat.next)
	for i := range w.logs.heads {
		h := &w.logs.heads[i]
		cp.putLog(i, h.segno, uint16(h.next))
		cp[cpAllocTypes+i] = allocLFS
		if h.fills {
			cp[cpAllocTypes+i] = allocSSR
		}
	}
	w.carry.put(cp)
	flags := w.flags()
	if bits {
		flags |= cpNatBits
	}
	cp.put32(cpFlags, flags)
	cp.put32(cpBlocks, blocks)
	cp.put32(cpStartSum, first)
	cp.putSum()
}

// flags of the new checkpoint: the volume is unmounted, and nodes that follow
// are told by the checksum. The hints that are not kept up, nat_bits and what
// was trimmed, go. [Linux] behaviour update_ckpt_flags().
func (w *writer) flags() uint32 {
	f := w.s.cp.flags()&^(cpOrphans|cpCompact|cpFastboot|cpNatBits|cpTrimmed|cpNoCRCRecovery) | cpUmount | cpCRCRecovery
	if len(w.orphans) > 0 {
		f |= cpOrphans
	}
	return f&^w.flagsGone | w.flagsSet
}

// freeSegments counts segments without a block that no log writes to.
func (w *writer) freeSegments() (n uint32) {
	for segno, count := range w.sit.count {
		if count == 0 && w.logs.headOf(uint32(segno)) < 0 {
			n++
		}
	}
	return n
}

// orphanBlocks are the blocks of the list of files that were deleted while they
// were open.
func (w *writer) orphanBlocks() (out []orphanBlock) {
	per := w.g.per().orphans()
	for part := range slices.Chunk(w.orphans, per) {
		o := make(orphanBlock, w.g.BlockSize)
		for i, ino := range part {
			binary.LittleEndian.PutUint32(o[4*i:], ino)
		}
		binary.LittleEndian.PutUint16(o[len(o)-orphanIndex:], uint16(len(out)+1))
		binary.LittleEndian.PutUint32(o[len(o)-orphanCount:], uint32(len(part)))
		out = append(out, o)
	}
	for _, o := range out {
		binary.LittleEndian.PutUint16(o[len(o)-orphanBlocks:], uint16(len(out)))
	}
	w.carry.putOrphans(out)
	return out
}
