package vol

import (
	"context"
	"fmt"
	"slices"

	"github.com/fatkit/fatkit/pkg/dev"
)

// FormatOptions are what the user asked for. A nil pointer or zero value is
// "not given"; a driver refuses what it has no use for (ErrUsage) rather than
// ignoring it.
type FormatOptions struct {
	Type        string // one of Driver.Types
	Label       string
	ID          string // "1234-ABCD", or a UUID for F2FS
	ClusterSize int64  // bytes
	SectorSize  int64  // bytes
	Align       int64  // bytes; where the data area starts
	Features    string // F2FS -O
	VolumeGUID  string // exFAT --uuid

	Fats            *int
	ReservedSectors *int64
	RootEntries     *int
	HiddenSectors   *int64
	MediaType       *int

	// F2FS, as mkfs.f2fs has them.
	Overprovision      *float64 // percent of the main area that is kept for cleaning
	SegmentsPerSection *int
	SectionsPerZone    *int
	ColdExtensions     []string   // of files that are hardly ever written, besides the usual ones
	HotExtensions      []string   // of files that are written all the time, besides the usual ones
	RootOwner          *[2]uint32 // user and group of the root directory
	Encoding           string     // of names with the feature casefold: "utf8", "utf8:strict"

	// Time stamps and seeds everything not given; seconds since 1970, UTC.
	Time int64
	// Seed for ids that were not given. With SOURCE_DATE_EPOCH it is derived
	// from that, the size and the type, so the same command gives the same
	// bytes; else it is random.
	Seed uint64
}

// Given lists the long names of the format-specific options that are set, so
// that a driver can refuse those it does not know.
func (o *FormatOptions) Given() []string {
	var g []string
	add := func(set bool, name string) {
		if set {
			g = append(g, name)
		}
	}
	add(o.Features != "", "features")
	add(o.VolumeGUID != "", "uuid")
	add(o.Fats != nil, "fats")
	add(o.ReservedSectors != nil, "reserved-sectors")
	add(o.RootEntries != nil, "root-entries")
	add(o.HiddenSectors != nil, "hidden-sectors")
	add(o.MediaType != nil, "media-type")
	add(o.Align != 0, "align")
	add(o.Overprovision != nil, "overprovision")
	add(o.SegmentsPerSection != nil, "segs-per-sec")
	add(o.SectionsPerZone != nil, "secs-per-zone")
	add(len(o.ColdExtensions) > 0, "cold-ext")
	add(len(o.HotExtensions) > 0, "hot-ext")
	add(o.RootOwner != nil, "root-owner")
	add(o.Encoding != "", "encoding")
	return g
}

// Foreign is the first of the format-specific options given that is not among
// known, the ones that a driver has a use for; "" where there is none.
func (o *FormatOptions) Foreign(known ...string) string {
	for _, name := range o.Given() {
		if !slices.Contains(known, name) {
			return name
		}
	}
	return ""
}

// Plan is a volume laid out and not yet written: what goes where, in the order
// in which it must become durable. It is deterministic.
type Plan struct {
	Info
	FreeClusters uint64
	Regions      []Region
	Warnings     []string
	Steps        []Step // by Phase, then Off
}

// Region is a named part of the layout, bytes from the start of the volume.
type Region struct {
	Name string
	dev.Range
}

// Step is one write: Data, or zeros over Range where Data is nil.
type Step struct {
	Phase Phase
	dev.Range
	Data []byte
}

// Phase orders the steps: a later phase is written when the earlier ones are
// durable, so that a cut never leaves something that looks like a volume and
// is none.
type Phase int

const (
	Wipe Phase = iota // signatures of what was there
	Body
	Head // what makes it a volume
)

// Apply writes the plan to d, phase by phase, and returns how many bytes other
// than zeros it wrote.
func (p *Plan) Apply(ctx context.Context, d dev.Device) (written int64, err error) {
	phase := Wipe
	for _, s := range p.Steps {
		if err := ctx.Err(); err != nil {
			return written, err
		}
		if s.Phase < phase {
			return written, fmt.Errorf("format plan is out of order at byte %d", s.Off)
		}
		if s.Phase > phase {
			phase = s.Phase
			if err := d.Sync(); err != nil {
				return written, err
			}
		}
		if s.Data == nil {
			if err := d.Zero(s.Range); err != nil {
				return written, err
			}
			continue
		}
		n, err := d.WriteAt(s.Data, s.Off)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Signatures are the places where file systems, partition tables and RAID
// members of common use keep what they are recognised by, on a device of size
// bytes. A format wipes them first: a leftover would let a probe take the new
// volume for the old one.
func Signatures(size int64) []dev.Range {
	const (
		// Boot sectors, ext (1 KiB), LVM, F2FS, MD 1.1 and 1.2, GPT, LUKS,
		// ISO 9660 (32 KiB), Btrfs (64 KiB), UFS2 (256 KiB), and the first two
		// labels of ZFS: 256 KiB each, of which the second half counts.
		head = 512 << 10
		// Backup GPT, MD 0.90 and 1.0, NTFS, DDF, and the last two labels of
		// ZFS, which end at a multiple of 256 KiB.
		tail = 768 << 10
	)
	if size <= 0 {
		return nil
	}
	if size <= head+tail {
		return []dev.Range{{Len: size}}
	}
	return []dev.Range{{Len: head}, {Off: size - tail, Len: tail}}
}
