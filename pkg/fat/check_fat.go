package fat

import (
	"context"
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// checkFAT compares the copies, settles which one counts, and loads the
// allocation map from it.
func (c *checker) checkFAT(ctx context.Context, r *vol.Report) error {
	diff, used, load, err := c.readFATs(ctx)
	if err != nil {
		return err
	}
	first := c.fat
	if err := c.judgeCopies(ctx, r, diff); err != nil {
		return err
	}
	if err := c.checkHead(r); err != nil {
		return err
	}
	if c.fat != first {
		if used, load, err = loadMap(ctx, c.d, c.g, c.fat, 0); err != nil {
			return err
		}
	}
	c.used, c.bad = used, load.bad
	c.stats.BytesRead += load.bytes
	c.stats.Clusters = uint64(c.g.Clusters)
	c.stats.Used, c.stats.Bad = used.CountUsed()-uint64(load.bad), uint64(load.bad)
	c.stats.Free, c.stats.Counted = used.CountFree(), true
	if c.bad > 0 {
		r.Found(c.cat.Found("bad-clusters", vol.At(c.g.FatOff(c.fat), c.g.FatBytes()), vol.GotWant(c.bad, nil)), nil)
	}
	return c.checkTail(r)
}

// readFATs loads the map from the FAT that counts and compares the copies. All
// are read once; only if they differ they are read again to see where.
func (c *checker) readFATs(ctx context.Context) (diff []fatDiff, used *space.Map, load loadStats, err error) {
	used, load, equal, err := loadCompared(ctx, c.d, c.g, c.fat, c.workers())
	if err == nil && !equal {
		diff, err = c.compareFats(ctx)
	}
	if equal {
		c.stats.BytesRead += load.bytes * int64(c.g.Fats-1)
	}
	return diff, used, load, err
}

// fatDiff is what compareFats saw of one FAT.
type fatDiff struct {
	fat     int
	first   int64 // byte in the FAT, -1 where it is equal
	sectors int64 // that differ
}

const fatPiece = 1 << 20

// compareFats holds every other copy against the FAT that counts, entry bytes
// only: what lies behind the last entry is nobody's.
func (c *checker) compareFats(ctx context.Context) ([]fatDiff, error) {
	var out []fatDiff
	for k := 0; k < c.g.Fats; k++ {
		if k == c.fat {
			continue
		}
		d := fatDiff{fat: k, first: -1}
		err := c.eachDiff(ctx, c.fat, k, func(off int64, _ []byte) error {
			if d.first < 0 {
				d.first = off
			}
			d.sectors++
			return nil
		})
		if err != nil {
			return nil, err
		}
		if d.first >= 0 {
			out = append(out, d)
		}
	}
	return out, nil
}

// eachDiff calls fn for each sector of FAT b that differs from FAT a, with its
// offset in the FAT and what a holds there. Places where both are holes are
// not read.
func (c *checker) eachDiff(ctx context.Context, a, b int, fn func(off int64, want []byte) error) error {
	end := c.g.entryBytes()
	x, y := make([]byte, min(fatPiece, end)), make([]byte, min(fatPiece, end))
	for off := c.nextEither(a, b, 0); off < end; off = c.nextEither(a, b, off+fatPiece) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(fatPiece, end-off)
		if _, err := c.d.ReadAt(x[:n], c.g.FatOff(a)+off); err != nil {
			return err
		}
		if _, err := c.d.ReadAt(y[:n], c.g.FatOff(b)+off); err != nil {
			return err
		}
		c.stats.BytesRead += 2 * n
		if entriesDiffer(c.g.Type, x[:n], y[:n]) < 0 {
			continue
		}
		for s := int64(0); s < n; s += c.g.SectorSize {
			e := min(s+c.g.SectorSize, n)
			if entriesDiffer(c.g.Type, x[s:e], y[s:e]) >= 0 {
				if err := fn(off+s, x[s:e]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// nextEither is the first offset in the FAT, from off on, where FAT a or b
// may hold data; a multiple of the sector size.
func (c *checker) nextEither(a, b int, off int64) int64 {
	next := c.g.FatBytes()
	for _, k := range []int{a, b} {
		base := c.g.FatOff(k)
		if data := c.d.NextData(base + off); !data.Empty() {
			next = min(next, max(off, (data.Off-base)/c.g.SectorSize*c.g.SectorSize))
		}
	}
	return next
}

// judgeCopies reports FATs that differ, and settles on one.
func (c *checker) judgeCopies(ctx context.Context, r *vol.Report, diff []fatDiff) error {
	if !c.g.Mirrored {
		return c.judgeActive(ctx, r, len(diff) > 0)
	}
	if len(diff) == 0 {
		return nil
	}
	best, fits, err := c.chooseFAT(ctx)
	if err != nil {
		return err
	}
	name, why := fixMirror, ""
	var better []fatEntry
	if !fits {
		if best, better, fits, err = c.mergeAny(ctx, best); err != nil {
			return err
		}
		if len(better) > 0 {
			why = textf("; entries that another has better: %d", len(better))
		}
	}
	if !fits || len(better) > 0 {
		// Which one is right is not settled: as long as it is not, what seems
		// to be wrong with files may be right by the other.
		r.Hold()
	}
	if !fits {
		name = fixChoose
	}
	first := diff[0]
	c.fat = best
	r.Found(c.cat.Found("fats-differ", vol.At(c.g.FatOff(first.fat)+first.first, c.g.SectorSize), vol.Offer(name),
		vol.Detail("in %d of its sectors; FAT %d fits the directories best%s", first.sectors, best, why)),
		func(ctx context.Context, _ vol.Repair) error {
			if err := c.takeEntries(best, better); err != nil {
				return err
			}
			return c.mirrorFrom(ctx, best)
		})
	return nil
}

// judgeActive reports that only one FAT counts. Where the others differ it is
// held against the directories: what readers that do not look at the flag read
// in another FAT may be right after all.
func (c *checker) judgeActive(ctx context.Context, r *vol.Report, differ bool) error {
	loc, why := vol.At(offExtFlags, 2), vol.Detail("FAT %d is the one that counts", c.fat)
	if !differ {
		r.Found(c.cat.Found("mirror-off-equal", loc, why), nil)
		return nil
	}
	n, err := c.faults(ctx, c.fat)
	if err != nil {
		return err
	}
	name := fixMirror
	if n > 1 {
		name = fixChoose
		r.Hold()
	}
	r.Found(c.cat.Found("mirror-off", loc, why, vol.Offer(name)), func(ctx context.Context, _ vol.Repair) error {
		if err := c.mirrorFrom(ctx, c.fat); err != nil {
			return err
		}
		return c.setField(offExtFlags, 2, 0)
	})
	return nil
}

// chooseFAT holds every copy against the directories and returns the one with
// the fewest faults; among equals one whose first entry is right, then the
// first. fits says that it has none.
func (c *checker) chooseFAT(ctx context.Context) (best int, fits bool, err error) {
	lowest := uint64(1<<64 - 1)
	for k := 0; k < c.g.Fats; k++ {
		n, err := c.faults(ctx, k)
		if err != nil {
			return 0, false, err
		}
		if n < lowest {
			lowest, best = n, k
		}
	}
	return best, lowest <= weightHead, nil // a wrong head alone is no reason for doubt
}

// What faults makes of each contradiction. A chain that breaks tells against a FAT
// far more than clusters without an owner, which a cut may leave in any; a wrong
// entry 0, which no chain needs, only decides between FATs that are else alike. A
// FAT with which there is no root directory at all is out of the question.
const (
	weightHead   = 1
	weightOrphan = 4
	weightChain  = 256
	weightRoot   = 1 << 40
)

// faults weighs what contradicts the directories if FAT k is taken for right.
func (c *checker) faults(ctx context.Context, k int) (uint64, error) {
	used, load, err := loadMap(ctx, c.d, c.g, k, 0)
	if err != nil {
		return 0, err
	}
	w := newWalk(c, newTable(c.d, c.g, k), used)
	w.quiet = true
	if err := w.run(ctx); err != nil {
		return 0, err
	}
	n := weightChain * uint64(len(w.faults)+len(w.shared)+len(w.twice))
	if w.rootBroken || w.dirs[0].garbage {
		n += weightRoot
	}
	err = w.lostRuns(func(space.Extent) error {
		n += weightOrphan
		return nil
	})
	if err != nil {
		return 0, err
	}
	if e, err := w.tab.raw(0); err != nil {
		return 0, err
	} else if e != c.entry0() {
		n += weightHead
	}
	c.stats.BytesRead += load.bytes
	return n, nil
}

// mirrorFrom copies FAT k over the others, where they differ.
func (c *checker) mirrorFrom(ctx context.Context, k int) error {
	for other := 0; other < c.g.Fats; other++ {
		if other == k {
			continue
		}
		err := c.eachDiff(ctx, k, other, func(off int64, want []byte) error {
			_, err := c.d.WriteAt(want, c.g.FatOff(other)+off)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// entry0 is what FAT entry 0 must be: the media byte, and ones above it.
func (c *checker) entry0() uint32 {
	switch media := uint32(c.g.Media); c.g.Type {
	case FAT12:
		return 0xF00 | media
	case FAT16:
		return 0xFF00 | media
	default:
		return 0x0FFFFF00 | media
	}
}

// checkHead looks at the two entries that belong to no cluster.
func (c *checker) checkHead(r *vol.Report) error {
	t := newTable(c.d, c.g, c.fat)
	e0, err := t.raw(0)
	if err != nil {
		return err
	}
	e1, err := t.raw(1)
	if err != nil {
		return err
	}
	if c.g.Type == FAT32 {
		e0, e1 = e0&entryMask, e1&entryMask
	}
	if want := c.entry0(); e0 != want && mediaOK(c.g.Media) {
		r.Found(c.cat.Found("media-mismatch", vol.At(c.g.FatOff(c.fat), 4), vol.GotWant(hex(e0), hex(want))), vol.Always(func() error { return c.setHead(0, want) }))
	}
	ones, flags := headBits(c.g.Type)
	if e1|flags != ones {
		r.Found(c.cat.Found("entry1-garbage", vol.At(c.g.FatOff(c.fat), 8), vol.GotWant(hex(e1), hex(ones))), vol.Always(func() error { return c.setHead(1, ones) }))
	}
	return nil
}

// headBits are all bits of entry 1, and those that are flags.
func headBits(t Type) (ones, flags uint32) {
	switch t {
	case FAT12:
		return 0xFFF, 0
	case FAT16:
		return 0xFFFF, cleanShutdown16 | noHardError16
	default:
		return entryMask, cleanShutdown32 | noHardError32
	}
}

// setHead writes entry 0 or 1 into every FAT that counts.
func (c *checker) setHead(i, v uint32) error { return newTable(c.d, c.g, c.fat).set(i, v) }

// checkTail looks at the entries behind the last cluster: nobody depends on
// them.
func (c *checker) checkTail(r *vol.Report) error {
	off, err := c.tailEntry(c.g, c.fat)
	if err != nil || off < 0 {
		return err
	}
	r.Found(c.cat.Found("tail-nonzero", vol.At(off, 4)), nil)
	return nil
}

// tailEntry is where FAT number k of a FAT32 holds an entry behind that of the
// last cluster, or -1. It is looked for up to a bound.
func (c *checker) tailEntry(g *Geometry, k int) (int64, error) {
	from := g.entryBytes()
	n := min(g.FatBytes()-from, fatPiece) &^ 3
	if g.Type != FAT32 || n <= 0 {
		return -1, nil
	}
	b := make([]byte, n)
	if _, err := c.d.ReadAt(b, g.FatOff(k)+from); err != nil {
		return -1, err
	}
	for i := int64(0); i < n; i += 4 {
		if binary.LittleEndian.Uint32(b[i:])&entryMask != 0 {
			return g.FatOff(k) + from + i, nil
		}
	}
	return -1, nil
}
