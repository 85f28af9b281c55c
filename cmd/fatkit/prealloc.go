package main

import (
	"context"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/vol"
)

// preallocDoc is what prealloc --json prints.
type preallocDoc struct {
	Schema    string     `json:"schema"`
	Image     string     `json:"image"`
	DryRun    bool       `json:"dry_run,omitempty"`
	Type      string     `json:"type"`
	Files     []allocDoc `json:"files"`
	Allocated uint64     `json:"clusters_allocated"`
	Metadata  int64      `json:"metadata_bytes_written"`
	Seconds   float64    `json:"seconds"`
}

type allocDoc struct {
	pathDoc
	Size       int64       `json:"size"`
	Valid      int64       `json:"valid"`
	Allocated  int64       `json:"allocated"`
	Contiguous bool        `json:"contiguous"`
	Extents    []extentDoc `json:"extents"`
}

// extentDoc is an extent: first and count in the format's clusters, the rest in
// bytes.
type extentDoc struct {
	First        uint32 `json:"first"`
	Count        uint32 `json:"count"`
	VolumeOffset int64  `json:"volume_offset"`
	DiskOffset   int64  `json:"disk_offset"`
	Length       int64  `json:"length"`
}

// preallocRun is what the flags of prealloc say.
type preallocRun struct {
	changeFlags
	req vol.PreallocRequest
}

func (a *app) preallocCommand() *cli.Command {
	return &cli.Command{
		Name:      "prealloc",
		Usage:     "reserve space for files, all or nothing",
		ArgsUsage: "IMAGE PATH...",
		UsageText: "fatkit prealloc -l LENGTH [options] IMAGE PATH...\nfatkit prealloc --manifest FILE [options] IMAGE",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "length", Aliases: []string{"l"}, Usage: "`SIZE` to reserve, in bytes", DefaultText: "none: it must be given"},
			&cli.StringFlag{Name: "offset", Aliases: []string{"o"}, Usage: "begin the reserved range `SIZE` bytes into the file", DefaultText: "0"},
			&cli.StringFlag{Name: "manifest", TakesFile: true, Usage: "read LENGTH<TAB>PATH lines from `FILE`, or from standard input with -", DefaultText: "the PATHs given"},
			toggle("do not grow the files, where the file system can do that", "keep-size", "n"),
			toggle("make files, and the directories they are in, that are not there", "create"),
			toggle("each whole file in one extent, or nothing", "contiguous"),
			&cli.StringFlag{Name: "align", Usage: "begin new extents on a multiple of `SIZE` bytes of the volume", DefaultText: "clusters"},
			&cli.StringFlag{Name: "fill", Value: "zero", Usage: "`WHAT` new clusters read as: zero, or none for what was there before"},
			&cli.StringFlag{Name: "valid", Value: "none", Usage: "`HOW` much of the new range counts as written: none, all"},
			toggle("go on although the volume asks for a check", "force", "f"),
			&cli.IntFlag{Name: "j", Usage: "use `N` processors", DefaultText: "all"},
			toggle("print what would be allocated, write nothing", "dry-run"),
			codepageFlag(),
		}, append(imageFlags(), undoFlagList()...)...),
		Action: a.prealloc,
	}
}

func (a *app) prealloc(c *cli.Context) error {
	r, err := a.preallocOptions(c)
	if err != nil {
		return err
	}
	return about(r.image, r.run(c.Context))
}

func (a *app) preallocOptions(c *cli.Context) (*preallocRun, error) {
	if !c.Args().Present() {
		return nil, usagef("prealloc wants an image; see fatkit prealloc --help")
	}
	f, err := a.readChangeFlags(c)
	if err != nil {
		return nil, err
	}
	r := &preallocRun{changeFlags: f}
	r.req = vol.PreallocRequest{KeepSize: c.Bool("keep-size"), Create: c.Bool("create"), Contiguous: c.Bool("contiguous")}
	if err := r.readModes(c); err != nil {
		return nil, err
	}
	if r.req.Files, err = a.preallocFiles(c); err != nil {
		return nil, err
	}
	if c.IsSet("j") {
		if c.Int("j") < 1 {
			return nil, usagef("-j wants a number from 1")
		}
		runtime.GOMAXPROCS(min(c.Int("j"), runtime.NumCPU()))
	}
	return r, nil
}

func (r *preallocRun) readModes(c *cli.Context) error {
	fill, err := oneOf(c, "fill", "zero", "none")
	if err != nil {
		return err
	}
	valid, err := oneOf(c, "valid", "none", "all")
	if err != nil {
		return err
	}
	r.req.FillZero, r.req.ValidAll = fill == "zero", valid == "all"
	if r.req.Align, err = size(c, "align"); err != nil {
		return err
	}
	if c.IsSet("align") && r.req.Align == 0 {
		return usagef("--align cannot be 0")
	}
	return nil
}

