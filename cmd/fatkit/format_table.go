package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/disk"
	"github.com/fatkit/fatkit/pkg/vol"
)

// noTable is what --table says for a volume without one.
const noTable = "none"

// readTable reads what is said of a partition table, and of the partition that is
// meant.
func (r *formatRun) readTable(c *cli.Context) error {
	var err error
	if r.table, err = oneOf(c, "table", noTable, dev.SchemeMBR, dev.SchemeGPT); err != nil {
		return err
	}
	r.partName = c.String("partition-label")
	switch {
	case r.table == noTable && r.partName == "":
		return nil
	case !r.place.whole():
		return usagef("--table and --partition-label are for a whole disk, and %s names a part of one", r.place.arg)
	case r.table == dev.SchemeMBR && r.partName != "":
		return usagef("--partition-label: the partitions of an MBR have no names")
	case r.table == noTable && r.size > 0:
		return usagef("--partition-label: there is no partition yet; --table gpt makes one of that name")
	case r.table == noTable:
		r.place.name = r.partName
	}
	return nil
}

// planDisk lays out a disk with one partition, and the volume in it. Sectors are
// those of the device; an image file has none of its own, so there --sector-size
// says what kind of disk it is of.
func (r *formatRun) planDisk(t vol.Target) (*vol.Plan, error) {
	sector := int64(t.SectorSize)
	if !r.block {
		sector = max(sector, r.opts.SectorSize)
	}
	if !vol.PowerOfTwo(sector) || sector > 4096 {
		return nil, usagef("sector size %d: must be 512, 1024, 2048 or 4096", sector)
	}
	l, err := disk.NewLayout(r.table, t.Size, sector)
	if err != nil {
		return nil, err
	}
	part := vol.Target{Size: l.Part.Len, Offset: l.Part.Off, SectorSize: int(sector), PhysicalSize: t.PhysicalSize}
	if t.Old != nil {
		if part.Old, err = dev.Section(t.Old, l.Part); err != nil {
			return nil, err
		}
	}
	p, err := r.drv.Plan(part, r.opts)
	if err != nil {
		return nil, err
	}
	r.layout = l
	name := r.partName
	if name == "" {
		name = p.Label
	}
	return l.Plan(p, name, r.opts.Seed)
}

// verifyDisk holds the table on d against what was laid out, and is the
// partition in it.
func (r *formatRun) verifyDisk(d dev.Device) (dev.Device, error) {
	if r.layout == nil {
		return d, nil
	}
	if err := r.layout.Verify(d); err != nil {
		return nil, err
	}
	return dev.Section(d, r.layout.Part)
}

// where is the byte of the image at which the volume begins that was planned for
// the range at.
func (r *formatRun) where(at dev.Range) int64 {
	if r.layout == nil {
		return at.Off
	}
	return r.layout.Part.Off
}

// name is how the volume that was made is called.
func (r *formatRun) name() string {
	if r.layout == nil {
		return printable(r.place.arg)
	}
	return fmt.Sprintf("%s:1", printable(r.place.arg))
}
