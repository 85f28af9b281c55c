package main

import (
	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/source"
)

// inFlags are what the flags say of files that go into an image, for format
// --from and for copy.
type inFlags struct {
	links    string // "", follow, skip, error
	rename   bool
	owner    *[2]uint32
	contexts *source.Contexts
	read     vol.ReadOptions
}

func inFlagList() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "links", Usage: "`WHAT` becomes of symbolic links: follow puts what they lead to in their place, skip leaves them out, as it does devices and FIFOs where there is no place for them, error refuses them", DefaultText: "kept where the file system has them, else error"},
		toggle("change names that the file system cannot hold, instead of refusing them", "rename"),
		&cli.StringFlag{Name: "owner", Usage: "`UID:GID` of all that goes in, where the file system has owners", DefaultText: "as the source says"},
		&cli.StringFlag{Name: "file-contexts", TakesFile: true, Usage: "label files for SELinux as `FILE` says, in the format of file_contexts(5)", DefaultText: "none"},
		codepageFlag(),
	}
}

func inFlagNames() []string {
	var names []string
	for _, f := range inFlagList() {
		names = append(names, f.Names()[0])
	}
	return names
}

func (a *app) readInFlags(c *cli.Context) (f inFlags, err error) {
	f.rename = c.Bool("rename")
	if f.read, err = a.readOptions(c); err != nil {
		return f, err
	}
	if c.IsSet("links") {
		if f.links, err = oneOf(c, "links", "follow", "skip", "error"); err != nil {
			return f, err
		}
	}
	if c.IsSet("owner") {
		if f.owner, err = owner("--owner", c.String("owner")); err != nil {
			return f, err
		}
	}
	if c.IsSet("file-contexts") {
		f.contexts, err = source.ReadContexts(c.Context, c.String("file-contexts"))
	}
	return f, err
}
