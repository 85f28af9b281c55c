package fat

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// planFormat is Driver.Plan: it lays out a new volume on t. Options that
// cannot be are vol.ErrUsage, a volume that cannot be vol.ErrRequest.
func planFormat(t vol.Target, o vol.FormatOptions) (*vol.Plan, error) {
	r, err := newFormatRequest(t, o)
	if err != nil {
		return nil, err
	}
	g, err := r.choose()
	if err != nil {
		return nil, err
	}
	p := &vol.Plan{
		Info: vol.Info{
			Type: g.Type.String(), Label: r.labelText(), ID: vol.SerialText(r.serial), Size: g.VolumeBytes(),
			SectorSize: int(g.SectorSize), ClusterSize: int(g.ClusterSize()), Clusters: uint64(g.Clusters),
		},
		FreeClusters: uint64(freeClusters(g)),
		Regions:      formatRegions(g),
		Warnings:     r.warnings(g),
		Steps:        vol.WipeSteps(t.Size),
	}
	p.Steps = append(p.Steps, r.bodySteps(g)...)
	p.Steps = append(p.Steps, r.headSteps(g)...)
	return p, nil
}

// freeClusters of a new volume: all, but for the root directory's on FAT32.
func freeClusters(g *Geometry) uint32 {
	if g.Type == FAT32 {
		return g.Clusters - 1
	}
	return g.Clusters
}

// metadataEnd is where what a format must write ends: with the root directory.
func metadataEnd(g *Geometry) int64 {
	if g.Type == FAT32 {
		return g.DataOff() + g.ClusterSize()
	}
	return g.DataOff()
}

// bodySteps write everything between the boot sector and the files. All that
// is not named is zeroed: stale bytes in a FAT are clusters that belong to
// nobody, and in a root directory files that are none.
func (r *formatRequest) bodySteps(g *Geometry) []vol.Step {
	var ps []vol.Piece
	if g.Type == FAT32 {
		ps = reservedPieces(g)
	}
	for i := range g.Fats {
		ps = append(ps, vol.Piece{Off: g.FatOff(i), Data: fatHead(g)})
	}
	if r.label != nil {
		root := g.RootOff()
		if g.Type == FAT32 {
			root = g.DataOff()
		}
		ps = append(ps, vol.Piece{Off: root, Data: r.labelSector(g)})
	}
	return vol.FillSteps(dev.Range{Off: g.SectorSize, Len: metadataEnd(g) - g.SectorSize}, ps)
}

// headSteps write the boot sector and its backup. The backup waits for the
// body as the boot sector does: recovery tools make a volume of either.
func (r *formatRequest) headSteps(g *Geometry) []vol.Step {
	b := r.bootSector(g)
	steps := []vol.Step{{Phase: vol.Head, Range: dev.Range{Len: g.SectorSize}, Data: b}}
	if g.BackupSector != 0 {
		at := dev.Range{Off: g.BackupSector * g.SectorSize, Len: g.SectorSize}
		steps = append(steps, vol.Step{Phase: vol.Head, Range: at, Data: b})
	}
	return steps
}

// fatHead is the first sector of a FAT: [FAT] "FAT Data Structure", entry 0 is
// the media byte with all other bits set, entry 1 an end mark whose two top
// bits say that the volume is clean and free of errors. On FAT32 the root
// directory's cluster follows, with an end mark.
func fatHead(g *Geometry) []byte {
	b := make([]byte, g.SectorSize)
	switch g.Type {
	case FAT12:
		copy(b, []byte{g.Media, 0xFF, 0xFF})
	case FAT16:
		copy(b, []byte{g.Media, 0xFF, 0xFF, 0xFF})
	default:
		binary.LittleEndian.PutUint32(b, entryMask&^0xFF|uint32(g.Media))
		binary.LittleEndian.PutUint32(b[4:], entryLast)
		binary.LittleEndian.PutUint32(b[8:], entryLast)
	}
	return b
}

// labelSector is the first sector of a root directory that holds the label.
// [FAT] "FAT Directory Structure": an entry with the attribute ATTR_VOLUME_ID,
// without clusters or size; of the times only that of writing must be there.
func (r *formatRequest) labelSector(g *Geometry) []byte {
	b := make([]byte, g.SectorSize)
	copy(b, labelEntryName(r.label))
	b[offAttr] = attrVolume
	date, clock := formatStamp(r.o.Time)
	binary.LittleEndian.PutUint16(b[offWrtTime:], clock)
	binary.LittleEndian.PutUint16(b[offWrtDate:], date)
	return b
}

// formatStamp is a time of seconds since 1970 as a directory entry keeps it,
// in UTC so that the same command gives the same bytes everywhere. [FAT] "Date
// and Time Formats": 1980 to 2107, in steps of two seconds; what lies outside
// becomes the first or the last.
func formatStamp(seconds int64) (date, clock uint16) {
	first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	last := time.Date(2107, 12, 31, 23, 59, 58, 0, time.UTC).Unix()
	at := time.Unix(min(max(seconds, first), last), 0).UTC()
	date = uint16((at.Year()-1980)<<9 | int(at.Month())<<5 | at.Day())
	clock = uint16(at.Hour()<<11 | at.Minute()<<5 | at.Second()/2)
	return date, clock
}

// warnings are what the user should know of a volume that is laid out all the
// same.
func (r *formatRequest) warnings(g *Geometry) []string {
	var ws []string
	warn := func(format string, args ...any) { ws = append(ws, fmt.Sprintf(format, args...)) }
	// [FAT] BPB_SecPerClus: "a value should never be used that results in a
	// bytes per cluster value greater than 32K".
	if c := g.ClusterSize(); c > 32<<10 {
		warn("clusters of %s: DOS, older Windows and some devices read at most 32 KiB", vol.SizeText(c))
	}
	// The label is a legal one all the same, and Windows and Linux show it.
	if strings.ContainsFunc(r.labelText(), func(c rune) bool { return c > unicode.MaxASCII }) {
		warn("label %q: fsck.fat 4.2 takes characters beyond ASCII for control characters, and removes the label", r.labelText())
	}
	if g.Fats > 2 {
		warn("%d FATs: fsck.fat and others take 1 or 2", g.Fats)
	}
	if g.Type == FAT32 && g.BackupSector == 0 {
		warn("no backup boot sector: %d reserved sectors have no room for one", g.Reserved)
	} else if g.Type == FAT32 && g.BackupSector != usualBackup {
		warn("backup boot sector in sector %d: recovery tools look for it in sector %d, which takes 7 reserved sectors", g.BackupSector, usualBackup)
	}
	if r.hiddenLost {
		warn("the volume starts at byte %d of the disk, beyond what the hidden sectors field holds: it is set to 0", r.t.Offset)
	}
	if left := r.t.Size/g.SectorSize - g.TotalSectors; left > 0 {
		why := "the FATs, laid out as asked for, have no entries for them"
		if hi := clusterBounds(g.Type).hi; int64(g.Clusters) == hi {
			why = fmt.Sprintf("a %s should have at most %d clusters", g.Type, hi)
		} else if g.TotalSectors == maxTotal {
			why = fmt.Sprintf("a FAT volume has at most %d", g.TotalSectors)
		}
		warn("the last %d sectors (%s) are left out: %s", left, vol.SizeText(left*g.SectorSize), why)
	}
	return ws
}
