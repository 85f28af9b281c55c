package lfs

import (
	"cmp"
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// loaded is a volume as its newest checkpoint has it: what a change builds on.
// NAT is read as it is needed, and SIT whole, as every change looks for space.
type loaded struct {
	d   dev.Device
	sb  superblock
	g   *Geometry
	s   *state
	sit *segments
	// Segments that nothing is written to, or nil.
	avoid *space.Map
}

// loadOptions are what load takes beside what everybody may build upon.
type loadOptions struct {
	force bool // a volume that asks for a check and is not known to be damaged
	fresh bool // one with the feature ro, while there is nothing on it
}

// load reads what a mount reads, and refuses what must not be built upon, see
// refuse.go.
func load(ctx context.Context, d dev.Device, o loadOptions) (*loaded, error) {
	l := &loaded{d: d}
	if err := l.loadSuper(o); err != nil {
		return nil, err
	}
	if err := l.loadPack(ctx, o); err != nil {
		return nil, err
	}
	sit, err := l.s.loadSIT(ctx, d)
	if err != nil {
		return nil, err
	}
	l.sit = sit
	return l, l.refuseTables()
}

// loadSuper reads the superblocks. Either of them will do, as for a mount, but for one
// that the check takes for damaged.
func (l *loaded) loadSuper(o loadOptions) error {
	if err := l.eitherSuper(); err != nil {
		return err
	}
	return l.refuseSuper(o)
}

func (l *loaded) eitherSuper() error {
	first, second, err := readSupers(l.d)
	if err != nil {
		return err
	}
	use := &first
	if first.g == nil || firstMisfits(l.d, &first, &second) != nil {
		use = &second
	}
	if use.g == nil {
		return noVolume(l.d, &first)
	}
	l.sb, l.g = use.raw, use.g
	return nil
}

// loadPack reads the checkpoint pack that counts.
func (l *loaded) loadPack(ctx context.Context, o loadOptions) error {
	packs, err := readPacks(l.d, l.g)
	// A mount goes on with the older pack where the newer one cannot be read. A
	// change must not: what it builds on would depend on a read.
	if err := cmp.Or(err, packs[0].err, packs[1].err); err != nil {
		return err
	}
	use := choosePack(packs)
	if use == nil {
		return damagedf("neither checkpoint pack can be used: %s; %s", packs[0].fault.detail, packs[1].fault.detail)
	}
	if err := l.refuseEnds(packs, o); err != nil {
		return err
	}
	s, f, err := readState(l.d, l.g, use)
	if err != nil {
		return err
	}
	if f != nil {
		return damagedf("checkpoint: %s", f.detail)
	}
	l.s = s
	return l.refusePack(ctx, o)
}

// loadSIT reads SIT alone, through a plug as loadTables does.
func (s *state) loadSIT(ctx context.Context, d dev.Device) (*segments, error) {
	l := newTableLoader(s)
	plug := dev.NewPlug(dev.WholeUnits{Device: d, Unit: s.g.BlockSize}, s.g.window(d, 0))
	s.addTable(plug, l.sitEnd, func(i uint32) uint32 { return s.g.SITAddr(i, testMSB(s.sitVersions, i)) })
	_, err := plug.Read(ctx, dev.ReadOptions{Holes: true}, func(p dev.Range, b []byte) error {
		l.piece(p, b)
		return nil
	})
	return l.t.sit, err
}
