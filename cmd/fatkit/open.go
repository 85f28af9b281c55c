package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// image is an open image: a file or a device, and what part of it was named.
type image struct {
	place
	file   *dev.File
	packed string     // what it was compressed with; "" for nothing
	table  *dev.Table // of the whole disk, where its partitions were asked for
}

func (im *image) Close() error { return im.file.Close() }

// region is a part of an image that a volume is in, or may be.
type region struct {
	part  int       // number of the partition; 0 if it is none
	title string    // its name in the GPT, or ""
	at    dev.Range // bytes of the image; empty if there are none
	drv   *vol.Driver
	id    vol.Identity
	other foreign // where drv is nil: what else is recognised there
	hold  string  // why nothing is written to it, or ""
}

// name is how messages call r, in the image arg.
func (r region) name(arg string) string {
	if r.part == 0 || strings.HasSuffix(arg, fmt.Sprintf(":%d", r.part)) {
		return arg
	}
	return fmt.Sprintf("%s:%d", arg, r.part)
}

// unknown says what is in a region that no driver knows.
func (r region) unknown() string {
	switch {
	case r.at.Empty():
		return "there is nothing of it on the disk"
	case r.other.name != "":
		return "it holds " + r.other.name
	}
	return "no file system that fatkit knows, or not formatted"
}

// place takes an IMAGE argument apart, and adds what --partition-label says.
func (a *app) place(arg string) (place, error) {
	p, err := parsePlace(arg, exists)
	if err != nil || a.partName == "" {
		return p, err
	}
	if !p.whole() {
		return p, usagef("--partition-label %q: %s names a part of the disk already", a.partName, arg)
	}
	p.name = a.partName
	return p, nil
}

// exists reports whether a file has this name.
func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// open opens the image that arg names. One that is compressed is unpacked to
// where nobody sees it, and only for reading.
func (a *app) open(ctx context.Context, arg string, o dev.OpenOptions) (*image, error) {
	p, err := a.place(arg)
	if err != nil {
		return nil, about(arg, err)
	}
	if o.Write {
		outliveReader()
	}
	f, err := dev.OpenFile(p.path, o)
	if err != nil {
		return nil, about(arg, err)
	}
	im := &image{place: p, file: f, packed: packing(f)}
	if im.packed != "" {
		if im.file, err = a.unpack(ctx, im, o); err != nil {
			return nil, about(arg, err)
		}
	}
	return im, nil
}

// regions are the volumes of an image: the one that is named, the one that
// starts at byte 0, or all partitions, known or not. A boot sector of FAT looks
// like an MBR at a glance and the other way round, so a driver that is sure
// comes before the partition table, and a guess comes after it.
func (a *app) regions(im *image) ([]region, error) {
	whole := dev.Range{Len: im.file.Size()}
	switch {
	case im.off >= whole.Len:
		return nil, fmt.Errorf("%w: offset %d is beyond the end of the image (%d bytes)", vol.ErrNotVolume, im.off, whole.Len)
	case im.off >= 0:
		return a.named(im, region{at: dev.Range{Off: im.off, Len: whole.Len - im.off}})
	}
	drv, id := vol.Identify(im.file, a.drivers)
	if im.whole() && id.Confidence >= vol.Likely {
		return []region{{at: whole, drv: drv, id: id}}, nil
	}
	t, err := dev.ReadTable(im.file)
	if err != nil {
		return nil, err
	}
	if im.partition() {
		return a.partition(im, t)
	}
	other := recognise(im.file)
	if t != nil && other.kind != "" && faulty(t, dev.FaultUnprotected) {
		t = nil // left from an earlier life of what is something else now
	}
	switch {
	case t != nil && len(t.Parts) > 0:
		im.table = t
		return a.partitions(im, t)
	case drv != nil:
		return []region{{at: whole, drv: drv, id: id}}, nil
	case t != nil:
		return nil, fmt.Errorf("%w: a partition table without partitions", vol.ErrNotVolume)
	}
	return nil, notVolume(other.name)
}

