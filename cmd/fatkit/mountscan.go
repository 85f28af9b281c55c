package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// scanDoc is what mount-scan --json prints.
type scanDoc struct {
	Schema  string           `json:"schema"`
	Image   string           `json:"image"`
	Exit    int              `json:"exit"`
	Table   *tableDoc        `json:"table,omitempty"` // of a whole disk
	Volumes []*scanVolumeDoc `json:"volumes"`
}

// scanVolumeDoc is one volume of it. What was not read is left out.
type scanVolumeDoc struct {
	volumeHead
	Mountable   string      `json:"mountable,omitempty"`
	Dirty       bool        `json:"dirty"`
	Skipped     string      `json:"skipped,omitempty"` // why
	Error       string      `json:"error,omitempty"`
	Reasons     []reasonDoc `json:"reasons"`
	Clusters    uint64      `json:"clusters"`
	Free        *uint64     `json:"free_clusters,omitempty"`
	Extents     *uint64     `json:"free_extents,omitempty"`
	LargestFree *uint64     `json:"largest_free_extent,omitempty"`
	Load        *loadDoc    `json:"load,omitempty"`

	clusterSize int
	available   *uint64
	fields      []vol.Field // what else a mount would find, for people
}

type reasonDoc struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type loadDoc struct {
	Bytes     int64   `json:"bytes"`
	Reads     int     `json:"reads"`
	Readahead int64   `json:"readahead"`
	Seconds   float64 `json:"seconds"`
}

func (a *app) mountScanCommand() *cli.Command {
	return &cli.Command{
		Name:      "mount-scan",
		Usage:     "say what a mount would read and find",
		ArgsUsage: "IMAGE...",
		Description: "Reads what a mount would read, and writes nothing.\n\n" +
			"Exit: 0 it mounts cleanly, 4 it is dirty, should be checked first or would be refused, 8 nothing is known there.",
		Flags: append([]cli.Flag{
			toggle("leave the allocation data unread", "quick"),
			&cli.StringFlag{Name: "readahead", Usage: "read `SIZE` bytes ahead, 0 for none", DefaultText: "as the device says"},
			&cli.IntFlag{Name: "j", Usage: "scan `N` images at once", DefaultText: "one a processor"},
		}, readFlags()...),
		Action: a.mountScan,
	}
}

func (a *app) mountScan(c *cli.Context) error {
	images, err := several(c)
	if err != nil {
		return err
	}
	o := vol.ScanOptions{Quick: c.Bool("quick")}
	if o.Readahead, err = size(c, "readahead"); err != nil {
		return err
	}
	if c.IsSet("readahead") && o.Readahead == 0 {
		o.Readahead = -1 // as dev.OpenOptions has it: none
	}
	limit := runtime.GOMAXPROCS(0)
	if c.IsSet("j") {
		if limit = min(c.Int("j"), runtime.NumCPU()); limit < 1 {
			return usagef("-j wants a number from 1")
		}
	}
	type outcome struct {
		doc *scanDoc
		err error
	}
	eachImage(c.Context, a, imageJobs{images: expand(images), limit: limit}, func(a *app, image string) outcome {
		doc, err := a.scanImage(c.Context, image, o)
		return outcome{doc, err}
	}, func(image string, r outcome) {
		if r.err != nil {
			a.fail(image, r.err)
		} else {
			a.code |= r.doc.Exit
			a.printScan(r.doc)
		}
	})
	return nil
}

func (a *app) scanImage(ctx context.Context, name string, o vol.ScanOptions) (_ *scanDoc, err error) {
	defer func() { err = notChecked(err) }()
	im, err := a.open(ctx, name, dev.OpenOptions{Readahead: o.Readahead})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, im.Close()) }()
	if j, err := a.journal(ctx, im, ""); err == nil {
		a.reportUndo(ctx, im, j)
	}
	regions, err := a.regions(im)
	if err != nil {
		return nil, err
	}
	doc := &scanDoc{Schema: "fatkit.mount-scan/1", Image: name, Volumes: []*scanVolumeDoc{}}
	if doc.Table = newTableDoc(im.table, regions, vol.SevError); doc.Table != nil && doc.Table.Verdict != verdictClean {
		doc.Exit |= exitLeft
	}
	known := false
	for _, r := range regions {
		v, code, err := a.scanVolume(ctx, im, r, o)
		if err != nil {
			return nil, err
		}
		known = known || r.drv != nil
		doc.Exit |= code
		doc.Volumes = append(doc.Volumes, v)
	}
	if !known {
		doc.Exit |= exitFailed
	}
	return doc, nil
}

