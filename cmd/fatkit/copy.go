package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// copyRun is what the flags of copy say.
type copyRun struct {
	a         *app
	image     string
	recursive bool
	sparse    bool
	replace   bool
	in        inFlags
	undo      undoFlags
	force     bool
	dryRun    bool
}

func (a *app) copyCommand() *cli.Command {
	return &cli.Command{
		Name:      "copy",
		Aliases:   []string{"cp"},
		Usage:     "copy files into an image or out of it",
		ArgsUsage: "SRC... DEST",
		UsageText: "fatkit copy [-r] [options] SRC... IMAGE::PATH\nfatkit copy [-r] [options] IMAGE::PATH... DEST\nfatkit copy -r [options] IMAGE::PATH... --tar FILE",
		Description: "IMAGE::PATH is a place inside an image. Into an image all is one change: all or nothing, and \"fatkit undo\"\n" +
			"takes it back if --keep-undo was given. If PATH is a directory, files are put into it under their own names.\n" +
			"Paths inside an image may have * ? and [] in them. Times, and modes and owners where both sides have\n" +
			"a place for them, are kept.",
		Flags: append(append([]cli.Flag{
			toggle("directories with all that is in them", "r", "R", "recursive"),
			toggle("out of an image: make holes of zeros, also where the image has none", "sparse"),
			toggle("put files in the place of files that are there", "replace"),
			&cli.StringFlag{Name: "tar", TakesFile: true, Usage: "out of an image: write a tar archive to `FILE`, or to standard output with -", DefaultText: "none"},
		}, inFlagList()...), append([]cli.Flag{
			toggle("go on although the volume asks for a check", "force", "f"),
			toggle("say what would be done, write nothing", "dry-run"),
		}, append(readFlags(), undoFlagList()...)...)...),
		Action: a.copy,
	}
}

func (a *app) copy(c *cli.Context) error {
	r := &copyRun{a: a, recursive: c.Bool("recursive"), sparse: c.Bool("sparse"), replace: c.Bool("replace"),
		force: c.Bool("force"), dryRun: c.Bool("dry-run")}
	var err error
	r.undo = readUndoFlags(c)
	if r.in, err = a.readInFlags(c); err != nil {
		return err
	}
	args := c.Args().Slice()
	if c.IsSet("tar") {
		return r.outTo(c, args, c.String("tar"))
	}
	if len(args) < 2 {
		return usagef("copy wants what is to be copied and where to; see fatkit copy --help")
	}
	last := len(args) - 1
	image, path, inside := insides(args[last])
	from := slices.IndexFunc(args[:last], func(s string) bool { _, _, in := insides(s); return in })
	switch {
	case inside && from >= 0:
		return usagef("from one image into another is two copies: out of %s first", args[from])
	case inside:
		r.image = image
		return about(image, r.into(c, args[:last], path))
	case from < 0:
		return usagef("none of these is in an image: a place in an image is written IMAGE::PATH")
	}
	if args[last] == "-" { // which mcopy(1) takes for standard output, and cp(1) for a file
		return usagef("to standard output fatkit cat prints files, and copy --tar - writes an archive; a file of that name is ./-")
	}
	return r.out(c, args[:last], args[last])
}

// outside refuses options that are for the other direction.
func (r *copyRun) outside(c *cli.Context) error {
	var wrong []string
	for _, name := range append(slices.DeleteFunc(inFlagNames(), func(s string) bool { return s == "codepage" }), "replace", "force", "undo", "keep-undo") {
		if c.IsSet(name) {
			wrong = append(wrong, "--"+name)
		}
	}
	if len(wrong) > 0 {
		return usagef("%s: that is for copying into an image", strings.Join(wrong, ", "))
	}
	return nil
}

// inside refuses options that are for the other direction.
func (r *copyRun) inside(c *cli.Context) error {
	switch {
	case r.sparse:
		return usagef("--sparse is for copying out of an image: holes of files that go in stay holes where the file system has them")
	case c.IsSet("max-size"):
		return usagef("--max-size is for copying out of an image: nothing can be changed in one that is compressed")
	}
	return nil
}
