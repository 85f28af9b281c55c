package fat

import "github.com/fatkit/fatkit/pkg/vol"

// sizeRow says which cluster size volumes of up to size bytes get.
type sizeRow struct{ size, cluster int64 }

// tableCluster is the cluster size that Microsoft's format takes for a volume
// of size bytes, [FAT] "Initial FAT Volume Creation": DskTableFAT16 and
// DskTableFAT32, which count in sectors of 512 bytes. Where they say that the
// type cannot be the nearest size stands; choose finds out.
func tableCluster(t Type, size int64) int64 {
	const sector = 512
	var rows []sizeRow
	last := int64(64 << 10)
	switch t {
	case FAT12:
		return sector // no table: as small as the count allows
	case FAT16:
		rows = []sizeRow{
			{32680 * sector, 1 << 10}, {262144 * sector, 2 << 10}, {524288 * sector, 4 << 10}, {1048576 * sector, 8 << 10},
			{2097152 * sector, 16 << 10}, {4194304 * sector, 32 << 10},
		}
	default:
		rows = []sizeRow{
			{532480 * sector, 512}, {16777216 * sector, 4 << 10}, {33554432 * sector, 8 << 10}, {67108864 * sector, 16 << 10},
		}
		last = 32 << 10
	}
	for _, row := range rows {
		if size <= row.size {
			return row.cluster
		}
	}
	return last
}

// floppy is a medium with a standard layout.
type floppy struct {
	total        int64 // sectors of 512 bytes
	media        byte
	perCluster   int64 // sectors
	root         int64 // entries
	track, heads uint16
}

// floppies are the formats that DOS, BIOSes and UEFI know by their size or
// media byte, [FAT] BPB_Media and the DOS formats: 160K to 2.88M.
func floppies() []floppy {
	return []floppy{
		{320, 0xFE, 1, 64, 8, 1},
		{360, 0xFC, 1, 64, 9, 1},
		{640, 0xFF, 2, 112, 8, 2},
		{720, 0xFD, 2, 112, 9, 2},
		{1440, 0xF9, 2, 112, 9, 2},
		{2400, 0xF9, 1, 224, 15, 2},
		{2880, 0xF0, 1, 224, 18, 2},
		{5760, 0xF0, 2, 240, 36, 2},
	}
}

// floppy is the standard format that the volume has the size of, or nil. A
// part of a disk is none.
func (r *formatRequest) floppy(t Type) *floppy {
	if t != FAT12 || r.sector != minSector || r.t.Offset != 0 {
		return nil
	}
	for _, f := range floppies() {
		if f.total == r.total {
			return &f
		}
	}
	return nil
}

// rootEntries of the fixed root directory. [FAT] BPB_RootEntCnt: 512 for
// FAT16; small volumes get what floppies of about their size have.
func (r *formatRequest) rootEntries(t Type) int64 {
	per := r.sector / entryLen
	switch f := r.floppy(t); {
	case t == FAT32:
		return 0
	case r.o.RootEntries != nil:
		return int64(*r.o.RootEntries)
	case f != nil:
		return f.root
	case r.t.Size <= 1<<20:
		return vol.RoundUp(112, per)
	case r.t.Size <= smallest16:
		return vol.RoundUp(224, per)
	}
	return 512
}

func (r *formatRequest) media(t Type) byte {
	if m := r.o.MediaType; m != nil {
		return byte(*m)
	}
	if f := r.floppy(t); f != nil {
		return f.media
	}
	return mediaFixed
}

const (
	// [FAT] DskTableFAT16 starts above 8400 sectors, smaller volumes are FAT12.
	smallest16 = 8400 * 512
	// [FAT] "Initial FAT Volume Creation": volumes of 512 MB and more are FAT32.
	smallest32 = 512 << 20
)

// types are what may be formatted, the preferred one first. With type "fat"
// the others stand in where options, or a large sector, leave it no choice.
func (r *formatRequest) types() []Type {
	switch r.o.Type {
	case "fat12":
		return []Type{FAT12}
	case "fat16":
		return []Type{FAT16}
	case "fat32":
		return []Type{FAT32}
	}
	switch {
	case r.t.Size <= smallest16:
		return []Type{FAT12, FAT16, FAT32}
	case r.t.Size < smallest32:
		return []Type{FAT16, FAT32, FAT12}
	}
	return []Type{FAT32, FAT16, FAT12}
}

// choose lays the volume out.
func (r *formatRequest) choose() (*Geometry, error) {
	var first error
	for _, t := range r.types() {
		if err := r.allows(t); err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		g, m := r.fit(t)
		if m == nil {
			return g, nil
		}
		if first == nil {
			first = r.refuse(t, m)
		}
	}
	return nil, first
}

// fit finds a layout of type t: with the cluster size that was given, or
// with Microsoft's, or with the one next to it that works.
func (r *formatRequest) fit(t Type) (*Geometry, *misfit) {
	if r.cluster != 0 {
		return r.layout(t, r.cluster)
	}
	c := tableCluster(t, r.t.Size)
	if f := r.floppy(t); f != nil {
		c = f.perCluster * r.sector
	}
	c = min(max(c, r.sector), r.largestCluster())
	g, m := r.layout(t, c)
	for m != nil && m.kind == tooMany && c < r.largestCluster() {
		c *= 2
		g, m = r.layout(t, c)
	}
	for m != nil && m.kind == tooFew && c > r.sector {
		c /= 2
		smaller, still := r.layout(t, c)
		if still != nil && still.kind == tooMany {
			break // no size between too few and too many
		}
		g, m = smaller, still
	}
	return g, m
}
