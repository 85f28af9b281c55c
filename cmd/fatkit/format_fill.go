package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/source"
)

// fillFlags are what the flags of format say of what it fills the volume with.
type fillFlags struct {
	from  string // --from; "": nothing
	auto  bool   // --size auto
	slack int64  // --slack
	in    inFlags
}

func fillFlagList() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "from", Aliases: []string{"d"}, Usage: "fill it from `DIR`, from a tar archive (plain, gz, zst, xz), or from one on standard input with -", DefaultText: "nothing: it stays empty"},
		&cli.StringFlag{Name: "slack", Usage: "with --size auto: leave this `SIZE` free", DefaultText: "0"},
	}, inFlagList()...)
}

func (r *formatRun) readFill(c *cli.Context) (err error) {
	f := &r.fill
	f.from = c.String("from")
	if f.in, err = r.a.readInFlags(c); err != nil {
		return err
	}
	if f.slack, err = size(c, "slack"); err != nil {
		return err
	}
	f.auto = c.String("size") == "auto"
	switch {
	case c.IsSet("from") && f.from == "":
		return usagef("--from wants a directory or a tar archive")
	case f.from != "" && r.drv.Need == nil:
		return usagef("--from: %s volumes cannot be filled", r.drv.Name)
	case f.from != "":
		if err := canRead(r.drv, f.in.read); err != nil {
			return err
		}
		if f.from != "-" && r.undo.keep {
			return usagef("--keep-undo cannot take back the contents of files, so it does not go with --from")
		}
	case f.auto:
		return usagef("--size auto is as large as what --from brings, so it wants that")
	default:
		for _, name := range inFlagNames() {
			if c.IsSet(name) {
				return usagef("--%s is for what --from brings", name)
			}
		}
	}
	if f.slack > 0 && !f.auto {
		return usagef("--slack goes with --size auto")
	}
	return nil
}

// gather reads the source, and holds it against what the format can hold.
func (r *formatRun) gather() error {
	o, err := r.a.sourceOptions(r.fill.in, r.place)
	if err != nil {
		return err
	}
	o.Seconds, o.NoXattrs = true, !r.drv.Holds.Xattrs
	var src *source.Source
	fi, err := os.Stat(r.fill.from)
	switch {
	case r.fill.from != "-" && err != nil:
		return about(r.fill.from, err)
	case r.fill.from != "-" && fi.IsDir():
		src, err = source.Dir(r.ctx, r.fill.from, o)
	default:
		src, err = source.Tar(r.ctx, r.fill.from, r.a.in, o)
	}
	if err != nil {
		return err
	}
	if r.content, err = r.a.adaptTo(src, r.drv.Holds, r.fill.in); err == nil {
		err = r.content.findHoles(r.ctx, r.drv.Holds)
	}
	if err != nil {
		return errors.Join(err, src.Close())
	}
	if r.opts.RootOwner != nil {
		r.content.rootOwner(*r.opts.RootOwner)
	}
	r.content.tell(r.place.arg)
	return nil
}

// rootOwner gives the root directory an owner, whatever the source or --owner say.
func (l *filling) rootOwner(ids [2]uint32) {
	for i := range l.entries {
		if e := &l.entries[i]; e.Path == "" {
			e.UID, e.GID = ids[0], ids[1]
		}
	}
}

// need is how many clusters the content takes on a planned volume.
func (r *formatRun) need(p *vol.Plan) (uint64, error) {
	return r.drv.Need(p, r.fill.in.read, r.content.entries)
}

const (
	autoStep = 4096    // sizes that --size auto tries are multiples of it, bytes
	autoMost = 1 << 44 // 16 TiB: more than that nobody means
)

