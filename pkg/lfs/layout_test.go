package lfs

import "testing"

// TestLayout holds offsets and sizes against the structures of [Linux]
// include/linux/f2fs_fs.h, added up field by field.
func TestLayout(t *testing.T) {
	type field struct {
		name string
		off  int
		len  int
	}
	for name, c := range map[string]struct {
		fields []field
		size   int
	}{
		"superblock": {[]field{
			{"magic", sbMagic, 4}, {"major", sbMajor, 2}, {"minor", sbMinor, 2}, {"log_sectorsize", sbLogSector, 4},
			{"log_sectors_per_block", sbLogSectorsBlock, 4}, {"log_blocksize", sbLogBlock, 4}, {"log_blocks_per_seg", sbLogSegment, 4},
			{"segs_per_sec", sbSegsPerSec, 4}, {"secs_per_zone", sbSecsPerZone, 4}, {"checksum_offset", sbChecksumOffset, 4},
			{"block_count", sbBlocks, 8}, {"section_count", sbSections, 4}, {"segment_count", sbSegments, 4},
			{"segment_count_ckpt", sbSegmentsCP, 4}, {"segment_count_sit", sbSegmentsSIT, 4}, {"segment_count_nat", sbSegmentsNAT, 4},
			{"segment_count_ssa", sbSegmentsSSA, 4}, {"segment_count_main", sbSegmentsMain, 4}, {"segment0_blkaddr", sbSegment0, 4},
			{"cp_blkaddr", sbCP, 4}, {"sit_blkaddr", sbSIT, 4}, {"nat_blkaddr", sbNAT, 4}, {"ssa_blkaddr", sbSSA, 4}, {"main_blkaddr", sbMain, 4},
			{"root_ino", sbRootIno, 4}, {"node_ino", sbNodeIno, 4}, {"meta_ino", sbMetaIno, 4}, {"uuid", sbUUID, 16},
			{"volume_name", sbLabel, 2 * labelUnits}, {"extension_count", sbColdExtensions, 4},
			{"extension_list", sbExtensions, maxExtensions * extensionLen}, {"cp_payload", sbCPPayload, 4}, {"version", sbVersion, versionLen},
			{"init_version", sbInitVersion, versionLen}, {"feature", sbFeatures, 4}, {"encryption_level", sbEncryptLevel, 1},
			{"encrypt_pw_salt", sbEncryptSalt, saltLen}, {"devs", sbDevices, maxDevices * deviceLen}, {"qf_ino", sbQuotaInos, 4 * quotaKinds},
			{"hot_ext_count", sbHotExtensions, 1}, {"s_encoding", sbEncoding, 2}, {"s_encoding_flags", sbEncodingFlags, 2},
			{"s_stop_reason", sbStopReasons, stopReasonsLen}, {"s_errors", sbErrors, errorsLen}, {"reserved", sbReserved, 258}, {"crc", sbChecksum, 4},
		}, superLen},
		"checkpoint": {[]field{
			{"checkpoint_ver", cpVersion, 8}, {"user_block_count", cpUserBlocks, 8}, {"valid_block_count", cpValidBlocks, 8},
			{"rsvd_segment_count", cpReserved, 4}, {"overprov_segment_count", cpOverprovision, 4}, {"free_segment_count", cpFreeSegments, 4},
			{"cur_node_segno", cpNodeSegments, 4 * cpLogs}, {"cur_node_blkoff", cpNodeOffsets, 2 * cpLogs},
			{"cur_data_segno", cpDataSegments, 4 * cpLogs}, {"cur_data_blkoff", cpDataOffsets, 2 * cpLogs}, {"ckpt_flags", cpFlags, 4},
			{"cp_pack_total_block_count", cpBlocks, 4}, {"cp_pack_start_sum", cpStartSum, 4}, {"valid_node_count", cpValidNodes, 4},
			{"valid_inode_count", cpValidInodes, 4}, {"next_free_nid", cpNextNid, 4}, {"sit_ver_bitmap_bytesize", cpSitBitmap, 4},
			{"nat_ver_bitmap_bytesize", cpNatBitmap, 4}, {"checksum_offset", cpChecksumOffset, 4}, {"elapsed_time", cpElapsed, 8},
			{"alloc_type", cpAllocTypes, cpAllocs},
		}, cpBitmaps},
		"SIT entry":     {[]field{{"vblocks", sitVblocks, 2}, {"valid_map", sitMap, sitMapLen}, {"mtime", sitMtime, 8}}, sitLen},
		"NAT entry":     {[]field{{"version", natVersion, 1}, {"ino", natIno, 4}, {"block_addr", natAddr, 4}}, natLen},
		"summary entry": {[]field{{"nid", summaryNid, 4}, {"version", summaryVersion, 1}, {"ofs_in_node", summaryOffset, 2}}, summaryLen},
		"dir entry":     {[]field{{"hash_code", dentryHash, 4}, {"ino", dentryIno, 4}, {"name_len", dentryNameLen, 2}, {"file_type", dentryType, 1}}, dentryLen},
		"inode": {[]field{
			{"i_mode", inodeMode, 2}, {"i_advise", inodeAdvise, 1}, {"i_inline", inodeInline, 1}, {"i_uid", inodeUID, 4}, {"i_gid", inodeGID, 4},
			{"i_links", inodeLinks, 4}, {"i_size", inodeSize, 8}, {"i_blocks", inodeBlocks, 8}, {"i_atime", inodeAtime, 8},
			{"i_ctime", inodeCtime, 8}, {"i_mtime", inodeMtime, 8}, {"i_atime_nsec", inodeAtimeNsec, 4}, {"i_ctime_nsec", inodeCtimeNsec, 4},
			{"i_mtime_nsec", inodeMtimeNsec, 4}, {"i_generation", inodeGen, 4}, {"i_current_depth", inodeDepth, 4}, {"i_xattr_nid", inodeXattrNid, 4},
			{"i_flags", inodeFlags, 4}, {"i_pino", inodeParent, 4}, {"i_namelen", inodeNameLen, 4}, {"i_name", inodeName, maxNameLen},
			{"i_dir_level", inodeDirLevel, 1}, {"i_ext", inodeExtent, 12},
		}, inodeAddrs},
		"extra attributes": {[]field{
			{"i_blocks and before", 0, inodeAddrs}, {"i_extra_isize", inodeExtraLen, 2}, {"i_inline_xattr_size", inodeXattrWords, 2},
			{"i_projid", inodeProject, 4}, {"i_inode_checksum", inodeChecksum, 4}, {"i_crtime", inodeCrtime, 8}, {"i_crtime_nsec", inodeCrtimeNsec, 4},
			{"i_compr_blocks", inodeComprBlocks, 8}, {"i_compress_algorithm", inodeComprAlgo, 1}, {"i_log_cluster_size", inodeLogCluster, 1},
			{"i_compress_flag", inodeComprFlag, 2},
		}, inodeAddrs + maxExtraLen},
		"footer": {[]field{
			{"nid", footerLen - footerNid, 4}, {"ino", footerLen - footerIno, 4}, {"flag", footerLen - footerFlag, 4},
			{"cp_ver", footerLen - footerCPVer, 8}, {"next_blkaddr", footerLen - footerNext, 4},
		}, footerLen},
	} {
		at := 0
		for _, f := range c.fields {
			if f.off != at {
				t.Errorf("%s: %s is at %d, should be at %d", name, f.name, f.off, at)
			}
			at = f.off + f.len
		}
		if at != c.size {
			t.Errorf("%s: ends at %d, should end at %d", name, at, c.size)
		}
	}
}

