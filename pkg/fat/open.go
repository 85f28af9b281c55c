package fat

import (
	"context"
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
	t      *table
	alloc  *space.Groups
	m      *space.Map // alloc's: to be read only
	fsinfo int64      // where the FSInfo sector is, 0 for none that may be written
	now    stamp
	cp     codepage
}

var _ vol.Volume = (*volume)(nil)

// open is Driver.Open.
func open(ctx context.Context, d dev.Device, o vol.OpenOptions) (vol.Volume, error) {
	b, g, err := readBoot(d)
	if err != nil {
		return nil, err
	}
	if err := fits(d, b, g); err != nil {
		return nil, err
	}
	if !o.Force {
		if err := needsCheck(ctx, d, b, g); err != nil {
			return nil, err
		}
	}
	v := &volume{d: d, raw: o.Raw, g: g, t: newTable(d, g, g.ActiveFat), now: newStamp(o.Now)}
	if v.cp, err = newCodepage(o.Codepage); err != nil {
		return nil, err
	}
	if v.m, _, err = loadMap(ctx, d, g, g.ActiveFat, 0); err != nil {
		return nil, err
	}
	v.alloc = space.NewAllocator(v.m, space.Options{})
	if f, err := readFSInfo(d, g); err != nil {
		return nil, err
	} else if f != nil && f.signed() {
		v.fsinfo = g.FSInfoSector * g.SectorSize
	}
	v.info, err = describe(d)
	return v, err
}

// Info describes the volume as it was opened.
func (v *volume) Info() vol.Info { return v.info }

// readBoot reads sector 0. What is wrong with it is vol.ErrDamaged where there
// is something of FAT to be damaged, else vol.ErrNotVolume.
func readBoot(d dev.Device) (bootSector, *Geometry, error) {
	b := make(bootSector, bootSectorLen)
	if d.Size() < bootSectorLen {
		return nil, nil, fmt.Errorf("%w: %d bytes are less than a boot sector", vol.ErrNotVolume, d.Size())
	}
	if _, err := d.ReadAt(b, 0); err != nil {
		return nil, nil, err
	}
	g, f := parseGeometry(b)
	if f == nil && !foreign(b) {
		return b, g, nil
	}
	kind := vol.ErrNotVolume
	if probe(d).Confidence > vol.No {
		kind = vol.ErrDamaged
	}
	if f == nil {
		return nil, nil, fmt.Errorf("%w: %w", kind, errBoot)
	}
	return nil, nil, fmt.Errorf("%w: %w: %w", kind, errBoot, f)
}

// fits refuses volumes on which nothing can be changed safely, forced or not.
func fits(d dev.Device, b bootSector, g *Geometry) error {
	if g.VolumeBytes() > d.Size() {
		return fmt.Errorf("%w: the volume has %d bytes, but there are only %d; run check first", vol.ErrDamaged, g.VolumeBytes(), d.Size())
	}
	other, err := widthUnclear(d, b, g)
	if err != nil {
		return err
	}
	if other {
		return fmt.Errorf("%w: %d clusters make it %s, but the FAT is that of a %s; run check first", vol.ErrDamaged, g.Clusters, g.Type, b.fsType()[:5])
	}
	return nil
}

// widthUnclear tells whether the type string and the contents of the FAT agree
// on FAT12 where the count of clusters says FAT16, or the other way round.
func widthUnclear(d dev.Device, b bootSector, g *Geometry) (bool, error) {
	s := string(b.fsType())
	if !b.hasExt() || g.Type == FAT32 || s != "FAT12   " && s != "FAT16   " || s[3:5] == fmt.Sprint(int(g.Type)) {
		return false, nil
	}
	return (&checker{d: d, g: g, cp: dosPage()}).otherWidthFits()
}

// needsCheck returns vol.ErrDirty with the reason for which a volume must be
// checked before it is changed.
func needsCheck(ctx context.Context, d dev.Device, b bootSector, g *Geometry) error {
	marks, err := dirtyMarks(d, b, g)
	if err != nil {
		return err
	}
	if len(marks) > 0 {
		return vol.Dirtyf("%s", marks[0].Message)
	}
	if g.claimed > int64(g.Clusters) {
		return vol.Dirtyf("the FAT has entries for %d of %d clusters", g.Clusters, g.claimed)
	}
	if g.Fats == 1 {
		return nil
	}
	if !g.Mirrored || g.activeBad {
		// [Linux] reads the first FAT whatever BPB_ExtFlags says.
		return vol.Dirtyf("mirroring of the FATs is off, which readers do not agree on")
	}
	at, err := fatsDiffer(ctx, d, g, g.ActiveFat)
	if err != nil {
		return err
	}
	if at >= 0 {
		return vol.Dirtyf("the FATs differ at byte %d", at)
	}
	return nil
}

// dirtyMarks are the marks that ask for a check: in the boot sector (Windows
// NT, [Linux]) and in entry 1 of the FAT ([FAT] "FAT Volume Dirty").
func dirtyMarks(d dev.Device, b bootSector, g *Geometry) ([]vol.Reason, error) {
	var rs []vol.Reason
	if b.state()&stateDirty != 0 {
		rs = append(rs, vol.NewReason(Problems(), "dirty-boot", "the boot sector says that the volume was not unmounted"))
	}
	var clean, noError uint32
	switch g.Type {
	case FAT16:
		clean, noError = cleanShutdown16, noHardError16
	case FAT32:
		clean, noError = cleanShutdown32, noHardError32
	}
	e, err := newTable(d, g, g.ActiveFat).raw(1)
	if err != nil {
		return nil, err
	}
	if e&clean != clean {
		rs = append(rs, vol.NewReason(Problems(), "dirty-fat", "the FAT says that the volume was not unmounted"))
	}
	if e&noError != noError {
		rs = append(rs, vol.NewReason(Problems(), "hard-error", "the FAT says that a disk error was met"))
	}
	return rs, nil
}

// fsInfoPlaced tells whether the FSInfo sector is where one can be: in the
// reserved sectors, and neither the boot sector nor its backup. A program that
// believes another number writes over files.
func (g *Geometry) fsInfoPlaced() bool {
	return g.FSInfoSector > 0 && g.FSInfoSector < g.Reserved && g.FSInfoSector != g.BackupSector
}

// readFSInfo reads the FSInfo sector; nil where there is none, or it cannot be
// where the boot sector says.
func readFSInfo(d dev.Device, g *Geometry) (fsInfo, error) {
	if g.Type != FAT32 || !g.fsInfoPlaced() {
		return nil, nil
	}
	f := make(fsInfo, bootSectorLen)
	_, err := d.ReadAt(f, g.FSInfoSector*g.SectorSize)
	return f, err
}
