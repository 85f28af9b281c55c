package lfs

import (
	"context"
	"fmt"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// describe is Driver.Describe.
func describe(d dev.Device) (vol.Info, error) {
	first, second, err := readSupers(d)
	if err != nil {
		return vol.Info{}, err
	}
	used := &first
	if first.g == nil {
		used = &second
	}
	if used.g == nil {
		return vol.Info{}, noVolume(d, &first)
	}
	info := summarise(used.g, used.raw)
	info.Fields = superFields(used)
	info.Fields = append(info.Fields,
		vol.Field{Name: "superblock_1_valid", Offset: first.off, Value: first.g != nil},
		vol.Field{Name: "superblock_2_valid", Offset: second.off, Value: second.g != nil},
		vol.Field{Name: "superblocks_equal", Offset: second.off, Value: !first.differ(&second)})
	info.Fields = append(info.Fields, packFields(d, used.g)...)
	vol.Explain(info.Fields, meanings())
	return info, nil
}

// noVolume is why there is nothing to describe: vol.ErrDamaged if there is
// something of F2FS to be damaged, else vol.ErrNotVolume.
func noVolume(d dev.Device, first *superCopy) error {
	if first.raw == nil {
		return fmt.Errorf("%w: %d bytes are less than a superblock", vol.ErrNotVolume, d.Size())
	}
	kind := vol.ErrNotVolume
	if first.raw.magic() == superMagic {
		kind = vol.ErrDamaged
	}
	return fmt.Errorf("%w: superblock: %w", kind, first.fault)
}

// summarise is what a superblock with geometry g says in short. Clusters are
// the blocks of the main area: those that are kept back, too.
func summarise(g *Geometry, b superblock) vol.Info {
	return vol.Info{
		Type: "f2fs", Label: b.label(), ID: uuidText(b.uuid()), Size: g.VolumeBytes(),
		SectorSize: int(g.SectorSize), ClusterSize: int(g.BlockSize), Clusters: g.MainBlocks(),
	}
}

// fieldKind is how a field is stored, and shown.
type fieldKind int

const (
	num8 fieldKind = iota
	num16
	num32
	num64
	bits16
	bits32
	text
)

// fieldAt is a field by its name in [Linux] include/linux/f2fs_fs.h. A field
// with a count is that many numbers.
type fieldAt struct {
	name  string
	off   int
	kind  fieldKind
	count int
}

// superLayout are the fields of struct f2fs_super_block that are read alike;
// superFields adds the others.
func superLayout() []fieldAt {
	return []fieldAt{
		{"magic", sbMagic, bits32, 0}, {"major_ver", sbMajor, num16, 0}, {"minor_ver", sbMinor, num16, 0},
		{"log_sectorsize", sbLogSector, num32, 0}, {"log_sectors_per_block", sbLogSectorsBlock, num32, 0},
		{"log_blocksize", sbLogBlock, num32, 0}, {"log_blocks_per_seg", sbLogSegment, num32, 0},
		{"segs_per_sec", sbSegsPerSec, num32, 0}, {"secs_per_zone", sbSecsPerZone, num32, 0},
		{"checksum_offset", sbChecksumOffset, num32, 0}, {"block_count", sbBlocks, num64, 0},
		{"section_count", sbSections, num32, 0}, {"segment_count", sbSegments, num32, 0},
		{"segment_count_ckpt", sbSegmentsCP, num32, 0}, {"segment_count_sit", sbSegmentsSIT, num32, 0},
		{"segment_count_nat", sbSegmentsNAT, num32, 0}, {"segment_count_ssa", sbSegmentsSSA, num32, 0},
		{"segment_count_main", sbSegmentsMain, num32, 0}, {"segment0_blkaddr", sbSegment0, num32, 0},
		{"cp_blkaddr", sbCP, num32, 0}, {"sit_blkaddr", sbSIT, num32, 0}, {"nat_blkaddr", sbNAT, num32, 0},
		{"ssa_blkaddr", sbSSA, num32, 0}, {"main_blkaddr", sbMain, num32, 0},
		{"root_ino", sbRootIno, num32, 0}, {"node_ino", sbNodeIno, num32, 0}, {"meta_ino", sbMetaIno, num32, 0},
		{"extension_count", sbColdExtensions, num32, 0}, {"cp_payload", sbCPPayload, num32, 0},
		{"version", sbVersion, text, versionLen}, {"init_version", sbInitVersion, text, versionLen},
		{"feature", sbFeatures, bits32, 0}, {"encryption_level", sbEncryptLevel, num8, 0},
		{"qf_ino", sbQuotaInos, num32, quotaKinds}, {"hot_ext_count", sbHotExtensions, num8, 0},
		{"s_encoding", sbEncoding, num16, 0}, {"s_encoding_flags", sbEncodingFlags, bits16, 0},
		{"s_stop_reason", sbStopReasons, num8, stopReasonsLen}, {"s_errors", sbErrors, num8, errorsLen}, {"crc", sbChecksum, bits32, 0},
	}
}

// packLayout are the fields of struct f2fs_checkpoint.
func packLayout() []fieldAt {
	return []fieldAt{
		{"checkpoint_ver", cpVersion, num64, 0}, {"user_block_count", cpUserBlocks, num64, 0}, {"valid_block_count", cpValidBlocks, num64, 0},
		{"rsvd_segment_count", cpReserved, num32, 0}, {"overprov_segment_count", cpOverprovision, num32, 0},
		{"free_segment_count", cpFreeSegments, num32, 0}, {"cur_node_segno", cpNodeSegments, num32, logsPerKind},
		{"cur_node_blkoff", cpNodeOffsets, num16, logsPerKind}, {"cur_data_segno", cpDataSegments, num32, logsPerKind},
		{"cur_data_blkoff", cpDataOffsets, num16, logsPerKind}, {"ckpt_flags", cpFlags, bits32, 0},
		{"cp_pack_total_block_count", cpBlocks, num32, 0}, {"cp_pack_start_sum", cpStartSum, num32, 0},
		{"valid_node_count", cpValidNodes, num32, 0}, {"valid_inode_count", cpValidInodes, num32, 0}, {"next_free_nid", cpNextNid, num32, 0},
		{"sit_ver_bitmap_bytesize", cpSitBitmap, num32, 0}, {"nat_ver_bitmap_bytesize", cpNatBitmap, num32, 0},
		{"cp_checksum_offset", cpChecksumOffset, num32, 0}, {"elapsed_time", cpElapsed, num64, 0}, {"alloc_type", cpAllocTypes, num8, logCount},
	}
}

// value reads the field from b.
func (f fieldAt) value(b []byte) any {
	s := superblock(b) // any view reads numbers
	one := func(off int) any {
		switch f.kind {
		case num8:
			return b[off]
		case num16:
			return s.u16(off)
		case num32:
			return s.u32(off)
		case num64:
			return s.u64(off)
		case bits16:
			return hex(s.u16(off))
		default:
			return hex(s.u32(off))
		}
	}
	switch {
	case f.kind == text:
		return cString(b[f.off:][:f.count])
	case f.count == 0:
		return one(f.off)
	}
	size := map[fieldKind]int{num8: 1, num16: 2, num32: 4}[f.kind]
	vs := make([]string, f.count)
	for i := range vs {
		vs[i] = fmt.Sprint(one(f.off + size*i))
	}
	return strings.Join(vs, " ")
}

// fields reads all fields of a layout from b, which starts at off.
func fields(layout []fieldAt, b []byte, off int64) []vol.Field {
	fs := make([]vol.Field, 0, len(layout))
	for _, f := range layout {
		fs = append(fs, vol.Field{Name: f.name, Offset: off + int64(f.off), Value: f.value(b)})
	}
	return fs
}

// superFields are all fields of a superblock.
func superFields(c *superCopy) []vol.Field {
	fs := fields(superLayout(), c.raw, c.off)
	add := func(name string, off int, v any) {
		fs = append(fs, vol.Field{Name: name, Offset: c.off + int64(off), Value: v})
	}
	b := c.raw
	add("features", sbFeatures, featureList(b.features()))
	add("uuid", sbUUID, uuidText(b.uuid()))
	add("volume_name", sbLabel, b.label())
	cold, hot := int(b.u32(sbColdExtensions)), int(b[sbHotExtensions])
	add("cold_extensions", sbExtensions, extensionList(b, 0, cold))
	add("hot_extensions", sbExtensions+extensionLen*cold, extensionList(b, cold, cold+hot))
	add("encrypt_pw_salt", sbEncryptSalt, fmt.Sprintf("%x", []byte(b[sbEncryptSalt:sbEncryptSalt+saltLen])))
	for i := range c.g.Devices {
		path, segments := b.device(i)
		add(fmt.Sprintf("device_%d_path", i), sbDevices+deviceLen*i, path)
		add(fmt.Sprintf("device_%d_segments", i), sbDevices+deviceLen*i+devicePathLen, segments)
	}
	return fs
}

// extensionList are the extensions from the from-th on.
func extensionList(b superblock, from, to int) string {
	var list []string
	for i := from; i < to; i++ {
		list = append(list, b.extension(i))
	}
	return strings.Join(list, " ")
}

// packFields say which checkpoint packs are valid, and are all fields of the
// one that counts, if there is one.
func packFields(d dev.Device, g *Geometry) []vol.Field {
	var packs [packCount]*pack
	var fs []vol.Field
	for i := range packs {
		off := g.BlockOff(g.PackBlock(i))
		p := readPack(d, g, i)
		packs[i] = p
		name := fmt.Sprintf("checkpoint_%d", i+1)
		fs = append(fs, vol.Field{Name: name + "_valid", Offset: off, Value: p.fault == nil})
		if p.fault == nil {
			fs = append(fs, vol.Field{Name: name + "_version", Offset: off, Value: p.cp.version()})
		} else {
			fs = append(fs, vol.Field{Name: name + "_fault", Offset: off, Value: p.fault.detail})
		}
	}
	if p := choosePack(packs); p != nil {
		fs = append(fs, fields(packLayout(), p.cp, g.BlockOff(p.start))...)
		fs = append(fs, vol.Field{Name: "checkpoint_flags", Offset: g.BlockOff(p.start) + cpFlags, Value: packFlags(p.cp.flags())})
		fs = append(fs, replayFields(d, g, p)...)
	}
	return fs
}

// replayFields say how many nodes of files that were synced since the checkpoint
// are in the log that a mount replays, if that can be told.
func replayFields(d dev.Device, g *Geometry, p *pack) []vol.Field {
	s, f, err := readState(d, g, p)
	if err != nil || f != nil {
		return nil
	}
	rec, err := readRecovery(context.Background(), d, g, s)
	if err != nil {
		return nil
	}
	return []vol.Field{{Name: "replay_nodes", Offset: g.BlockOff(rec.first), Value: rec.nodes}}
}

// packFlags names the flags of a checkpoint.
func packFlags(bits uint32) string {
	var names []string
	for _, f := range []struct {
		bit  uint32
		name string
	}{
		{cpUmount, "umount"}, {cpOrphans, "orphan_present"}, {cpCompact, "compact_sum"}, {cpError, "error"}, {cpFsck, "fsck"},
		{cpFastboot, "fastboot"}, {cpCRCRecovery, "crc_recovery"}, {cpNatBits, "nat_bits"}, {cpTrimmed, "trimmed"},
		{cpNoCRCRecovery, "nocrc_recovery"}, {cpLargeNat, "large_nat_bitmap"}, {cpQuotaFsck, "quota_need_fsck"},
		{cpDisabled, "disabled"}, {cpDisabledQuick, "disabled_quick"}, {cpResize, "resizefs"},
	} {
		if bits&f.bit != 0 {
			names = append(names, f.name)
			bits &^= f.bit
		}
	}
	if bits != 0 {
		names = append(names, hex(bits))
	}
	return strings.Join(names, " ")
}
