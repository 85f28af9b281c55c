package main

import (
	"context"
	"math"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/vol"
)

// zeroDoc is what zero --json prints.
type zeroDoc struct {
	Schema  string          `json:"schema"`
	Image   string          `json:"image"`
	DryRun  bool            `json:"dry_run,omitempty"`
	Type    string          `json:"type"`
	Files   []zeroedFileDoc `json:"files"`
	Free    *freeDoc        `json:"free,omitempty"`
	Seconds float64         `json:"seconds"`
}

type zeroedFileDoc struct {
	pathDoc
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Blocks uint64 `json:"blocks"`
	Runs   uint64 `json:"runs"`
}

type freeDoc struct {
	Clusters     uint64 `json:"clusters"`
	Runs         uint64 `json:"runs"`
	BytesPunched int64  `json:"bytes_punched"`
	BytesWritten int64  `json:"bytes_written"`
}

// zeroRun is what the flags of zero say.
type zeroRun struct {
	changeFlags
	req   vol.ZeroRequest
	free  bool
	slack bool
	punch bool // --punch: holes or nothing
	write bool // --write: no holes
}

func (a *app) zeroCommand() *cli.Command {
	return &cli.Command{
		Name:      "zero",
		Usage:     "make ranges of files, or all free clusters, read as zeros",
		ArgsUsage: "IMAGE [PATH...]",
		UsageText: "fatkit zero [-o OFFSET] [-l LENGTH] [-n] IMAGE PATH...\nfatkit zero --free [--slack] [--punch | --write] IMAGE",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "offset", Aliases: []string{"o"}, Usage: "begin the range `SIZE` bytes into the file", DefaultText: "0"},
			&cli.StringFlag{Name: "length", Aliases: []string{"l"}, Usage: "`SIZE` of the range in bytes", DefaultText: "to the end of the file"},
			toggle("do not grow the files", "keep-size", "n"),
			toggle("zero every free cluster instead: by holes where the file can have them, else by writing", "free"),
			toggle("with --free: also what lies behind the ends of files in their last clusters", "slack"),
			toggle("with --free: by making holes, or not at all", "punch"),
			toggle("with --free: by writing, so that the space stays allocated", "write"),
			toggle("go on although the volume asks for a check (not with --free)", "force", "f"),
			toggle("print what would be zeroed, write nothing", "dry-run"),
			codepageFlag(),
		}, append(imageFlags(), undoFlagList()...)...),
		Action: a.zero,
	}
}

func (a *app) zero(c *cli.Context) error {
	r, err := a.zeroOptions(c)
	if err != nil {
		return err
	}
	if r.free {
		return about(r.image, r.runFree(c.Context))
	}
	return about(r.image, r.runFiles(c.Context))
}

func (a *app) zeroOptions(c *cli.Context) (*zeroRun, error) {
	if !c.Args().Present() {
		return nil, usagef("zero wants an image; see fatkit zero --help")
	}
	f, err := a.readChangeFlags(c)
	if err != nil {
		return nil, err
	}
	r := &zeroRun{changeFlags: f, free: c.Bool("free"), slack: c.Bool("slack"), punch: c.Bool("punch"), write: c.Bool("write")}
	if r.free {
		return r, r.freeOnly(c)
	}
	if r.slack || r.punch || r.write {
		return nil, usagef("--slack, --punch and --write are for --free")
	}
	return r, r.readFiles(c)
}

// freeOnly refuses what makes no sense with --free.
func (r *zeroRun) freeOnly(c *cli.Context) error {
	switch {
	case c.NArg() > 1:
		return usagef("zero takes either --free or paths of files")
	case r.punch && r.write:
		return usagef("--punch and --write exclude each other")
	case c.IsSet("offset") || c.IsSet("length") || c.Bool("keep-size"):
		return usagef("--offset, --length and --keep-size are for files, not for --free")
	case r.force:
		return usagef("--force is not for --free: what is free on a damaged volume is not known")
	case r.undo.keep || r.undo.file != "":
		return usagef("--undo and --keep-undo are not for --free: what free clusters held is not kept")
	}
	return nil
}

func (r *zeroRun) readFiles(c *cli.Context) error {
	paths := c.Args().Tail()
	if len(paths) == 0 {
		return usagef("zero wants the path of a file in the image, or --free")
	}
	offset, err := size(c, "offset")
	if err != nil {
		return err
	}
	length := int64(-1) // to the end
	if c.IsSet("length") {
		if length, err = size(c, "length"); err != nil {
			return err
		}
		if length == 0 || length > math.MaxInt64-offset {
			return usagef("--length: from 1 to what fits behind the offset in 2^63-1 bytes")
		}
	}
	r.req.KeepSize = c.Bool("keep-size")
	for _, p := range paths {
		r.req.Files = append(r.req.Files, vol.ZeroFile{Path: p, Offset: offset, Length: length})
	}
	return nil
}

// runFiles zeroes ranges of files, as one change.
func (r *zeroRun) runFiles(ctx context.Context) error {
	start := time.Now()
	doc := &zeroDoc{Schema: "fatkit.zero/1", Image: r.image, DryRun: r.dryRun, Files: []zeroedFileDoc{}}
	_, err := r.change(ctx, func(s *staging) error {
		res, err := s.vol.ZeroRanges(ctx, r.req)
		if err != nil {
			return err
		}
		doc.Type = s.vol.Info().Type
		for _, f := range res.Files {
			doc.Files = append(doc.Files, zeroedFileDoc{newPath(f.Path), f.Offset, f.Length, f.Blocks, f.Runs})
		}
		return nil
	})
	if err != nil {
		return err
	}
	doc.Seconds = time.Since(start).Seconds()
	r.print(doc)
	return nil
}

func (r *zeroRun) print(d *zeroDoc) {
	if r.a.answered(d) {
		return
	}
	for _, f := range d.Files {
		r.a.printf("%s: %d bytes from byte %d are zeros now, %s in %s\n", printable(f.Path), f.Length, f.Offset,
			plural(f.Blocks, "cluster", "clusters"), plural(f.Runs, "run", "runs"))
	}
	if d.Free != nil {
		r.a.printf("%s: %s free in %s: %d bytes punched out, %d bytes written\n", printable(d.Image),
			plural(d.Free.Clusters, "cluster", "clusters"), plural(d.Free.Runs, "run", "runs"), d.Free.BytesPunched, d.Free.BytesWritten)
	}
	if r.a.verbose {
		r.a.printf("%s: %s, %.3f s\n", printable(d.Image), d.Type, d.Seconds)
	}
	if d.DryRun {
		r.a.printf("%s: dry run: nothing was written\n", printable(d.Image))
	}
}