// TestBlockRoom: what blocks of each size have room for.
func TestBlockRoom(t *testing.T) {
	type room struct{ sit, nat, orphans, node, inode, summaries, journal, nats, sits, dentries, bitmap, gap int }
	for size, want := range map[int]room{
		4096:  {55, 455, 1020, 1018, 923, 512, 507, 38, 6, 214, 27, 3},
		8192:  {110, 910, 2044, 2042, 1947, 1024, 1019, 78, 13, 428, 54, 6},
		16384: {221, 1820, 4092, 4090, 3995, 2048, 2043, 157, 26, 856, 107, 13},
	} {
		n, d := blockSize(size), newDentryShape(size)
		j := summaryBlock(make([]byte, size)).journal()
		got := room{n.sitEntries(), n.natEntries(), n.orphans(), n.nodeSlots(), n.inodeSlots(), summaryEntries(size), journalBytes(size),
			j.maxNats(), j.maxSits(), d.slots, d.bitmap, d.entries - d.bitmap}
		if got != want {
			t.Errorf("%d bytes: room for %+v, should be %+v", size, got, want)
		}
		if d.names != d.entries+dentryLen*d.slots || d.names+nameSlotLen*d.slots != size {
			t.Errorf("%d bytes: directory entries are %+v", size, d)
		}
	}
	// The inline area of an inode without extra attributes: 923 words less 50
	// of xattrs and one that is reserved.
	if d := newDentryShape(4 * (923 - 50 - 1)); d.slots != 182 || d.bitmap != 23 || d.entries-d.bitmap != 7 {
		t.Errorf("inline directory entries are %+v", d)
	}
}

// TestBits: bitmaps of both orders.
func TestBits(t *testing.T) {
	msb, lsb := make([]byte, 2), make([]byte, 2)
	setMSB(msb, 1)
	setMSB(msb, 15)
	setLSB(lsb, 1)
	setLSB(lsb, 15)
	if msb[0] != 0x40 || msb[1] != 0x01 || lsb[0] != 0x02 || lsb[1] != 0x80 {
		t.Errorf("bits are %x and %x", msb, lsb)
	}
	for i := range uint32(16) {
		if set := i == 1 || i == 15; testMSB(msb, i) != set || testLSB(lsb, i) != set {
			t.Errorf("bit %d is not %v", i, set)
		}
	}
}
