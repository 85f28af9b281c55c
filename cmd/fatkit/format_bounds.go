package main

import (
	"encoding/binary"
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// bounds are the bytes of the image that the new volume is to have.
func (r *formatRun) bounds(im *image) (dev.Range, error) {
	at, err := r.room(im)
	if err != nil || r.limit == 0 {
		return at, err
	}
	if r.limit > at.Len {
		return at, requestf("%d bytes are asked for, and there are %d", r.limit, at.Len)
	}
	at.Len = r.limit
	return at, nil
}

// room are the bytes of the image that the new volume may have. At an offset
// they end where something else begins: a partition, or a backup partition
// table, which a volume up to the end of the image would write over.
func (r *formatRun) room(im *image) (dev.Range, error) {
	whole := dev.Range{Len: im.file.Size()}
	if im.whole() {
		return whole, nil
	}
	t, err := dev.ReadTable(im.file)
	if err != nil {
		return whole, err
	}
	if im.partition() {
		return r.partition(im, t)
	}
	if im.off >= whole.Len {
		return whole, requestf("offset %d is beyond the end of the image (%d bytes)", im.off, whole.Len)
	}
	if im.off%512 != 0 {
		return whole, usagef("a volume cannot start at byte %d: that is no multiple of 512", im.off)
	}
	at := clip(dev.Range{Off: im.off, Len: whole.Len - im.off}, t, im.file)
	if at.Empty() {
		return at, requestf("there is no room at byte %d: the backup partition table is there", at.Off)
	}
	return at, nil
}

// partition is the one that the user named. One that is not quite what its
// table says holds no new volume.
func (r *formatRun) partition(im *image, t *dev.Table) (dev.Range, error) {
	p, err := im.choose(t)
	if err != nil {
		return p.Range, err
	}
	if hold := writeBans(t)[p.Number]; hold != "" {
		return p.Range, requestf("nothing is written to partition %d: %s", p.Number, hold)
	}
	return p.Range, nil
}

// clip ends r with the partition it starts in or, outside of all, before the
// next one and before what a GPT says is the end of the usable sectors.
func clip(r dev.Range, t *dev.Table, d dev.Device) dev.Range {
	end := min(r.End(), usableEnd(d))
	if t == nil {
		t = &dev.Table{}
	}
	for _, p := range t.Parts {
		if !p.Range.Intersect(dev.Range{Off: r.Off, Len: 1}).Empty() {
			return dev.Range{Off: r.Off, Len: p.Range.End() - r.Off}
		}
		if p.Range.Off > r.Off {
			end = min(end, p.Range.Off)
		}
	}
	return dev.Range{Off: r.Off, Len: max(end-r.Off, 0)}
}

// usableEnd is the byte after the last usable sector, by the backup header of
// the GPT in the last sector of d; the end of d where there is none.
func usableEnd(d dev.Device) int64 {
	const lastUsable = 48 // field of the header: LBA, 8 bytes
	for _, sector := range []int64{512, 4096} {
		if d.Size() < sector {
			break
		}
		h := make([]byte, 92)
		if _, err := d.ReadAt(h, d.Size()-sector); err != nil || string(h[:8]) != "EFI PART" {
			continue
		}
		if last := binary.LittleEndian.Uint64(h[lastUsable:]); last < uint64(d.Size()/sector) {
			return int64(last+1) * sector
		}
	}
	return d.Size()
}

// around names what begins before the new volume and reaches into it: at an offset
// nothing of it need be recognised, and it is written over all the same. It begins where
// the partition does, or the image.
func (r *formatRun) around(im *image, at dev.Range) (string, error) {
	outer := enclosing(im.file, at.Off)
	if outer.Empty() || outer.Off >= at.Off {
		return "", nil
	}
	d, err := region{at: outer}.volume(im.file)
	if err != nil {
		return "", err
	}
	if drv, id := vol.Identify(d, r.a.drivers); drv != nil && id.Confidence >= vol.Likely {
		if id.Size > 0 && outer.Off+id.Size <= at.Off {
			return "", nil
		}
		return fmt.Sprintf("a part of %s%s that begins at byte %d", fileSystem(id.Type), called(id.Label), outer.Off), nil
	}
	what := recognise(d).name
	if what == "" {
		return "", nil
	}
	// How long it is only its own tools know.
	return fmt.Sprintf("what may be a part of %s that begins at byte %d", what, outer.Off), nil
}

// enclosing is the partition that the byte at off is in, or the whole of a device
// without a table. A table that cannot be read tells of no partition.
func enclosing(d dev.Device, off int64) dev.Range {
	t, err := dev.ReadTable(d)
	if t == nil || err != nil {
		return dev.Range{Len: d.Size()}
	}
	for _, p := range t.Parts {
		if !p.Range.Intersect(dev.Range{Off: off, Len: 1}).Empty() {
			return p.Range
		}
	}
	return dev.Range{}
}
