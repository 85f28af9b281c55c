package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// infoDoc is what info --json prints.
type infoDoc struct {
	Schema  string           `json:"schema"`
	Image   string           `json:"image"`
	Size    int64            `json:"size"`
	Volumes []*infoVolumeDoc `json:"volumes"`
}

type infoVolumeDoc struct {
	volumeHead
	Skipped     string     `json:"skipped,omitempty"` // why
	Note        string     `json:"note,omitempty"`    // what is odd about it
	SectorSize  int        `json:"sector_size,omitempty"`
	ClusterSize int        `json:"cluster_size,omitempty"`
	Clusters    uint64     `json:"clusters,omitempty"`
	Fields      []fieldDoc `json:"fields,omitempty"`
}

// fieldDoc is a field of a superblock; the offset counts from the start of the
// image.
type fieldDoc struct {
	Name    string `json:"name"`
	Offset  int64  `json:"offset"`
	Value   any    `json:"value"`
	Meaning string `json:"meaning,omitempty"`
}

func (a *app) infoCommand() *cli.Command {
	return &cli.Command{
		Name:        "info",
		Usage:       "print the fields of the superblocks",
		ArgsUsage:   "IMAGE",
		Description: "Of a disk with partitions all are described.",
		Flags:       readFlags(),
		Action:      a.info,
	}
}

func (a *app) info(c *cli.Context) error {
	name, err := one(c)
	if err != nil {
		return err
	}
	return about(name, a.describeImage(c.Context, name))
}

func (a *app) describeImage(ctx context.Context, name string) (err error) {
	im, err := a.open(ctx, name, dev.OpenOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, im.Close()) }()
	if j, err := a.journal(ctx, im, ""); err == nil {
		a.reportUndo(ctx, im, j)
	}
	regions, err := a.regions(im)
	if err != nil {
		return err
	}
	doc := &infoDoc{Schema: "fatkit.info/1", Image: name, Size: im.file.Size(), Volumes: []*infoVolumeDoc{}}
	for _, r := range regions {
		v, err := describeVolume(im, r)
		if err != nil && len(regions) == 1 {
			return err
		}
		if err != nil { // the others are worth describing all the same
			_, code := classify(err)
			a.code |= code
			v = &infoVolumeDoc{volumeHead: head(r, vol.Info{}), Skipped: explainError(err)}
		}
		doc.Volumes = append(doc.Volumes, v)
	}
	a.printInfo(doc)
	return nil
}

func describeVolume(im *image, r region) (*infoVolumeDoc, error) {
	if r.drv == nil {
		return &infoVolumeDoc{volumeHead: head(r, vol.Info{Type: r.other.kind}), Skipped: r.unknown()}, nil
	}
	d, err := r.volume(im.file)
	if err != nil {
		return nil, err
	}
	info, err := r.drv.Describe(d)
	if err != nil {
		return nil, err
	}
	v := &infoVolumeDoc{volumeHead: head(r, info), Note: r.id.Note,
		SectorSize: info.SectorSize, ClusterSize: info.ClusterSize, Clusters: info.Clusters}
	for _, f := range info.Fields {
		v.Fields = append(v.Fields, fieldDoc{f.Name, r.at.Off + f.Offset, f.Value, f.Meaning})
	}
	return v, nil
}

func (a *app) printInfo(d *infoDoc) {
	if a.json {
		a.printJSON(d)
		return
	}
	for _, v := range d.Volumes {
		name := region{part: v.Partition}.name(printable(d.Image))
		if v.Skipped != "" {
			a.printf("%s: %s at byte %d: %s%s\n", name, humanize.IBytes(uint64(v.Size)), v.Offset, printable(v.Skipped), v.within())
			continue
		}
		a.printf("%s: %s, %d clusters of %s, at byte %d\n", name, describe(v.volumeHead), v.Clusters,
			humanize.IBytes(uint64(max(v.ClusterSize, 0))), v.Offset)
		if v.Note != "" {
			a.note("%s: %s", name, printable(v.Note))
		}
		a.printFields(v.Fields)
	}
}

// printFields prints one field a line, in columns; with -v where it is, too.
func (a *app) printFields(fs []fieldDoc) {
	name, value := 0, 0
	for _, f := range fs {
		name = max(name, len(f.Name))
		if n := len(fmt.Sprint(f.Value)); n <= mostValue {
			value = max(value, n)
		}
	}
	for _, f := range fs {
		at := ""
		if a.verbose {
			at = fmt.Sprintf("%14d  ", f.Offset)
		}
		line := fmt.Sprintf("  %s%-*s  %-*s  %s", at, name, f.Name, value, printable(fmt.Sprint(f.Value)), f.Meaning)
		a.printf("%s\n", strings.TrimRight(line, " "))
	}
}

// mostValue is how wide the column of values gets; longer ones go beyond it.
const mostValue = 20
