package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/disk"
	"github.com/fatkit/fatkit/pkg/vol"
)

// formatRun is one format: what is asked for, and what comes of it.
type formatRun struct {
	a      *app
	ctx    context.Context
	drv    *vol.Driver
	place  place
	size   int64 // --size; 0: not given
	force  bool
	dryRun bool
	undo   undoFlags
	opts   vol.FormatOptions

	table    string       // --table
	partName string       // --partition-label
	block    bool         // it is a block device
	layout   *disk.Layout // of the disk, with --table; set when it is planned
	limit    int64        // bytes that the volume may take of what is there; 0: all
	seeded   *uint64      // what ids that are not given are made of; nil: see seed

	fill    fillFlags
	content *filling       // what --from brings
	filled  *vol.PutResult // once it is there
}

func (a *app) formatCommand() *cli.Command {
	return &cli.Command{
		Name:      "format",
		Usage:     "make a file system in an image file, a device or a partition",
		ArgsUsage: "IMAGE",
		UsageText: "fatkit format -t TYPE [-s SIZE] [options] IMAGE",
		Description: "What is there already is written over only with --force, if it is anything that is known.\n" +
			"With SOURCE_DATE_EPOCH in the environment the same command gives the same bytes.\n" +
			"--from gives the same bytes from a directory and from its tar archive. A plain one does not tell\n" +
			"holes from zeros, so on F2FS whole blocks of zeros are holes, whatever the source has.",
		Flags: append(append([]cli.Flag{
			&cli.StringFlag{Name: "type", Aliases: []string{"t"}, Usage: "`TYPE` of the file system: " + strings.Join(a.types(), ", "), DefaultText: "none: it must be given"},
			&cli.StringFlag{Name: "size", Aliases: []string{"s"}, Usage: "create the image file with this `SIZE` in bytes, such as 64M, sparse; auto is as small as what --from brings allows", DefaultText: "IMAGE is there already"},
			&cli.StringFlag{Name: "label", Aliases: []string{"L"}, Usage: "volume label `TEXT`", DefaultText: "none"},
			&cli.StringFlag{Name: "id", Aliases: []string{"i"}, Usage: "volume `ID`: a serial such as 1234-ABCD, or the UUID of F2FS", DefaultText: "random, or by SOURCE_DATE_EPOCH"},
			&cli.StringFlag{Name: "cluster-size", Aliases: []string{"c"}, Usage: "`SIZE` of a cluster in bytes, of a block of F2FS", DefaultText: "by the type's tables"},
			&cli.StringFlag{Name: "sector-size", Aliases: []string{"S"}, Usage: "`SIZE` of a sector in bytes, 512 to 4096", DefaultText: "the device's, 512 for a file"},
			&cli.StringFlag{Name: "align", Usage: "put the data area on a multiple of `SIZE` bytes", DefaultText: "by type and size"},
			&cli.IntFlag{Name: "fats", Usage: "number `N` of FATs, 1 to 4", DefaultText: "2"},
			&cli.Int64Flag{Name: "reserved-sectors", Usage: "`N` sectors before the first FAT", DefaultText: "as the type wants"},
			&cli.IntFlag{Name: "root-entries", Usage: "`N` entries in the root directory of FAT12 and FAT16", DefaultText: "as the type wants"},
			&cli.Int64Flag{Name: "hidden-sectors", Usage: "`N` sectors before the volume, as its boot sector says", DefaultText: "as IMAGE says"},
			&cli.StringFlag{Name: "media-type", Usage: "media `BYTE`", DefaultText: "0xF8, a floppy's own for its size"},
			&cli.StringFlag{Name: "features", Aliases: []string{"O"}, Usage: "`FEATURES` of F2FS, with commas between; the manual page lists them", DefaultText: "none"},
			&cli.StringFlag{Name: "uuid", Usage: "volume `GUID`, for types that have one beside the serial", DefaultText: "none"},
			&cli.Float64Flag{Name: "overprovision", Usage: "`PERCENT` of an F2FS volume that is kept for cleaning", DefaultText: "the best for the size"},
			&cli.IntFlag{Name: "segs-per-sec", Usage: "`N` segments of 2 MiB to a section of F2FS", DefaultText: "1"},
			&cli.IntFlag{Name: "secs-per-zone", Usage: "`N` sections to a zone of F2FS", DefaultText: "1"},
			&cli.StringFlag{Name: "cold-ext", Usage: "`LIST` of file name extensions that F2FS takes for cold, besides the usual ones", DefaultText: "none"},
			&cli.StringFlag{Name: "hot-ext", Usage: "`LIST` of file name extensions that F2FS takes for hot, besides the usual ones", DefaultText: "none"},
			&cli.StringFlag{Name: "root-owner", Usage: "`UID:GID` of the root directory of F2FS", DefaultText: "0:0"},
			&cli.StringFlag{Name: "encoding", Usage: "`ENCODING` of names with the F2FS feature casefold: utf8, utf8:strict", DefaultText: "utf8"},
			&cli.StringFlag{Name: "table", Value: noTable, Usage: "make a disk with one partition, aligned to 1 MiB, and a partition `TABLE`: none, mbr, gpt"},
			&cli.StringFlag{Name: "partition-label", Usage: "`NAME` of that partition in a GPT; without --table, of the one to format", DefaultText: "the volume label"},
			toggle("write over what is recognised there", "force", "f"),
			toggle("print the layout, write nothing", "dry-run"),
		}, fillFlagList()...), undoFlagList()...),
		Action: a.format,
	}
}

