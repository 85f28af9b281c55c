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
	file *dev.File
}

func (im *image) Close() error { return im.file.Close() }

// region is a part of an image that a volume is in, or may be.
type region struct {
	part int       // number of the partition; 0 if it is none
	kind string    // what the partition table says it is
	at   dev.Range // bytes of the image
	drv  *vol.Driver
	id   vol.Identity
	what string // where drv is nil: what else is recognised there, or ""
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
	if r.what != "" {
		return "it holds " + r.what
	}
	return "no file system that fatkit knows, or not formatted"
}

// place takes an IMAGE argument apart.
func (a *app) place(arg string) (place, error) {
	return parsePlace(arg, func(name string) bool {
		_, err := os.Lstat(name)
		return err == nil
	})
}

// open opens the image that arg names.
func (a *app) open(arg string, o dev.OpenOptions) (*image, error) {
	p, err := a.place(arg)
	if err != nil {
		return nil, about(arg, err)
	}
	f, err := dev.OpenFile(p.path, o)
	if err != nil {
		return nil, about(arg, err)
	}
	return &image{p, f}, nil
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
	if im.part == 0 && id.Confidence >= vol.Likely {
		return []region{{at: whole, drv: drv, id: id}}, nil
	}
	parts, err := dev.Partitions(im.file)
	if err != nil {
		return nil, err
	}
	if im.part != 0 {
		return a.partition(im, parts)
	}
	switch {
	case len(parts) > 0:
		return a.partitions(im, parts)
	case drv != nil:
		return []region{{at: whole, drv: drv, id: id}}, nil
	case parts != nil:
		return nil, fmt.Errorf("%w: a partition table without partitions", vol.ErrNotVolume)
	}
	return nil, notVolume(recognise(im.file))
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

// partition is the one with the number that the user named.
func (a *app) partition(im *image, parts []dev.Partition) ([]region, error) {
	p, err := findPartition(im.part, parts)
	if err != nil {
		return nil, err
	}
	return a.named(im, region{part: p.Number, kind: p.Type, at: p.Range})
}

func findPartition(number int, parts []dev.Partition) (dev.Partition, error) {
	var have []string
	for _, p := range parts {
		if p.Number == number {
			return p, nil
		}
		have = append(have, fmt.Sprint(p.Number))
	}
	if len(have) == 0 {
		return dev.Partition{}, fmt.Errorf("%w: there is no partition table with a partition %d", vol.ErrNotVolume, number)
	}
	return dev.Partition{}, fmt.Errorf("%w: there is no partition %d, but %s", vol.ErrNotVolume, number, strings.Join(have, ", "))
}

func (a *app) partitions(im *image, parts []dev.Partition) ([]region, error) {
	var rs []region
	for _, p := range parts {
		r, err := a.identify(im, region{part: p.Number, kind: p.Type, at: p.Range})
		if err != nil {
			return nil, err
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// identify asks the drivers what is in r.
func (a *app) identify(im *image, r region) (region, error) {
	d, err := dev.Section(im.file, r.at)
	if err != nil {
		return r, err
	}
	if r.drv, r.id = vol.Identify(d, a.drivers); r.drv == nil {
		r.what = recognise(d)
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
			list = append(list, fmt.Sprintf("%s (%s, %s)", r.name(im.arg), r.id.Type, humanize.IBytes(uint64(r.at.Len))))
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
	im, err := a.open(arg, dev.OpenOptions{Write: !dry})
	if err != nil {
		return nil, err
	}
	t, err := a.aim(ctx, im, u, dry)
	if err != nil {
		return nil, about(arg, errors.Join(err, im.Close()))
	}
	return t, nil
}

func (a *app) aim(ctx context.Context, im *image, u undoFlags, dry bool) (*target, error) {
	j, err := a.settle(ctx, im, u, !dry, true)
	if err != nil {
		return nil, err
	}
	r, err := a.only(im)
	if err != nil {
		return nil, err
	}
	if r.id.Confidence < vol.Likely {
		return nil, fmt.Errorf("%w: %s", vol.ErrDirty, r.id.Note)
	}
	a.detail("%s: %s at byte %d", r.name(im.arg), r.id.Type, r.at.Off)
	return &target{im, r, j, u.keep}, nil
}

// begin starts the one change of a command: the transaction over the image, and
// the volume on it.
func (t *target) begin() (*dev.Txn, dev.Device, error) {
	txn := dev.Begin(t.file)
	d, err := t.volume(txn)
	return txn, d, err
}
