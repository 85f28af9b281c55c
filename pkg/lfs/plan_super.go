package lfs

const (
	majorVersion = 1
	minorVersion = 16
	// maker is what stands where others write the version of the system that
	// made the volume: the same everywhere, so that the same command gives the
	// same bytes.
	maker = "fatkit 0.1"
)

// superblock is the superblock of l, which both copies are.
func (r *formatRequest) superblock(l *layout) superblock {
	b := make(superblock, superLen)
	b.put32(sbMagic, superMagic)
	b.put16(sbMajor, majorVersion)
	b.put16(sbMinor, minorVersion)
	putGeometry(b, &l.Geometry)
	copy(b[sbUUID:], r.uuid[:])
	for i, u := range r.label {
		b.put16(sbLabel+2*i, u)
	}
	b.put32(sbColdExtensions, uint32(len(r.cold)))
	b[sbHotExtensions] = byte(len(r.hot))
	at := sbExtensions
	for _, list := range [][]string{r.cold, r.hot} {
		for _, e := range list {
			copy(b[at:], e)
			at += extensionLen
		}
	}
	copy(b[sbVersion:], maker)
	copy(b[sbInitVersion:], maker)
	if l.Has(featCasefold) {
		b.put16(sbEncoding, encodingUTF8)
		b.put16(sbEncodingFlags, r.encoding)
	}
	if l.Has(featSuperChecksum) {
		b.put32(sbChecksumOffset, sbChecksum)
		b.put32(sbChecksum, superSum(b))
	}
	return b
}

// putGeometry sets all fields that parseSuperblock reads.
func putGeometry(b superblock, g *Geometry) {
	b.put32(sbLogSector, log2(g.SectorSize))
	b.put32(sbLogSectorsBlock, log2(g.BlockSize/g.SectorSize))
	b.put32(sbLogBlock, log2(g.BlockSize))
	b.put32(sbLogSegment, logSegmentBlocks)
	b.put32(sbSegsPerSec, g.SegsPerSec)
	b.put32(sbSecsPerZone, g.SecsPerZone)
	b.put64(sbBlocks, g.Blocks)
	for off, v := range map[int]uint32{
		sbSections: g.Sections, sbSegments: g.Segments, sbSegmentsCP: g.CPSegments, sbSegmentsSIT: g.SITSegments,
		sbSegmentsNAT: g.NATSegments, sbSegmentsSSA: g.SSASegments, sbSegmentsMain: g.MainSegments,
		sbSegment0: g.Segment0, sbCP: g.CP, sbSIT: g.SIT, sbNAT: g.NAT, sbSSA: g.SSA, sbMain: g.Main,
		sbRootIno: g.RootIno, sbNodeIno: g.NodeIno, sbMetaIno: g.MetaIno, sbCPPayload: g.CPPayload, sbFeatures: g.Features,
	} {
		b.put32(off, v)
	}
	for kind, ino := range g.QuotaInos {
		b.put32(sbQuotaInos+4*kind, ino)
	}
}