// types are all that format -t takes.
func (a *app) types() []string {
	var ts []string
	for _, d := range a.drivers {
		ts = append(ts, d.Types...)
	}
	return ts
}

func (a *app) format(c *cli.Context) error {
	image, err := one(c)
	if err != nil {
		return err
	}
	r, err := a.formatOptions(c, image)
	if err != nil {
		return about(image, err)
	}
	if r.fill.from != "" {
		if err := r.gather(); err != nil {
			return about(image, err)
		}
		defer func() { _ = r.content.src.Close() }() // it was only read
	}
	return about(image, r.run())
}

func (a *app) formatOptions(c *cli.Context, image string) (*formatRun, error) {
	r := &formatRun{a: a, ctx: c.Context, force: c.Bool("force"), dryRun: c.Bool("dry-run")}
	var err error
	if r.place, err = a.place(image); err != nil {
		return nil, err
	}
	r.undo = readUndoFlags(c)
	auto := c.String("size") == "auto"
	if r.size = 1; !auto { // the size is found out later
		if r.size, err = size(c, "size"); err != nil {
			return nil, err
		}
	}
	if c.IsSet("size") && r.size == 0 {
		return nil, usagef("--size: an image of no bytes holds nothing")
	}
	if err := r.readTable(c); err != nil {
		return nil, err
	}
	if r.size > 0 && !r.place.whole() {
		return nil, usagef("--size creates an image file, so it cannot be given for a part of one; make the file first, with truncate(1)")
	}
	if r.size > 0 && r.undo != (undoFlags{}) {
		return nil, usagef("--undo and --keep-undo are for what is there already, not with --size")
	}
	if err := r.readType(c.String("type")); err != nil {
		return nil, err
	}
	if err := r.readOptions(c); err != nil {
		return nil, err
	}
	return r, r.readFill(c)
}

func (r *formatRun) readType(name string) error {
	if name == "" {
		return usagef("which file system? -t takes %s", strings.Join(r.a.types(), ", "))
	}
	for _, d := range r.a.drivers {
		if slices.Contains(d.Types, name) {
			r.drv, r.opts.Type = d, name
			return nil
		}
	}
	return usagef("-t %q: it can be %s", name, strings.Join(r.a.types(), ", "))
}