// scanVolume scans one volume. One that cannot be read does not keep us from
// the others; a run that is cancelled ends.
func (a *app) scanVolume(ctx context.Context, im *image, r region, o vol.ScanOptions) (*scanVolumeDoc, int, error) {
	if r.drv == nil {
		return &scanVolumeDoc{volumeHead: head(r, vol.Info{Type: r.other.kind}), Skipped: r.unknown(), Reasons: []reasonDoc{}}, exitOK, nil
	}
	start := time.Now()
	d, err := r.volume(im.file)
	if err != nil {
		return nil, 0, err
	}
	o.Readahead = max(o.Readahead, 0)
	s, err := r.drv.MountScan(ctx, d, o)
	if cancelled(ctx) {
		return nil, 0, fmt.Errorf("mount-scan: %w", ctx.Err())
	}
	if err != nil {
		info := vol.Info{Type: r.id.Type, Label: r.id.Label, ID: r.id.ID, Size: r.id.Size}
		return &scanVolumeDoc{volumeHead: head(r, info), Mountable: "no", Error: explainError(err), Reasons: []reasonDoc{}}, exitFailed, nil
	}
	v := newScanVolume(r, s)
	v.Load.Seconds = time.Since(start).Seconds()
	if s.Dirty || s.Mountable == "no" || len(s.Reasons) > 0 {
		return v, exitLeft, nil
	}
	return v, exitOK, nil
}

func newScanVolume(r region, s *vol.Scan) *scanVolumeDoc {
	v := &scanVolumeDoc{volumeHead: head(r, s.Info), Mountable: s.Mountable, Dirty: s.Dirty, Reasons: []reasonDoc{},
		Clusters: s.Clusters, clusterSize: s.ClusterSize, available: s.Available, fields: s.Fields,
		Load: &loadDoc{Bytes: s.Load.Bytes, Reads: s.Load.Reads, Readahead: s.Load.Readahead}}
	for _, reason := range s.Reasons {
		v.Reasons = append(v.Reasons, reasonDoc(reason))
	}
	if s.Counted {
		v.Free, v.Extents, v.LargestFree = &s.FreeClusters, &s.FreeExtents, &s.LargestFreeExtent
	}
	return v
}

func (a *app) printScan(d *scanDoc) {
	if a.json {
		a.printJSON(d)
		return
	}
	if d.Table != nil {
		(&textReporter{a: a}).findings(printable(d.Image), d.Table.Findings)
	}
	tabular := a.columns > 0 && len(d.Volumes) > 1
	rows := [][]string{append(headTitles(), "FREE", "RESULT")}
	for _, v := range d.Volumes {
		name := region{part: v.Partition}.name(printable(d.Image))
		result, free := v.state(), ""
		switch {
		case v.Error != "":
			a.tell("fatkit: %s: %s\n", name, printable(v.Error))
			result = "cannot be read"
		case v.Skipped != "":
			result = "skipped: " + printable(v.Skipped)
			if !a.quiet && !tabular {
				a.printf("%s: %s%s\n", name, result, v.within())
			}
		default:
			a.printScanVolume(name, v, tabular)
			if v.Free != nil && v.Clusters > 0 {
				free = fmt.Sprintf("%.0f %%", 100*float64(*v.Free)/float64(v.Clusters))
			}
		}
		rows = append(rows, append(v.columns(), free, result))
	}
	if tabular && !a.quiet {
		a.printTable(rows)
	}
	_ = a.out.Flush() // bufio keeps the error for the last Flush
}

// state says in words how it would mount.
func (v *scanVolumeDoc) state() string {
	words := map[string]string{"rw": "mounts", "ro": "mounts read-only", "no": "does not mount"}
	state := words[v.Mountable]
	switch {
	case v.Dirty && v.Mountable == "no":
		state += ", and is marked dirty: check it first"
	case v.Dirty:
		state += ", but is marked dirty: check it first"
	case v.Mountable == "no":
	case len(v.Reasons) > 0:
		state += ", but should be checked first"
	case v.Mountable == "ro":
		state = "mounts cleanly, read-only"
	default:
		state += " cleanly"
	}
	return state
}

// freeSpace says in words what is free. Where files cannot have all of that, or more,
// two numbers that both look like the free space must not stand for the same.
func (v *scanVolumeDoc) freeSpace() string {
	free, left := "free", ""
	if v.available != nil {
		free, left = "in free segments,", fmt.Sprintf("; files can take %d", *v.available)
	}
	return fmt.Sprintf("%d of %d clusters %s in %s, the largest %s%s", *v.Free, v.Clusters, free,
		plural(*v.Extents, "extent", "extents"), humanize.IBytes(*v.LargestFree*uint64(max(v.clusterSize, 0))), left)
}

// printScanVolume prints a volume; with row its last line is a row of a table that
// comes later.
func (a *app) printScanVolume(name string, v *scanVolumeDoc, row bool) {
	for _, r := range v.Reasons {
		a.printf("%s\n", a.fit(fmt.Sprintf("%s: %s %s", name, r.Code, printable(r.Message))))
	}
	if a.quiet {
		return
	}
	if !row {
		a.printf("%s: %s: %s\n", a.bold(name), describe(v.volumeHead), v.state())
	}
	if v.Free != nil && !row {
		a.printf("%s: %s\n", name, v.freeSpace())
	}
	if a.verbose {
		for _, f := range v.fields {
			a.printf("  %-28s %s\n", f.Name, printable(fmt.Sprint(f.Value)))
		}
		a.printf("%s: %s in %s, %s ahead, %.3f s\n", name, humanize.IBytes(uint64(v.Load.Bytes)),
			plural(uint64(v.Load.Reads), "read", "reads"), humanize.IBytes(uint64(max(v.Load.Readahead, 0))), v.Load.Seconds)
	}
}
