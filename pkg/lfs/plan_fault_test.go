package lfs

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
	tib = int64(1) << 40
)

func ptr[T any](v T) *T { return &v }

// mustPlan plans, and holds the plan against all that every plan must be.
func mustPlan(t testing.TB, at vol.Target, o vol.FormatOptions) (*vol.Plan, *Geometry) {
	t.Helper()
	p, g, err := tryPlan(t, at, o)
	if err != nil {
		t.Fatalf("%d bytes, options %s: %v", at.Size, showOptions(o), err)
	}
	return p, g
}

// tryPlan is mustPlan for a request that may be refused.
func tryPlan(t testing.TB, at vol.Target, o vol.FormatOptions) (*vol.Plan, *Geometry, error) {
	t.Helper()
	o.Type = "f2fs"
	p, err := planFormat(at, o)
	if err != nil {
		return nil, nil, err
	}
	g, err := planFault(at, o, p)
	if err != nil {
		t.Fatalf("%d bytes at %d, sectors of %d, options %s: %v\n%+v", at.Size, at.Offset, at.SectorSize, showOptions(o), err, g)
	}
	return p, g, nil
}

// showOptions are the options that were given, as they would be on the command
// line.
func showOptions(o vol.FormatOptions) string {
	var b bytes.Buffer
	add := func(set bool, format string, v any) {
		if set {
			fmt.Fprintf(&b, " "+format, v)
		}
	}
	add(o.ClusterSize != 0, "-c %d", o.ClusterSize)
	add(o.SectorSize != 0, "-S %d", o.SectorSize)
	add(o.Features != "", "-O %s", o.Features)
	add(o.Encoding != "", "--encoding %s", o.Encoding)
	if o.Overprovision != nil {
		add(true, "--overprovision %v", *o.Overprovision)
	}
	if o.SegmentsPerSection != nil {
		add(true, "-s %d", *o.SegmentsPerSection)
	}
	if o.SectionsPerZone != nil {
		add(true, "-z %d", *o.SectionsPerZone)
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

// planned is what a plan makes of a device that is full of rubbish.
type planned struct {
	*vol.Plan
	o  vol.FormatOptions
	at vol.Target
	g  *Geometry
	b  superblock
}

// read is what the plan leaves at a range, from its steps; what nobody wrote
// is rubbish.
func (p *planned) read(off, n int64) []byte {
	return voltest.Planned(p.Plan, off, n)
}

func (p *planned) block(blk uint32) []byte { return p.read(p.g.BlockOff(blk), p.g.BlockSize) }

// planFault is the first thing that is wrong with p, and the geometry that its
// superblock has.
func planFault(at vol.Target, o vol.FormatOptions, p *vol.Plan) (*Geometry, error) {
	pl := &planned{Plan: p, o: o, at: at}
	pl.b = superblock(pl.read(superOffset, superLen))
	g, f := parseSuperblock(pl.b)
	if f != nil {
		return nil, fmt.Errorf("the superblock does not parse: %w", f)
	}
	pl.g = g
	for _, check := range []func() error{
		pl.infoFault, pl.optionFault, pl.superFault, pl.stepFault, pl.packFault, pl.logFault, pl.tableFault, pl.fileFault, pl.countFault,
	} {
		if err := check(); err != nil {
			return g, err
		}
	}
	return g, nil
}

func (p *planned) infoFault() error {
	want := vol.Info{Type: "f2fs", Label: p.o.Label, ID: uuidText(p.b.uuid()), Size: p.g.VolumeBytes(),
		SectorSize: int(p.g.SectorSize), ClusterSize: int(p.g.BlockSize), Clusters: uint64(p.g.MainSegments) * 512}
	if !reflect.DeepEqual(p.Info, want) {
		return fmt.Errorf("Info is %+v, the superblock says %+v", p.Info, want)
	}
	return nil
}

// optionFault: what was asked for is there exactly.
func (p *planned) optionFault() error {
	g, o := p.g, p.o
	sector := max(o.SectorSize, int64(p.at.SectorSize), 512)
	size := p.at.Size / sector * sector
	switch {
	case g.BlockSize != max(o.ClusterSize, 4096) || g.SectorSize != sector:
		return fmt.Errorf("blocks of %d, sectors of %d", g.BlockSize, g.SectorSize)
	case g.VolumeBytes() != size/g.BlockSize*g.BlockSize:
		return fmt.Errorf("the volume has %d bytes", g.VolumeBytes())
	case o.SegmentsPerSection != nil && int(g.SegsPerSec) != *o.SegmentsPerSection, o.SegmentsPerSection == nil && g.SegsPerSec != 1:
		return fmt.Errorf("%d segments per section", g.SegsPerSec)
	case o.SectionsPerZone != nil && int(g.SecsPerZone) != *o.SectionsPerZone, o.SectionsPerZone == nil && g.SecsPerZone != 1:
		return fmt.Errorf("%d sections per zone", g.SecsPerZone)
	case o.ID != "" && p.ID != strings.ToLower(o.ID):
		return fmt.Errorf("the UUID is %s", p.ID)
	case o.ID == "" && (p.b.uuid()[6]>>4 != 4 || p.b.uuid()[8]>>6 != 2):
		return fmt.Errorf("the UUID is %s, not of version 4", p.ID)
	}
	zone := int64(g.SegsPerSec) * int64(g.SecsPerZone) * g.SegmentBytes()
	if p.at.Offset%g.BlockSize == 0 && !g.ReadOnly() && (p.at.Offset+g.BlockOff(g.Segment0))%zone != 0 {
		return fmt.Errorf("segment 0 is at block %d, not at a zone of %d bytes", g.Segment0, zone)
	}
	return nil
}

// superFault: both superblocks are the same, in blocks that hold nothing else,
// and no address in the main area means something else.
func (p *planned) superFault() error {
	first, second := p.block(0), p.block(1)
	if !bytes.Equal(first, second) {
		return fmt.Errorf("the superblocks differ")
	}
	clear(second[superOffset : superOffset+superLen])
	if !dev.AllZero(second) {
		return fmt.Errorf("there is something beside the superblock")
	}
	if p.g.MainEnd() > newAddr-1 {
		return fmt.Errorf("the main area ends at block %#x", p.g.MainEnd())
	}
	if n := p.b.u32(sbColdExtensions); p.b.extension(int(n)) != "db" || p.b.extension(0) != "mp" {
		return fmt.Errorf("the first extensions are %q and %q", p.b.extension(0), p.b.extension(int(n)))
	}
	return nil
}

// stepFault: besides what holds for all plans, body and head leave no byte
// before the main area out.
func (p *planned) stepFault() error {
	if err := voltest.StepFault(p.Plan, p.at.Size, p.g.BlockSize); err != nil {
		return err
	}
	covered, data := int64(0), int64(0)
	main := p.g.BlockOff(p.g.Main)
	for _, s := range p.Steps {
		if s.Phase != vol.Wipe {
			covered += s.Range.Intersect(dev.Range{Len: main}).Len
			data += int64(len(s.Data))
		}
	}
	if covered != main {
		return fmt.Errorf("%d bytes before the main area are covered, should be %d", covered, main)
	}
	if most := (50 + 2*int64(p.g.CPPayload)) * p.g.BlockSize; data > most {
		return fmt.Errorf("%d bytes of data, should be at most %d", data, most)
	}
	return voltest.RegionFault(p.Plan, p.g.VolumeBytes())
}

// pack is a checkpoint pack as it is planned.
func (p *planned) pack(i int) []byte {
	start := p.g.PackBlock(i)
	n := checkpoint(p.block(start)).blocks()
	return p.read(p.g.BlockOff(start), int64(min(n, segmentBlocks))*p.g.BlockSize)
}

// packFault: both packs are whole, of sizes that fit, and the second is the
// first but one version older.
func (p *planned) packFault() error {
	var packs [packCount][]byte
	for i := range packs {
		b := p.pack(i)
		head, tail := checkpoint(b[:p.g.BlockSize]), checkpoint(b[int64(len(b))-p.g.BlockSize:])
		if !head.sumOK() || !bytes.Equal(head, tail) {
			return fmt.Errorf("pack %d has wrong checksums, or does not end as it starts", i)
		}
		if head.flags() != cpUmount|cpCompact || head.blocks() != 6+p.g.CPPayload || head.startSum() != 1+p.g.CPPayload {
			return fmt.Errorf("pack %d: flags %#x, %d blocks, summaries from %d on", i, head.flags(), head.blocks(), head.startSum())
		}
		if int64(head.sitBitmapBytes()) != p.g.SITBitmapBytes() || int64(head.natBitmapBytes()) != p.g.NATBitmapBytes() {
			return fmt.Errorf("pack %d has version bitmaps of %d and %d bytes", i, head.sitBitmapBytes(), head.natBitmapBytes())
		}
		room := p.g.BlockSize - 196 - p.g.NATBitmapBytes()
		if p.g.CPPayload > 0 {
			room = int64(p.g.CPPayload) * p.g.BlockSize
		}
		if p.g.SITBitmapBytes() > room || p.g.NATBitmapBytes() > p.g.BlockSize-196 {
			return fmt.Errorf("no room for version bitmaps of %d and %d bytes with a payload of %d", p.g.SITBitmapBytes(), p.g.NATBitmapBytes(), p.g.CPPayload)
		}
		packs[i] = b
	}
	newer, older := checkpoint(packs[0]), checkpoint(packs[1])
	if newer.version() != older.version()+1 || newer.version()%2 == 0 || newer.version() >= 1<<31 {
		return fmt.Errorf("the versions are %d and %d", newer.version(), older.version())
	}
	if !bytes.Equal(newer[cpUserBlocks:p.g.BlockSize-4], older[cpUserBlocks:p.g.BlockSize-4]) {
		return fmt.Errorf("the packs differ")
	}
	if n := int64(len(newer)) - p.g.BlockSize; !bytes.Equal(newer[p.g.BlockSize:n], older[p.g.BlockSize:n]) {
		return fmt.Errorf("the summaries of the packs differ")
	}
	return nil
}