// autoSize is the size of the smallest volume that holds the content and the
// slack.
func (r *formatRun) autoSize() (int64, error) {
	var why error
	holds := func(size int64) bool {
		if r.ctx.Err() != nil {
			return false
		}
		p, err := r.planQuietly(size)
		if err != nil {
			why = err
			return false
		}
		n, err := r.need(p)
		if err != nil {
			why = err
			return false
		}
		slack := uint64(vol.DivUp(r.fill.slack, int64(max(p.ClusterSize, 1))))
		if n+slack <= p.FreeClusters {
			return true
		}
		why = fmt.Errorf("it needs %d clusters of %d bytes, and %d bytes have %d", n+slack, p.ClusterSize, size, p.FreeClusters)
		return false
	}
	least := r.content.bytes()
	if r.drv.Holds.HoleUnit > 0 {
		least = r.content.dataBytes()
	}
	least = vol.RoundUp(least+r.fill.slack, autoStep)
	most := max(least, 64<<10)
	for ; !holds(most); most *= 2 {
		if most > autoMost || r.ctx.Err() != nil {
			return 0, r.tooMuch(why)
		}
	}
	steps := vol.FirstWhere((most-least)/autoStep, func(i int64) bool { return holds(least + i*autoStep) })
	return least + steps*autoStep, r.ctx.Err()
}

// planQuietly is plan without what there is to say about it.
func (r *formatRun) planQuietly(size int64) (*vol.Plan, error) {
	var err error
	if r.opts.Seed, err = r.seed(size); err != nil {
		return nil, err
	}
	return r.layOut(vol.Target{Size: size, SectorSize: 512})
}

// tooMuch says that no volume of the type holds the content, and which type does.
func (r *formatRun) tooMuch(why error) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	larger := map[string]string{"fat12": "fat32", "fat16": "fat32", "fat32": "exfat", "fat": "exfat"}[r.opts.Type]
	text := strings.ToUpper(r.opts.Type) + " cannot hold this"
	if larger != "" {
		why = fmt.Errorf("%w; use -t %s", why, larger)
	}
	return vol.Because(text, why)
}

// enough refuses a volume that is too small before anything is touched.
func (r *formatRun) enough(p *vol.Plan) error {
	if r.content == nil {
		return nil
	}
	n, err := r.need(p)
	if err != nil {
		return r.tooMuch(err)
	}
	if n > p.FreeClusters {
		return requestf("%s does not fit: it needs %d clusters of %d bytes, and the volume has %d", r.fill.from, n, p.ClusterSize, p.FreeClusters)
	}
	return nil
}

// fillIn puts the content on the volume that was made at the range at of f, or in
// the partition of the disk that was made there.
func (r *formatRun) fillIn(f dev.Device, at dev.Range, commit func(*dev.Txn) error) error {
	if r.layout != nil {
		at = dev.Range{Off: at.Off + r.layout.Part.Off, Len: r.layout.Part.Len}
	}
	txn := dev.Begin(f)
	defer txn.Rollback()
	d, err := region{at: at}.volume(txn)
	if err != nil {
		return err
	}
	raw, err := region{at: at}.volume(f)
	if err != nil {
		return err
	}
	v, err := r.drv.Open(r.ctx, d, vol.OpenOptions{Raw: raw, New: true, Now: r.opts.Time, ReadOptions: r.fill.in.read})
	if err != nil {
		return err
	}
	res, err := r.content.put(r.ctx, v, d, raw, &vol.PutRequest{Rename: r.fill.in.rename}, r.place.arg)
	if err != nil {
		return err
	}
	r.filled = res
	return commit(txn)
}

// fillNew fills a volume in a file that is being made: there is nothing to undo,
// and nothing that has to be durable before something else.
func (r *formatRun) fillNew(f *dev.File, at dev.Range) error {
	if r.content == nil {
		return nil
	}
	return r.fillIn(unordered{f}, at, func(txn *dev.Txn) error {
		_, err := txn.Commit(r.ctx, dev.CommitOptions{})
		return err
	})
}

// fillOld fills a volume that was made, durably, where something else was. What
// was there is gone by then, so an error leaves the volume without files.
func (r *formatRun) fillOld(im *image, at dev.Range, j dev.Journal) error {
	if r.content == nil {
		return nil
	}
	err := r.fillIn(im.file, at, func(txn *dev.Txn) error {
		_, err := r.a.commit(r.ctx, im, txn, j, false, region{drv: r.drv, at: at}.marks(im.file))
		return err
	})
	if err != nil {
		return &halfway{"the volume is made, but nothing is in it", err}
	}
	return nil
}
