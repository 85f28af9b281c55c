package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// formatDoc is what format --json prints. Offsets are bytes from the start of
// the image.
type formatDoc struct {
	Schema       string      `json:"schema"`
	Image        string      `json:"image"`
	DryRun       bool        `json:"dry_run,omitempty"`
	Table        string      `json:"table,omitempty"`     // with --table: its scheme
	Partition    int         `json:"partition,omitempty"` // with --table: 1
	Type         string      `json:"type"`
	Offset       int64       `json:"offset"`
	Size         int64       `json:"size"`
	Label        string      `json:"label"`
	ID           string      `json:"id"`
	SectorSize   int         `json:"sector_size"`
	ClusterSize  int         `json:"cluster_size"`
	Clusters     uint64      `json:"clusters"`
	FreeClusters uint64      `json:"free_clusters"`
	BytesWritten int64       `json:"bytes_written"`
	Files        uint64      `json:"files,omitempty"`         // with --from
	Directories  uint64      `json:"directories,omitempty"`   // with --from
	ContentBytes int64       `json:"content_bytes,omitempty"` // of the files
	Regions      []regionDoc `json:"regions"`
}

type regionDoc struct {
	Name   string `json:"name"`
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`
}

// run formats: a file that is made for it, or what is there.
func (r *formatRun) run() error {
	if !r.dryRun {
		outliveReader()
	}
	if r.size == 0 {
		return r.existing()
	}
	old, err := r.replaced()
	if err != nil {
		return err
	}
	if r.fill.auto {
		if r.size, err = r.autoSize(); err != nil {
			return err
		}
	}
	plan, err := r.plan(vol.Target{Size: r.size, SectorSize: 512})
	if err != nil {
		return err
	}
	if r.dryRun {
		return r.print(plan, dev.Range{Len: r.size}, 0)
	}
	written, err := r.create(plan, old)
	if err != nil {
		return err
	}
	return r.print(plan, dev.Range{Len: r.size}, written)
}

// plan lays the volume out; nothing is touched before that has worked.
func (r *formatRun) plan(t vol.Target) (*vol.Plan, error) {
	var err error
	if r.opts.Seed, err = r.seed(t.Size); err != nil {
		return nil, err
	}
	plan, err := r.layOut(t)
	if err != nil {
		return nil, err
	}
	for _, w := range plan.Warnings {
		r.a.note("%s: %s", r.place.arg, w)
	}
	return plan, r.enough(plan)
}

// layOut plans the volume, or a disk with it.
func (r *formatRun) layOut(t vol.Target) (*vol.Plan, error) {
	if r.table != "" && r.table != noTable {
		return r.planDisk(t)
	}
	return r.drv.Plan(t, r.opts)
}

// replaced looks at what has the name of the file that --size creates, and
// returns it if it may be replaced: an empty file, as mktemp(1) makes, or
// anything with --force. Nil is nothing there.
func (r *formatRun) replaced() (fs.FileInfo, error) {
	fi, err := os.Stat(r.place.path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(r.place.path); err == nil {
			return nil, fmt.Errorf("%w: it is a symbolic link to nothing", fs.ErrNotExist)
		}
		return nil, r.noLeftover()
	}
	switch {
	case err != nil:
		return nil, err
	case fi.Mode()&fs.ModeDevice != 0:
		return nil, usagef("--size creates an image file, and %s is a device", r.place.path)
	case !fi.Mode().IsRegular():
		return nil, fmt.Errorf("%w: it is no regular file", dev.ErrNotImage)
	case fi.Size() > 0 && !r.force:
		return nil, requestf("%s exists already; without --size it is formatted as it is, with --force it is replaced", r.place.path)
	case fi.Size() == 0:
		return fi, r.noLeftover()
	}
	// Opened for writing for a moment: that is what refuses a file that is
	// locked or behind a loop device.
	f, err := dev.OpenFile(r.place.path, dev.OpenOptions{Write: true})
	if err != nil {
		return nil, err
	}
	return fi, errors.Join(f.Close(), r.noLeftover())
}

// noLeftover refuses to make an image beside an undo log: it belongs to another
// one of that name, and would be taken for the new one's.
func (r *formatRun) noLeftover() error {
	for _, log := range []string{"", r.undo.file} {
		if err := r.noLog(log); err != nil {
			return err
		}
	}
	return nil
}

func (r *formatRun) noLog(explicit string) error {
	j, err := fileJournal(r.place.path, explicit)
	if err != nil {
		return err
	}
	lf, err := j.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(requestf("%s is the undo log of an image of that name; remove it if it is of no use any more", j.Name()), lf.Close())
}

// create makes the image file. Where one is replaced the new one is made beside
// it and takes its place when it is complete, so that a failure leaves the old.
func (r *formatRun) create(plan *vol.Plan, old fs.FileInfo) (written int64, err error) {
	path, temp := r.place.path, r.place.path
	if old != nil {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return 0, err
		}
		temp = path + ".fatkit-new"
	}
	f, err := dev.OpenFile(temp, dev.OpenOptions{Create: true, Size: r.size, Lazy: old == nil})
	if old != nil && errors.Is(err, fs.ErrExist) {
		return 0, requestf("%s is there: a format was stopped before its image took the place of the old one, or another is at work; remove it if none is", temp)
	}
	if err != nil {
		return 0, err
	}
	written, err = r.apply(f, plan)
	if err == nil && old != nil {
		// What takes the place of something must be durable first. A new file
		// is as any other: the system writes it when it sees fit.
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && old != nil {
		if err = likeOld(temp, old); err == nil {
			err = os.Rename(temp, path)
		}
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(temp))
	}
	return written, nil
}

// likeOld gives the file at path the owner and the mode that the file has whose
// place it takes. The mode comes last: a change of the owner may take bits of it.
func likeOld(path string, old fs.FileInfo) error {
	if err := chownLike(path, old); err != nil {
		return err
	}
	return os.Chmod(path, old.Mode().Perm())
}

// unordered is a device whose barriers order nothing. The order of writes
// matters to those who find a volume after a power cut; an image file that was
// being made is of no use to anybody then.
type unordered struct{ dev.Device }

// Sync does nothing.
func (unordered) Sync() error { return nil }

// apply writes the plan straight to a new file: there is nothing to undo.
func (r *formatRun) apply(f *dev.File, plan *vol.Plan) (int64, error) {
	written, err := plan.Apply(r.ctx, unordered{f})
	if err == nil {
		err = r.fillNew(f, dev.Range{Len: r.size})
	}
	if err != nil {
		return written, err
	}
	return written, errors.Join(r.verify(f, plan), r.ctx.Err())
}

// verify holds the result against what a probe says of it.
func (r *formatRun) verify(d dev.Device, plan *vol.Plan) error {
	d, err := r.verifyDisk(d)
	if err != nil {
		return err
	}
	drv, id := vol.Identify(d, r.a.drivers)
	if drv != r.drv || id.Confidence != vol.Sure || id.Type != plan.Type {
		return fmt.Errorf("%w: what was written is taken for %q, not %q (%s)", vol.ErrDamaged, id.Type, plan.Type, id.Note)
	}
	return nil
}

// existing formats what is there: a file, a device or a part of one.
func (r *formatRun) existing() error {
	f, err := dev.OpenFile(r.place.path, dev.OpenOptions{Write: !r.dryRun})
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, dev.ErrEmpty) {
			return fmt.Errorf("%w; --size SIZE makes an image file of it", err)
		}
		return err
	}
	im := &image{place: r.place, file: f}
	r.block = f.IsBlock()
	return errors.Join(r.overwrite(im), im.Close())
}

func (r *formatRun) overwrite(im *image) error {
	j, err := r.a.settle(r.ctx, im, r.undo, !r.dryRun, true)
	if err != nil {
		return err
	}
	at, err := r.bounds(im)
	if err != nil {
		return err
	}
	if err := r.refuse(im, at); err != nil {
		return err
	}
	old, err := region{at: at}.volume(im.file)
	if err != nil {
		return err
	}
	lim := im.file.Limits()
	plan, err := r.plan(vol.Target{Size: at.Len, Offset: at.Off, SectorSize: lim.LogicalSector, PhysicalSize: lim.PhysicalSector, Old: old})
	if err != nil {
		return err
	}
	if r.dryRun {
		return r.print(plan, at, 0)
	}
	written, err := r.stage(im, at, plan, j)
	if err == nil {
		err = r.fillOld(im, at, j)
	}
	if err != nil {
		return err
	}
	return r.print(plan, at, written)
}

// stage formats in memory, looks at the result, and commits it.
func (r *formatRun) stage(im *image, at dev.Range, plan *vol.Plan, j dev.Journal) (int64, error) {
	txn := dev.Begin(im.file)
	defer txn.Rollback()
	d, err := region{at: at}.volume(txn)
	if err != nil {
		return 0, err
	}
	if _, err := plan.Apply(r.ctx, d); err != nil {
		return 0, err
	}
	if err := r.verify(d, plan); err != nil {
		return 0, err
	}
	stats, err := r.a.commit(r.ctx, im, txn, j, r.undo.keep, region{drv: r.drv, at: at}.marks(txn))
	return stats.BytesWritten, err
}

// refuse names what is recognised in the bytes that a format would write over.
func (r *formatRun) refuse(im *image, at dev.Range) error {
	if r.force {
		return nil
	}
	what, err := r.found(im, at)
	if err != nil || what == "" {
		return err
	}
	if r.dryRun {
		r.a.note("%s: it holds %s: without --dry-run, --force would be needed", r.place.arg, what)
		return nil
	}
	return requestf("it holds %s; --force writes over it", what)
}

func (r *formatRun) found(im *image, at dev.Range) (string, error) {
	d, err := region{at: at}.volume(im.file)
	if err != nil {
		return "", err
	}
	drv, id := vol.Identify(d, r.a.drivers)
	if drv != nil && id.Confidence >= vol.Likely {
		return fileSystem(id.Type) + called(id.Label), nil
	}
	if what := recognise(d); what.kind != "" {
		return what.name, nil
	}
	if what := tableOn(d); what != "" {
		return what, nil
	}
	if drv != nil {
		return "what is left of " + fileSystem(id.Type) + called(id.Label), nil
	}
	return r.around(im, at)
}

// tableOn describes a partition table, or is "".
func tableOn(d dev.Device) string {
	t, err := dev.ReadTable(d)
	switch {
	case err != nil: // there is one, damaged
		return "a partition table that cannot be read: " + err.Error()
	case t != nil:
		return "a partition table with " + plural(uint64(len(t.Parts)), "partition", "partitions")
	}
	return ""
}

// called is the label of a volume as part of a sentence.
func called(label string) string {
	if label == "" {
		return ""
	}
	return fmt.Sprintf(" called %q", label)
}

// print prints what was done, or would be.
func (r *formatRun) print(p *vol.Plan, at dev.Range, written int64) error {
	d := formatDoc{
		Schema: "fatkit.format/1", Image: r.place.arg, DryRun: r.dryRun, Type: p.Type, Offset: r.where(at), Size: p.Size,
		Label: p.Label, ID: p.ID, SectorSize: p.SectorSize, ClusterSize: p.ClusterSize,
		Clusters: p.Clusters, FreeClusters: p.FreeClusters, BytesWritten: written, Regions: []regionDoc{},
	}
	if r.layout != nil {
		d.Table, d.Partition = r.table, 1
	}
	if r.content != nil {
		d.Files, d.Directories = r.content.count()
		d.ContentBytes = r.content.bytes()
	}
	if r.filled != nil {
		d.FreeClusters -= min(r.filled.ClustersAllocated, d.FreeClusters)
	}
	for _, g := range p.Regions {
		d.Regions = append(d.Regions, regionDoc{g.Name, at.Off + g.Off, g.Len})
	}
	if r.a.json {
		r.a.printJSON(d)
		return nil
	}
	if r.a.quiet && !r.dryRun {
		return nil
	}
	h := volumeHead{Type: d.Type, Label: d.Label, ID: d.ID, Size: d.Size}
	r.a.printf("%s: %s, %d clusters of %s, %d of them free\n", r.name(), describe(h),
		d.Clusters, humanize.IBytes(uint64(d.ClusterSize)), d.FreeClusters)
	if r.content != nil {
		r.a.printf("%s: %s, %s, %s\n", printable(d.Image), plural(d.Files, "file", "files"),
			plural(d.Directories, "directory", "directories"), humanize.IBytes(uint64(d.ContentBytes)))
	}
	if !r.dryRun && !r.a.verbose {
		return nil
	}
	r.a.printf("%16s %16s  %s\n", "offset", "bytes", "region")
	for _, g := range d.Regions {
		r.a.printf("%16d %16d  %s\n", g.Offset, g.Size, g.Name)
	}
	if r.dryRun {
		r.a.printf("dry run: nothing was written\n")
	} else {
		r.a.printf("%d bytes written\n", d.BytesWritten)
	}
	return nil
}