// preallocFiles are the files of the request: from the arguments, or from a
// manifest. A file twice is more likely a mistake than a wish.
func (a *app) preallocFiles(c *cli.Context) ([]vol.PreallocFile, error) {
	offset, err := size(c, "offset")
	if err != nil {
		return nil, err
	}
	files, err := a.listedFiles(c)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i := range files {
		f := &files[i]
		f.Offset = offset
		switch {
		case f.Path == "":
			return nil, usagef("a file has an empty name")
		case f.Length <= 0:
			return nil, usagef("%s: there is nothing to reserve in no bytes", f.Path)
		case f.Length > math.MaxInt64-offset:
			return nil, usagef("%s: offset and length together are more than 2^63-1", f.Path)
		case seen[f.Path]:
			return nil, usagef("%s is named twice", f.Path)
		}
		seen[f.Path] = true
	}
	return files, nil
}

func (a *app) listedFiles(c *cli.Context) ([]vol.PreallocFile, error) {
	paths := c.Args().Tail()
	if !c.IsSet("manifest") {
		switch {
		case !c.IsSet("length"):
			return nil, usagef("how much? prealloc wants --length, or --manifest")
		case len(paths) == 0:
			return nil, usagef("prealloc wants the path of a file in the image")
		}
		length, err := size(c, "length")
		if err != nil {
			return nil, err
		}
		var files []vol.PreallocFile
		for _, p := range paths {
			files = append(files, vol.PreallocFile{Path: p, Length: length})
		}
		return files, nil
	}
	if c.IsSet("length") || len(paths) > 0 {
		return nil, usagef("--manifest says which files and how long, so there can be neither --length nor a path")
	}
	return a.readManifest(c.Context, c.String("manifest"))
}

func (r *preallocRun) run(ctx context.Context) error {
	start := time.Now()
	var doc *preallocDoc
	stats, err := r.change(ctx, func(s *staging) error {
		res, err := s.vol.Preallocate(ctx, r.req)
		if err != nil {
			return err
		}
		if res.Stale {
			r.a.note("%s: --fill none: what the new clusters held before becomes readable in the files", r.image)
		}
		doc = r.doc(res, s.vol.Info(), s.at.Off)
		return nil
	})
	if err != nil {
		return err
	}
	doc.Metadata, doc.Seconds = stats.BytesWritten, time.Since(start).Seconds()
	r.print(doc)
	return nil
}

// doc describes the result on a volume that starts at byte base of the disk.
func (r *preallocRun) doc(res *vol.PreallocResult, info vol.Info, base int64) *preallocDoc {
	d := &preallocDoc{Schema: "fatkit.prealloc/1", Image: r.image, DryRun: r.dryRun, Type: info.Type,
		Files: []allocDoc{}, Allocated: res.ClustersAllocated}
	for _, f := range res.Files {
		out := allocDoc{pathDoc: newPath(f.Path), Size: f.Size, Valid: f.Valid, Allocated: f.Allocated,
			Contiguous: len(f.Extents) <= 1, Extents: []extentDoc{}}
		for _, e := range f.Extents {
			out.Extents = append(out.Extents, extentDoc{e.Start, e.Len, e.Off, base + e.Off, e.Length})
		}
		d.Files = append(d.Files, out)
	}
	return d
}

func (r *preallocRun) print(d *preallocDoc) {
	if r.a.answered(d) {
		return
	}
	for _, f := range d.Files {
		place := plural(uint64(len(f.Extents)), "extent", "extents")
		switch {
		case len(f.Extents) > 0:
			place += ", from byte " + strconv.FormatInt(f.Extents[0].DiskOffset, 10)
		case f.Allocated > 0: // F2FS gives a reservation its place when it is written
			place = "reserved blocks, placed when written"
		}
		r.a.printf("%s: %s in %s\n", printable(f.Path), plural(uint64(f.Size), "byte", "bytes"), place)
		if !r.a.verbose {
			continue
		}
		for _, e := range f.Extents {
			r.a.printf("    clusters %d-%d, byte %d of the volume, %d of the disk, %d bytes\n",
				e.First, uint64(e.First)+uint64(e.Count)-1, e.VolumeOffset, e.DiskOffset, e.Length)
		}
	}
	words := []string{plural(d.Allocated, "cluster", "clusters") + " allocated"}
	if d.DryRun {
		words = append(words, "dry run: nothing was written")
	} else {
		words = append(words, humanize.IBytes(uint64(d.Metadata))+" of metadata written")
	}
	r.a.printf("%s: %s\n", printable(r.image), strings.Join(words, ", "))
}
