package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// mapRun is what the flags of map say.
type mapRun struct {
	a     *app
	r     *reading
	svg   string
	png   string
	show  string // --show: a file that is told apart
	rows  int
	total mapTotals
}

func (a *app) mapCommand() *cli.Command {
	return &cli.Command{
		Name:      "map",
		Usage:     "show where files are, or what a volume is used for",
		ArgsUsage: "IMAGE [PATH...]",
		Description: "With PATH: the extents of each file, with offsets on the volume and on the disk, as filefrag prints them;\n" +
			"of a directory those of all files in it. Without: a map of the volume, drawn in the terminal or as a picture.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "svg", TakesFile: true, Usage: "draw the map of the volume into `FILE`, as SVG", DefaultText: "none"},
			&cli.StringFlag{Name: "png", TakesFile: true, Usage: "draw the map of the volume into `FILE`, as PNG", DefaultText: "none"},
			&cli.StringFlag{Name: "show", Usage: "tell the file `PATH` apart in the map of the volume", DefaultText: "none"},
			&cli.IntFlag{Name: "rows", Value: 16, Usage: "draw `N` lines in the terminal"},
			codepageFlag(),
		}, readFlags()...),
		Action: a.mapImage,
	}
}

func (a *app) mapImage(c *cli.Context) (err error) {
	if !c.Args().Present() {
		return usagef("map wants an image; see fatkit map --help")
	}
	m := &mapRun{a: a, svg: c.String("svg"), png: c.String("png"), show: c.String("show"), rows: c.Int("rows")}
	paths := c.Args().Tail()
	picture := m.svg != "" || m.png != ""
	switch {
	case len(paths) > 0 && (picture || m.show != ""):
		return usagef("--svg, --png and --show are for the map of a volume, which is drawn without PATH")
	case c.IsSet("show") && m.show == "":
		return usagef("--show wants a path")
	case m.rows < 1 || m.rows > mostRows:
		return usagef("--rows wants a number from 1 to %d", mostRows)
	case a.json && m.show != "" && !picture:
		return usagef("--show tells a file apart where the map is drawn; with --json name the file as PATH")
	}
	if m.r, err = a.openFirst(c); err != nil {
		return err
	}
	defer func() { err = about(m.r.arg, errors.Join(err, m.r.Close())) }()
	switch {
	case len(paths) > 0:
		return m.files(c.Context, paths)
	case picture:
		return m.pictures(c.Context)
	case a.json:
		return m.document(c.Context)
	}
	return m.terminal(c.Context)
}

// mapTotals sums a volume up, in bytes.
type mapTotals struct {
	uses  [vol.UseReserved + 1]int64
	free  uint64 // runs
	large dev.Range
	run   dev.Range // the run of free bytes that is going on
}

// add takes a range in; they come in rising order.
func (t *mapTotals) add(u vol.UseRange) {
	t.uses[u.Use] += u.Len
	if u.Use != vol.UseFree {
		return
	}
	if t.run.End() == u.Off && t.free > 0 {
		t.run.Len += u.Len
	} else {
		t.run = u.Range
		t.free++
	}
	if t.run.Len > t.large.Len {
		t.large = t.run
	}
}

// mapSumDoc ends the document of a volume's map.
type mapSumDoc struct {
	Totals      map[string]int64 `json:"totals"` // bytes
	FreeExtents uint64           `json:"free_extents"`
	LargestFree byteRange        `json:"largest_free"` // of the image
}

type useDoc struct {
	Use    string `json:"use"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
}

// document prints the map as ranges, one after the other, as there may be
// millions. Offsets are of the image.
func (m *mapRun) document(ctx context.Context) error {
	info := m.r.tree.Info()
	head, err := json.Marshal(struct {
		Schema      string `json:"schema"`
		Image       string `json:"image"`
		Type        string `json:"type"`
		Offset      int64  `json:"offset"`
		Size        int64  `json:"size"`
		ClusterSize int    `json:"cluster_size"`
	}{"fatkit.map/1", m.r.arg, info.Type, m.r.at.Off, info.Size, info.ClusterSize})
	if err != nil {
		return err
	}
	m.a.printf(`%s,"ranges":[`, head[:len(head)-1])
	var last vol.UseRange
	first := true
	flush := func() {
		if last.Len == 0 {
			return
		}
		if !first {
			m.a.printf(",")
		}
		first = false
		b, _ := json.Marshal(useDoc{last.Use.String(), m.r.at.Off + last.Off, last.Len}) // always can be
		m.a.printf("%s", b)
	}
	err = m.r.tree.Uses(ctx, func(u vol.UseRange) error {
		m.total.add(u)
		if u.Use == last.Use && last.End() == u.Off {
			last.Len += u.Len
			return nil
		}
		flush()
		last = u
		return nil
	})
	flush()
	sum, e := json.Marshal(m.sum())
	m.a.printf("],%s\n", sum[1:])
	return errors.Join(err, e)
}

func (m *mapRun) sum() mapSumDoc {
	d := mapSumDoc{Totals: map[string]int64{}, FreeExtents: m.total.free,
		LargestFree: byteRange{m.r.at.Off + m.total.large.Off, m.total.large.Len}}
	for u := range vol.UseReserved + 1 {
		d.Totals[u.String()] = m.total.uses[u]
	}
	return d
}

// pictures draws the volume into files.
func (m *mapRun) pictures(ctx context.Context) error {
	p, err := m.picture(ctx)
	if err != nil {
		return err
	}
	if m.svg != "" {
		if err := m.write(ctx, m.svg, p.svg()); err != nil {
			return err
		}
	}
	if m.png != "" {
		b, err := p.png()
		if err != nil {
			return err
		}
		return m.write(ctx, m.png, b)
	}
	return nil
}

// write puts a picture into the file name, in the place of one that is there. The
// image is none of those, and what is no regular file is written to.
func (m *mapRun) write(ctx context.Context, name string, b []byte) error {
	fi, err := os.Stat(name)
	switch image, e := os.Stat(m.r.path); {
	case err != nil:
	case e == nil && os.SameFile(image, fi):
		return usagef("%s: that is the image itself", name)
	case fi.IsDir():
		return usagef("%s is a directory", name)
	case !fi.Mode().IsRegular():
		_, err := dev.Await(ctx, func() (any, error) { return nil, os.WriteFile(name, b, 0o666) }, nil) // a pipe waits for who reads it
		return err
	default:
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return err
		}
	}
	temp := name + tempSuffix
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return requestf("%s is there: a run was stopped before it was done, or another is at work; remove it if none is", temp)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}
