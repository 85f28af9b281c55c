package exfat

import (
	"context"
	"errors"
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// volume is a volume open for changes. It is good for what the transaction
// that it was opened on holds: after a rollback it has to be opened again.
type volume struct {
	d      dev.Device // the transaction
	raw    dev.Device // below it, or nil
	g      *Geometry
	info   vol.Info
	tables *tables
	bits   *bitmap
	upcase *upcaseTable
	alloc  *space.Groups
	m      *space.Map // alloc's: to be read only
	now    stamp
	// released is what was given back and is free when the transaction is
	// committed, in units.
	released []space.Extent
}

var _ vol.Volume = (*volume)(nil)

// open is Driver.Open.
func open(ctx context.Context, d dev.Device, o vol.OpenOptions) (vol.Volume, error) {
	g, err := soundRegion(d)
	if err != nil {
		return nil, err
	}
	if !o.Force {
		if err := needsCheck(d); err != nil {
			return nil, err
		}
	}
	v := &volume{d: d, raw: o.Raw, g: g, now: newStamp(o.Now)}
	if err := v.readTables(o.Force); err != nil {
		return nil, err
	}
	if v.m, _, err = v.bits.loadMap(ctx, 0); err != nil {
		return nil, err
	}
	if err := v.tablesMarked(); err != nil {
		return nil, err
	}
	v.alloc = space.NewAllocator(v.m, space.Options{})
	v.info, err = describe(d)
	return v, err
}

// Info describes the volume as it was opened.
func (v *volume) Info() vol.Info { return v.info }

// soundRegion reads the main boot region, by which everything that is changed
// is found: it must be right, forced or not. The backup does not stand in for
// it, as the systems that use the volume afterwards would not take it.
func soundRegion(d dev.Device) (*Geometry, error) {
	main, backup, err := readRegions(d)
	if err != nil {
		return nil, err
	}
	if main.good(d.Size()) {
		return main.g, nil
	}
	if main.err != nil {
		return nil, main.err
	}
	advice := "run check first"
	if backup.good(d.Size()) {
		advice = "the backup is good: check restores it"
	}
	return nil, fmt.Errorf("%w: the main boot region cannot be used: %s; %s", vol.ErrDamaged, main.why(d.Size(), backup), advice)
}

// needsCheck returns vol.ErrDirty with the reason for which a volume must be
// checked before it is changed.
func needsCheck(d dev.Device) error {
	b := make(bootSector, bootSectorLen)
	if _, err := d.ReadAt(b, 0); err != nil {
		return err
	}
	if marks := b.marks(); len(marks) > 0 {
		return vol.Dirtyf("%s", marks[0].Message)
	}
	if b.u16(offVolumeFlags)&flagActiveFat != 0 {
		return vol.Dirtyf("the second FAT is marked as active, and there is one")
	}
	return nil
}

// marks are the flags that ask for a check, [exFAT] §3.1.13.2 and §3.1.13.3.
func (b bootSector) marks() []vol.Reason {
	var rs []vol.Reason
	flags := b.u16(offVolumeFlags)
	if flags&flagDirty != 0 {
		rs = append(rs, vol.NewReason(Problems(), "dirty", "the volume was not unmounted, or a system found a mistake on it"))
	}
	if flags&flagMediaFailure != 0 {
		rs = append(rs, vol.NewReason(Problems(), "media-failure", "a system met an I/O error on it"))
	}
	return rs
}

// readTables finds the bitmap and the up-case table. By force an up-case table
// is taken that does not fit its checksum.
func (v *volume) readTables(force bool) error {
	t := newTable(v.d, v.g)
	x, err := readTables(t)
	if b := new(brokenChain); errors.As(err, &b) {
		return vol.DamagedAt("/", "%w", err)
	}
	if err != nil {
		return err
	}
	if x.unknown != "" && !force {
		// [exFAT] §8.2: who does not know a critical entry of the root
		// directory does not know what the rest means.
		return vol.Dirtyf("the root directory holds %s", x.unknown)
	}
	v.tables = x
	if v.bits, err = x.findBitmap(t); err != nil {
		return asDirty(err)
	}
	if v.upcase, err = x.readUpcase(t); err != nil && (v.upcase == nil || !force) {
		return asDirty(err)
	}
	return nil
}

// asDirty is err, as a call for a check where it is a *flaw.
func asDirty(err error) error {
	if f := new(flaw); errors.As(err, &f) {
		return vol.Dirtyf("%w", err)
	}
	return err
}

// part is something of the volume itself that lies in the heap.
type part struct {
	name    string
	extents []space.Extent
}

// parts are all that there is of the kind.
func (x *tables) parts() []part {
	return []part{{"the root directory", x.root}, {"the allocation bitmap", x.bitmap.extents}, {"the up-case table", x.upcase.extents}}
}

// owned are the extents of parts.
func owned(parts []part) (all []vol.Owned) {
	for _, p := range parts {
		for _, e := range p.extents {
			all = append(all, vol.Owned{Extent: e, Path: p.name})
		}
	}
	return all
}

// shared says which of the parts have a cluster in common, "" for none.
func (x *tables) shared() string {
	if a, b, ok := vol.Shared(owned(x.parts())); ok {
		return fmt.Sprintf("%s and %s share cluster %d", a.Path, b.Path, b.Start)
	}
	return ""
}

// tablesMarked refuses a volume on which the next file could be put over the
// bitmap itself.
func (v *volume) tablesMarked() error {
	if why := v.tables.shared(); why != "" {
		return vol.Dirtyf("%s", why)
	}
	for _, p := range v.tables.parts() {
		for _, e := range p.extents {
			if n := v.m.CountUsedIn(space.Extent{Start: e.Start - firstCluster, Len: e.Len}); n != uint64(e.Len) {
				return vol.Dirtyf("clusters of %s are marked as free", p.name)
			}
		}
	}
	return nil
}
