package lfs

import (
	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// superDamages break the superblocks.
func superDamages() []damage {
	field := func(slug string, off int64, v uint32) damage {
		return damage{slug: slug, do: func(l *lab) vol.Location {
			l.editSupers(func(b superblock) { b.put32(int(off), v) })
			return at(superOffset+off, 4)
		}}
	}
	wide := func(slug string, off int64, v uint64) damage {
		return damage{slug: slug, do: func(l *lab) vol.Location {
			l.editSupers(func(b superblock) { b.put64(int(off), v) })
			return at(superOffset+off, 8)
		}}
	}
	both := func(slug, more string, off, n int64, fn func(b superblock, g *Geometry)) damage {
		return damage{slug: slug, more: more, do: func(l *lab) vol.Location {
			l.editSupers(func(b superblock) { fn(b, l.g) })
			return at(superOffset+off, n)
		}}
	}
	return []damage{
		field("sb-magic", sbMagic, 0x12345678),
		field("sb-block-size", sbLogBlock, 15),
		field("sb-segment-size", sbLogSegment, 10),
		field("sb-sector-size", sbLogSectorsBlock, 7),
		wide("sb-block-count", sbBlocks, 1<<33),
		field("sb-segment-count", sbSegments, 8),
		field("sb-section-size", sbSegsPerSec, 0),
		field("sb-section-count", sbSections, 3),
		field("sb-zone-size", sbSecsPerZone, 0),
		field("sb-area-size", sbSegmentsCP, 3),
		field("sb-area-place", sbSIT, 7),
		field("sb-payload", sbCPPayload, 511),
		{slug: "sb-payload", name: " that Linux refuses", more: "sb-payload-pack", do: func(l *lab) vol.Location {
			l.editSupers(func(b superblock) { b.put32(sbCPPayload, linuxPayload) })
			return at(superOffset+sbCPPayload, 4)
		}},
		field("sb-inode-number", sbRootIno, 4),
		field("sb-extensions", sbColdExtensions, 65),
		both("sb-devices", "", sbDevices, maxDevices*deviceLen, func(b superblock, g *Geometry) {
			copy(b[sbDevices:], "/dev/sdb")
			b.put32(sbDevices+devicePathLen, g.Segments+1)
		}),
		{slug: "sb-checksum", with: "sb_checksum", do: func(l *lab) vol.Location {
			for i := range int64(superBlocks) {
				m := []byte{0xFF}
				_, err := l.d.WriteAt(m, i*l.g.BlockSize+superOffset+sbVersion)
				l.must(err)
			}
			return at(superOffset+sbChecksum, 4)
		}},
		{slug: "sb-copy", do: func(l *lab) vol.Location {
			l.editSuper(1, func(b superblock) { b.put32(sbMagic, 0) })
			return at(l.g.BlockSize+superOffset, 4)
		}},
		{slug: "sb-copy", name: " first", do: func(l *lab) vol.Location {
			l.editSuper(0, func(b superblock) { clear(b) })
			return at(superOffset, 4)
		}},
		{slug: "sb-copy", name: " odd", do: func(l *lab) vol.Location {
			l.editSuper(0, func(b superblock) { b.put32(sbFeatures, b.features()|1<<20) })
			return at(superOffset+sbFeatures, 4)
		}},
		{slug: "sb-copy", name: " zoned", do: func(l *lab) vol.Location {
			l.editSuper(0, func(b superblock) { b.put32(sbFeatures, b.features()|featZoned) })
			return at(superOffset+sbFeatures, 4)
		}},
		{slug: "sb-differ", do: func(l *lab) vol.Location {
			l.editSuper(1, func(b superblock) { b[sbVersion] ^= 1 })
			return at(l.g.BlockSize+superOffset, superLen)
		}},
		{slug: "volume-beyond-device", do: func(l *lab) vol.Location {
			l.cut(l.d.Size() - 3*l.g.SegmentBytes())
			return at(superOffset+sbBlocks, 8)
		}},
		both("sb-stop-reason", "", sbStopReasons, stopReasonsLen, func(b superblock, _ *Geometry) { b[sbStopReasons+1] = 1 }),
		both("sb-errors", "", sbErrors, errorsLen, func(b superblock, _ *Geometry) { b[sbErrors] = 2 }),
		both("sb-features", "", sbFeatures, 4, func(b superblock, _ *Geometry) { b.put32(sbFeatures, 1<<31) }),
		both("sb-payload-pack", "", sbCPPayload, 4, func(b superblock, _ *Geometry) { b.put32(sbCPPayload, 1) }),
		both("multi-device", "", sbDevices, maxDevices*deviceLen, func(b superblock, g *Geometry) {
			copy(b[sbDevices:], "/dev/sdb")
			b.put32(sbDevices+devicePathLen, g.Segments)
		}),
		both("multi-device", "", sbDevices, maxDevices*deviceLen, func(b superblock, _ *Geometry) { b.put32(sbFeatures, featZoned) }),
		both("sb-segment-end", "", sbSegments, 4, func(b superblock, g *Geometry) { b.put32(sbSegments, g.Segments+1) }),
		{slug: "sb-sector", do: func(l *lab) vol.Location {
			l.editSupers(func(b superblock) {
				b.put32(sbLogSector, 12)
				b.put32(sbLogSectorsBlock, 0)
			})
			return at(superOffset+sbLogSector, 4)
		}},
		{slug: "sb-encoding", with: "casefold", do: func(l *lab) vol.Location {
			l.editSupers(func(b superblock) { b.put16(sbEncoding, 2) })
			return at(superOffset+sbEncoding, 2)
		}},
		{slug: "sb-feature-lost", with: "extra_attr", do: func(l *lab) vol.Location { return l.loseFeature(featExtraAttr) }},
		{slug: "sb-feature-lost", name: " compression", with: labFeatures, do: func(l *lab) vol.Location { return l.loseFeature(featCompression) }},
		{slug: "sb-page-size", do: func(l *lab) vol.Location {
			*l = *fillLab(newBuilder(l.t, 256<<20, vol.FormatOptions{ClusterSize: 8192}))
			return at(superOffset+sbLogBlock, 4)
		}},
	}
}

// cut shortens the device.
func (m *builder) cut(size int64) {
	d := dev.NewMem(size)
	b := make([]byte, 1<<20)
	for off := int64(0); off < size; off += int64(len(b)) {
		b = b[:min(int64(len(b)), size-off)]
		_, err := m.d.ReadAt(b, off)
		m.must(err)
		if !dev.AllZero(b) {
			_, err = d.WriteAt(b, off)
			m.must(err)
		}
	}
	m.d = d
}