// readOptions reads what is for the driver, which has the last word on it.
func (r *formatRun) readOptions(c *cli.Context) error {
	o := &r.opts
	o.Label, o.ID = c.String("label"), c.String("id")
	if c.IsSet("id") && o.ID == "" {
		return usagef("--id wants a serial or UUID")
	}
	if c.IsSet("uuid") && c.String("uuid") == "" {
		return usagef("--uuid wants a GUID")
	}
	o.Features, o.VolumeGUID = c.String("features"), c.String("uuid")
	for name, to := range map[string]*int64{"cluster-size": &o.ClusterSize, "sector-size": &o.SectorSize, "align": &o.Align} {
		n, err := size(c, name)
		if err != nil {
			return err
		}
		if c.IsSet(name) && n == 0 {
			return usagef("--%s cannot be 0", name)
		}
		*to = n
	}
	o.Fats, o.RootEntries = given(c, "fats", c.Int), given(c, "root-entries", c.Int)
	o.ReservedSectors = given(c, "reserved-sectors", c.Int64)
	o.HiddenSectors = given(c, "hidden-sectors", c.Int64)
	if c.IsSet("media-type") {
		n, err := strconv.ParseUint(c.String("media-type"), 0, 8)
		if err != nil {
			return usagef("--media-type %q: it is one byte, such as 0xF8", c.String("media-type"))
		}
		media := int(n)
		o.MediaType = &media
	}
	if err := r.readF2FS(c); err != nil {
		return err
	}
	var err error
	o.Time, err = r.a.clock()
	return err
}

// readF2FS reads the options that only F2FS has.
func (r *formatRun) readF2FS(c *cli.Context) error {
	o := &r.opts
	o.Overprovision = given(c, "overprovision", c.Float64)
	o.SegmentsPerSection = given(c, "segs-per-sec", c.Int)
	o.SectionsPerZone = given(c, "secs-per-zone", c.Int)
	o.ColdExtensions, o.HotExtensions = list(c.String("cold-ext")), list(c.String("hot-ext"))
	o.Encoding = c.String("encoding")
	if !c.IsSet("root-owner") {
		return nil
	}
	var err error
	o.RootOwner, err = owner("--root-owner", c.String("root-owner"))
	return err
}

// owner reads the user and group of the root directory, UID:GID.
func owner(option, v string) (*[2]uint32, error) {
	var ids [2]uint32
	parts := strings.Split(v, ":")
	for i := range ids {
		if len(parts) != len(ids) {
			return nil, usagef("%s %q: it is UID:GID, two numbers", option, v)
		}
		n, err := strconv.ParseUint(parts[i], 10, 32)
		if err != nil || n == math.MaxUint32 { // that one is nobody's, chown(2)
			return nil, usagef("%s %q: it is UID:GID, two numbers below %d", option, v, uint64(math.MaxUint32))
		}
		ids[i] = uint32(n)
	}
	return &ids, nil
}

// list is a list with commas between.
func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// given is the value of a flag, or nil where it is not given.
func given[T any](c *cli.Context, name string, read func(string) T) *T {
	if !c.IsSet(name) {
		return nil
	}
	v := read(name)
	return &v
}

// epoch is SOURCE_DATE_EPOCH, seconds since 1970.
func (a *app) epoch() (seconds int64, set bool, err error) {
	text := a.getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return 0, false, nil
	}
	seconds, err = strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return 0, true, usagef("SOURCE_DATE_EPOCH is %q: it must be a number of seconds since 1970", text)
	}
	return seconds, true, nil
}

// clock is the time that is written to volumes: now, or SOURCE_DATE_EPOCH, which
// makes the same command give the same bytes.
func (a *app) clock() (int64, error) {
	seconds, set, err := a.epoch()
	if set || err != nil {
		return seconds, err
	}
	return a.now().Unix(), nil
}

// seed is for the ids that were not given: random, or derived from what the
// volume is where the result must be reproducible.
func (r *formatRun) seed(size int64) (uint64, error) {
	if r.seeded != nil {
		return *r.seeded, nil
	}
	seconds, set, err := r.a.epoch()
	if err != nil {
		return 0, err
	}
	var b [sha256.Size]byte
	if set {
		b = sha256.Sum256(fmt.Appendf(nil, "fatkit format %d %d %s", seconds, size, r.opts.Type))
	} else if _, err := rand.Read(b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}
