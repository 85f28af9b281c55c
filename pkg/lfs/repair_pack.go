package lfs

import (
	"context"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// superFix changes both superblocks, those of them that can be used.
func (c *checker) superFix(fn func(b superblock)) vol.Fix {
	return c.fix(gradeShape, func(context.Context, vol.Repair) error {
		first, second, err := readSupers(c.d)
		if err != nil {
			return err
		}
		for _, s := range []*superCopy{&first, &second} {
			if s.g == nil {
				continue
			}
			fn(s.raw)
			if err := c.writeSuper(s.raw, s.off); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *checker) writeSuper(b superblock, off int64) error {
	if b.has(featSuperChecksum) {
		b.put32(sbChecksum, superSum(b))
	}
	_, err := c.d.WriteAt(b, off)
	return err
}

// resealFix writes the checksum of both superblocks where nothing else speaks against
// them and both say the same. Where they differ nothing tells which one was hit.
func (c *checker) resealFix(first, second *superCopy) vol.Fix {
	if first.fault == nil || first.fault.slug != "sb-checksum" || second.raw == nil || first.differ(second) {
		return nil
	}
	return c.fix(gradeShape, func(context.Context, vol.Repair) error {
		for _, s := range []*superCopy{first, second} {
			s.raw.put32(sbChecksumOffset, sbChecksum)
			if err := c.writeSuper(s.raw, s.off); err != nil {
				return err
			}
		}
		return nil
	})
}

// superCopyFix copies the superblock that counts over the other one.
func (c *checker) superCopyFix(good *superCopy, first bool) vol.Fix {
	return c.fix(gradeShape, func(context.Context, vol.Repair) error {
		off := int64(superOffset)
		if !first {
			off += good.g.BlockSize
		}
		if dev.CheckRange("write", dev.Range{Off: off, Len: superLen}, c.d.Size()) != nil {
			return vol.ErrNotNow
		}
		_, err := c.d.WriteAt(good.raw, off)
		return err
	})
}

// packFix writes over a pack that cannot be used.
func (c *checker) packFix() vol.Fix {
	return c.fix(gradeShape, func(ctx context.Context, _ vol.Repair) error {
		c.m.packToo = true
		_, err := c.writer(ctx)
		if err != nil {
			c.m.packToo = false
		}
		return err
	})
}

// journalFix has the next checkpoint go without what is not valid of a journal.
func (c *checker) journalFix(part int) vol.Fix {
	return c.mended(gradeShape, func(w *writer) { w.carry.journals[part] = nil })
}

// flagFix has the next checkpoint go without a mark.
func (c *checker) flagFix(g grade, bits uint32) vol.Fix {
	return c.mended(g, func(w *writer) { w.flagsGone |= bits })
}

// logFix moves a log to a segment that is free.
func (c *checker) logFix(g grade, f *logFault) vol.Fix {
	switch f.slug {
	case "log-alloc":
		return c.mended(g, func(w *writer) { delete(w.carry.allocs, f.log) })
	case "log-summary":
		return c.mended(g, func(w *writer) { delete(w.carry.kinds, f.log) })
	}
	return c.fix(g, func(ctx context.Context, _ vol.Repair) error {
		if err := c.canWrite(); err != nil {
			return err
		}
		if c.m.w != nil {
			return vol.ErrNotNow // in the next round
		}
		if err := c.needSIT(ctx); err != nil {
			return err
		}
		if !c.canPlace(f.log) {
			return vol.NotNow("no segment is free for it")
		}
		c.m.place(f.log)
		return nil
	})
}

// place has a log moved when there is a writer.
func (m *mender) place(log int) {
	if m.placing == nil {
		m.placing = map[int]bool{}
	}
	m.placing[log] = true
}

// reserveFix sets what is kept back for collecting garbage as format would.
func (c *checker) reserveFix() vol.Fix {
	return c.fix(gradeShape, func(ctx context.Context, _ vol.Repair) error {
		l := &layout{Geometry: *c.g}
		o := l.bestOverhead()
		if o == 0 || l.reservedFor(o) <= 0 || l.overprovFor(o) >= int64(c.g.MainSegments) {
			return vol.ErrNotNow
		}
		w, err := c.writer(ctx)
		if err != nil {
			return err
		}
		w.s.cp.put32(cpReserved, uint32(l.reservedFor(o)))
		w.s.cp.put32(cpOverprovision, uint32(l.overprovFor(o)))
		return nil
	})
}

// userBlocksFix sets the blocks that users may have: all that are not kept back,
// [Linux] behaviour f2fs_sanity_check_ckpt; if there are more in use, those.
func (c *checker) userBlocksFix() vol.Fix {
	return c.fix(gradeCount, func(ctx context.Context, _ vol.Repair) error {
		cp := c.s.cp
		if uint64(cp.overprovision()) >= uint64(c.g.MainSegments) {
			return vol.ErrNotNow
		}
		user := uint64(c.g.MainSegments-cp.overprovision()) * segmentBlocks
		user = max(user, cp.validBlocks())
		if c.g.userBlocksFault(user, cp.validBlocks()) != "" {
			return vol.ErrNotNow
		}
		w, err := c.writer(ctx)
		if err != nil {
			return err
		}
		w.s.cp.put64(cpUserBlocks, user)
		w.userBlocks = user
		return nil
	})
}

// dropOrphan takes an inode off the list of orphans.
func (c *checker) dropOrphan(ino uint32) vol.Fix {
	return c.mended(gradeShape, func(w *writer) {
		w.orphans = slices.DeleteFunc(w.orphans, func(o uint32) bool { return o == ino })
	})
}

// wrongPlaces are the logs that write where they cannot.
func (c *checker) wrongPlaces() []logFault {
	fs := c.s.logFaults()
	if c.sit != nil {
		fs = append(fs, c.s.usedLogs(c.sit)...)
	}
	return slices.DeleteFunc(fs, func(f logFault) bool { return f.slug != "log-place" })
}
