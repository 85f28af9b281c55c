package lfs

import (
	"cmp"
	"fmt"
	"slices"

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
	l, m := r.layout(t.Size)
	if m != nil {
		return nil, r.refuse(m)
	}
	c := r.contents(l)
	b := r.superblock(l)
	p := &vol.Plan{
		Info:         summarise(&l.Geometry, b),
		FreeClusters: uint64(l.userBlocks()) - uint64(c.blocks()),
		Regions:      formatRegions(l),
		Warnings:     r.warnings(),
		Steps:        vol.WipeSteps(t.Size),
	}
	p.Steps = append(p.Steps, r.bodySteps(l, c)...)
	p.Steps = append(p.Steps, headSteps(l, b)...)
	return p, nil
}

// bodySteps write everything but the superblocks. All that is not named before
// the main area is zeroed, both copies of the tables, so that nothing there can
// be taken for what it was; it stays a hole where the device has holes. In the
// main area it is what the new files have, and the block that a log of nodes
// from before would continue at.
func (r *formatRequest) bodySteps(l *layout, c *contents) []vol.Step {
	supers := superBlocks * l.BlockSize
	steps := vol.FillSteps(dev.Range{Off: supers, Len: l.BlockOff(l.Main) - supers}, []vol.Piece{
		{Off: l.BlockOff(l.PackBlock(0)), Data: l.pack(c, r.version)},
		// The second pack is the same, and older by one: whole, it can stand
		// for the first if that is lost.
		{Off: l.BlockOff(l.PackBlock(1)), Data: l.pack(c, r.version-1)},
		{Off: l.BlockOff(l.NAT), Data: l.natBlock(c)},
	})
	main := []vol.Step{
		{Phase: vol.Body, Range: dev.Range{Off: l.logOff(hotNode), Len: int64(len(c.nodes))}, Data: c.nodes},
		{Phase: vol.Body, Range: dev.Range{Off: l.logOff(hotData), Len: int64(len(c.data))}, Data: c.data},
	}
	if !l.ReadOnly() {
		main = append(main, vol.Step{Phase: vol.Body, Range: dev.Range{Off: l.logOff(warmNode), Len: l.BlockSize}})
	}
	slices.SortFunc(main, func(a, b vol.Step) int { return cmp.Compare(a.Off, b.Off) })
	return append(steps, main...)
}

// logOff is where the first block of a log is, in bytes.
func (l *layout) logOff(log int) int64 { return l.BlockOff(l.SegmentBlock(l.logs[log])) }

// headSteps write the superblocks: two blocks that hold nothing else.
func headSteps(l *layout, b superblock) []vol.Step {
	block := make([]byte, l.BlockSize)
	copy(block[superOffset:], b)
	return []vol.Step{
		{Phase: vol.Head, Range: dev.Range{Len: l.BlockSize}, Data: block},
		{Phase: vol.Head, Range: dev.Range{Off: l.BlockSize, Len: l.BlockSize}, Data: block},
	}
}

// warnings are what the user should know of a volume that is laid out all the
// same.
func (r *formatRequest) warnings() []string {
	var ws []string
	if r.block != minBlock {
		ws = append(ws, fmt.Sprintf("blocks of %d bytes: Linux mounts a volume only where its memory has pages of that size, and most machines have 4096", r.block))
	}
	if r.features&featExtraAttr != 0 {
		ws = append(ws, "GRUB does not read volumes with the feature extra_attr: a system cannot be started from this one with it")
	}
	return ws
}