// notVolume says that there is something else, or nothing.
func notVolume(what string) error {
	if what != "" {
		return fmt.Errorf("%w: it holds %s", vol.ErrNotVolume, what)
	}
	return fmt.Errorf("%w: neither a file system that fatkit knows nor a partition table", vol.ErrNotVolume)
}

// named is the region r, which the user has named, so something must be there.
func (a *app) named(im *image, r region) ([]region, error) {
	r, err := a.identify(im, r)
	if err != nil {
		return nil, err
	}
	if r.drv == nil {
		return nil, fmt.Errorf("%w: %s", vol.ErrNotVolume, r.unknown())
	}
	return []region{r}, nil
}

// partition is the one that the user named.
func (a *app) partition(im *image, t *dev.Table) ([]region, error) {
	p, err := im.choose(t)
	if err != nil {
		return nil, err
	}
	return a.named(im, region{part: p.Number, title: p.Name, at: p.Range, hold: writeBans(t)[p.Number]})
}

func (a *app) partitions(im *image, t *dev.Table) ([]region, error) {
	var rs []region
	why := writeBans(t)
	for _, p := range t.Parts {
		r, err := a.identify(im, region{part: p.Number, title: p.Name, at: p.Range, hold: why[p.Number]})
		if err != nil {
			return nil, err
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// identify asks the drivers what is in r.
func (a *app) identify(im *image, r region) (region, error) {
	if r.at.Empty() {
		return r, nil
	}
	d, err := dev.Section(im.file, r.at)
	if err != nil {
		return r, err
	}
	if r.drv, r.id = vol.Identify(d, a.drivers); r.drv == nil {
		r.other = recognise(d)
	}
	return r, nil
}

// only is the one volume of a known type in an image.
func (a *app) only(im *image) (region, error) {
	rs, err := a.regions(im)
	if err != nil {
		return region{}, err
	}
	var known []region
	var list []string
	for _, r := range rs {
		if r.drv != nil {
			known = append(known, r)
			list = append(list, fmt.Sprintf("%s%s (%s, %s)", r.name(im.arg), called(r.title), r.id.Type, humanize.IBytes(uint64(r.at.Len))))
		}
	}
	switch len(known) {
	case 0:
		return region{}, fmt.Errorf("%w: a disk with %s, of no type that fatkit knows",
			vol.ErrNotVolume, plural(uint64(len(rs)), "partition", "partitions"))
	case 1:
		return known[0], nil
	}
	return region{}, requestf("a disk with several volumes, name one of them: %s", strings.Join(list, ", "))
}

// volume is the device of r alone, on d, which is the image or stands for it.
func (r region) volume(d dev.Device) (dev.Device, error) {
	if r.at.Off == 0 && r.at.Len == d.Size() {
		return d, nil
	}
	return dev.Section(d, r.at)
}

// target is one image opened to change the one volume in it.
type target struct {
	*image
	region
	undo dev.Journal
	keep bool
}

// openTarget opens an image to change the one volume in it, and sees to the
// undo log of a run before. With dry it opens for reading only.
func (a *app) openTarget(ctx context.Context, arg string, u undoFlags, dry bool) (*target, error) {
	im, err := a.open(ctx, arg, dev.OpenOptions{Write: !dry})
	if err != nil {
		return nil, err
	}
	t, err := a.newTarget(ctx, im, u, dry)
	if err != nil {
		return nil, about(arg, errors.Join(err, im.Close()))
	}
	return t, nil
}

// newTarget is the target of an open image. Nothing is written to a volume that is only
// a guess, or shares its bytes with another.
func (a *app) newTarget(ctx context.Context, im *image, u undoFlags, dry bool) (*target, error) {
	j, err := a.settle(ctx, im, u, !dry, true)
	if err != nil {
		return nil, err
	}
	r, err := a.only(im)
	if err != nil {
		return nil, err
	}
	if r.hold != "" {
		return nil, requestf("nothing is written to partition %d: %s", r.part, r.hold)
	}
	if r.id.Confidence < vol.Likely {
		return nil, fmt.Errorf("%w: %s", vol.ErrDirty, r.id.Note)
	}
	a.detail("%s: %s at byte %d", r.name(im.arg), r.id.Type, r.at.Off)
	return &target{im, r, j, u.keep}, nil
}
