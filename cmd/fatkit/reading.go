package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// reading is one image opened to read the files of the one volume in it.
type reading struct {
	*image
	region
	tree   vol.Tree
	staged *dev.Txn // what a mount would carry out first; never committed
}

// Close gives the image back, and what was staged over it up.
func (r *reading) Close() error {
	if r.staged == nil {
		return r.image.Close()
	}
	return errors.Join(r.staged.Close(), r.image.Close())
}

// openTree opens an image for reading its files. A volume that asks for a check
// is read as far as it can be, and the user is told.
func (a *app) openTree(ctx context.Context, arg string, o vol.ReadOptions) (*reading, error) {
	im, err := a.open(ctx, arg, dev.OpenOptions{})
	if err != nil {
		return nil, err
	}
	r, err := a.readTree(ctx, im, o)
	if err != nil {
		return nil, about(arg, errors.Join(err, im.Close()))
	}
	return r, nil
}

// openFirst is openTree of the first argument.
func (a *app) openFirst(c *cli.Context) (*reading, error) {
	o, err := a.readOptions(c)
	if err != nil {
		return nil, err
	}
	return a.openTree(c.Context, c.Args().First(), o)
}

func (a *app) readTree(ctx context.Context, im *image, o vol.ReadOptions) (*reading, error) {
	if j, err := a.journal(ctx, im, ""); err == nil {
		a.reportUndo(ctx, im, j)
	}
	r, err := a.only(im)
	if err != nil {
		return nil, err
	}
	return a.readVolume(ctx, im, r, o)
}

// readVolume opens the volume in r for reading its files as a mount would show
// them. What a mount would carry out before is staged in memory.
func (a *app) readVolume(ctx context.Context, im *image, r region, o vol.ReadOptions) (*reading, error) {
	if err := canRead(r.drv, o); err != nil {
		return nil, err
	}
	d, err := r.volume(im.file)
	if err != nil {
		return nil, err
	}
	txn, err := a.settled(ctx, r, r.name(printable(im.arg)), d)
	if err != nil {
		return nil, err
	}
	if txn != nil {
		d = txn
	}
	t, err := r.drv.Read(ctx, d, o)
	if err != nil {
		if txn != nil {
			txn.Rollback()
		}
		return nil, err
	}
	return &reading{im, r, t, txn}, nil
}

// read opens the volume in r for reading its files as they are: of one that is
// open for a change, in which nothing waits for a mount.
func (r region) read(ctx context.Context, f *dev.File, o vol.ReadOptions) (vol.Tree, error) {
	if err := canRead(r.drv, o); err != nil {
		return nil, err
	}
	d, err := r.volume(f)
	if err != nil {
		return nil, err
	}
	return r.drv.Read(ctx, d, o)
}

// settled is what a mount would make of a volume before it shows any file, nil
// if that is the volume as it is; and says so.
func (a *app) settled(ctx context.Context, r region, name string, d dev.Device) (*dev.Txn, error) {
	if r.drv.Settle == nil {
		return nil, nil
	}
	txn := dev.Begin(d)
	note, err := r.drv.Settle(ctx, txn)
	if err == nil && note != "" {
		a.note("%s: %s", name, note)
		return txn, nil
	}
	txn.Rollback()
	if err != nil && ctx.Err() == nil {
		a.note("%s: a log waits for its replay, and cannot be carried out, so files are as the last checkpoint has them: %s", name, printable(explainError(err)))
		return nil, nil
	}
	return nil, err
}

// canRead refuses what a format has no use for.
func canRead(d *vol.Driver, o vol.ReadOptions) error {
	if d.Read == nil {
		return requestf("the files of %s volumes cannot be read", d.Name)
	}
	return hasPages(d, o)
}

// hasPages refuses a code page for a format that has none.
func hasPages(d *vol.Driver, o vol.ReadOptions) error {
	if o.Codepage != 0 && len(d.Holds.Codepages) == 0 {
		return usagef("--codepage is for FAT: names on %s are Unicode", d.Name)
	}
	return nil
}

// codepageFlag is for every command that has to do with names.
func codepageFlag() cli.Flag {
	return &cli.IntFlag{Name: "codepage", Usage: "`NUMBER` of the code page of short names on FAT, such as 850, 866 or 932", DefaultText: "437, and short names in ASCII alone"}
}

// codepages are the numbers of the code pages that are known.
func (a *app) codepages() []string {
	var known []string
	for _, d := range a.drivers {
		for _, number := range d.Holds.Codepages {
			known = append(known, strconv.Itoa(number))
		}
	}
	return known
}

// codepage is number, the value of an option, if there is such a code page.
func (a *app) codepage(option string, number int) (int, error) {
	for _, d := range a.drivers {
		if slices.Contains(d.Holds.Codepages, number) {
			return number, nil
		}
	}
	return 0, usagef("%s \"%d\": it can be %s", option, number, strings.Join(a.codepages(), ", "))
}

func (a *app) readOptions(c *cli.Context) (o vol.ReadOptions, err error) {
	if c.IsSet("codepage") {
		o.Codepage, err = a.codepage("--codepage", c.Int("codepage"))
	}
	return o, err
}

// insides are the parts of IMAGE::PATH, as mtools and copy spell a place inside
// an image; inside is false for a path of the host.
func insides(arg string) (image, path string, inside bool) {
	i := strings.Index(arg, "::")
	if i <= 0 {
		return "", arg, false
	}
	return arg[:i], arg[i+2:], true
}

// stamp is a time as documents have it; "" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// modeText is kind and mode as ls(1) prints them.
func modeText(n *vol.Node) string {
	kinds := "?-dlpscb"
	b := []byte{kinds[min(int(n.Kind), len(kinds)-1)]}
	for i := 8; i >= 0; i-- {
		c := byte('-')
		if n.Mode>>i&1 != 0 {
			c = "xwr"[i%3]
		}
		b = append(b, c)
	}
	for _, s := range []struct {
		bit   uint32
		at    int
		with  byte // the permission to execute is there
		alone byte
	}{{0o4000, 3, 's', 'S'}, {0o2000, 6, 's', 'S'}, {0o1000, 9, 't', 'T'}} {
		if n.Mode&s.bit != 0 {
			if b[s.at] == 'x' {
				b[s.at] = s.with
			} else {
				b[s.at] = s.alone
			}
		}
	}
	return string(b)
}

// unreadable prints what of an image could not be read, and goes on.
func (a *app) unreadable(image string, err error) {
	_, code := classify(err)
	a.code |= code
	a.tell("fatkit: %s: %s\n", printable(image), printable(explainError(err)))
}
