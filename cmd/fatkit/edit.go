package main

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/vol"
)

// editDoc is what rm and mkdir print with --json.
type editDoc struct {
	Schema      string   `json:"schema"`
	Image       string   `json:"image"`
	DryRun      bool     `json:"dry_run,omitempty"`
	Type        string   `json:"type"`
	Paths       []string `json:"paths"`
	PathsRaw    [][]byte `json:"paths_bytes,omitempty"` // as path_bytes, for each of Paths
	Files       uint64   `json:"files"`
	Directories uint64   `json:"directories"`
	Freed       uint64   `json:"clusters_freed"`
	Allocated   uint64   `json:"clusters_allocated"`
	Metadata    int64    `json:"metadata_bytes_written"`
	Seconds     float64  `json:"seconds"`
}

// edit is a change of an image's directories alone.
type edit struct {
	changeFlags
	paths []string
}

// editFlagList are their flags; force says what else that one does.
func editFlagList(force string) []cli.Flag {
	return append([]cli.Flag{
		toggle("go on although the volume asks for a check"+force, "force", "f"),
		toggle("say what would be done, write nothing", "dry-run"),
		codepageFlag(),
	}, append(imageFlags(), undoFlagList()...)...)
}

func (a *app) rmCommand() *cli.Command {
	return &cli.Command{
		Name:        "rm",
		Usage:       "remove files and directories from an image",
		ArgsUsage:   "IMAGE PATH...",
		Description: "All that is named goes, or nothing does. PATH may have * ? and [] in it; a file that has them in its name wins.",
		Flags:       append([]cli.Flag{toggle("directories with all that is in them", "r", "R", "recursive")}, editFlagList(", and take what is not there for removed, as rm(1) does")...),
		Action:      a.rm,
	}
}

func (a *app) mkdirCommand() *cli.Command {
	return &cli.Command{
		Name:      "mkdir",
		Usage:     "make directories in an image",
		ArgsUsage: "IMAGE PATH...",
		Flags:     append([]cli.Flag{toggle("make parents too, and take a directory that is there for made", "p", "parents")}, editFlagList("")...),
		Action:    a.mkdir,
	}
}

func (a *app) newEdit(c *cli.Context) (*edit, error) {
	if c.NArg() < 2 {
		return nil, usagef("%s wants an image and a path in it; see fatkit %s --help", c.Command.Name, c.Command.Name)
	}
	f, err := a.readChangeFlags(c)
	return &edit{f, c.Args().Tail()}, err
}

func (a *app) rm(c *cli.Context) error {
	e, err := a.newEdit(c)
	if err != nil {
		return err
	}
	return about(e.image, e.run(c.Context, func(t *target, v vol.Volume, d *editDoc) error {
		if d.Paths, err = t.match(c.Context, e); err != nil || len(d.Paths) == 0 {
			return err
		}
		res, err := v.Remove(c.Context, vol.RemoveRequest{Paths: d.Paths, Recursive: c.Bool("recursive")})
		if err != nil {
			return err
		}
		d.Files, d.Directories, d.Freed = res.Files, res.Directories, res.ClustersFreed
		return nil
	}, "removed"))
}

// match is the paths that the patterns of e stand for; with force that may be none.
func (t *target) match(ctx context.Context, e *edit) ([]string, error) {
	tree, err := t.read(ctx, t.file, e.read)
	if err != nil {
		return nil, err
	}
	paths := []string{}
	for _, p := range e.paths {
		nodes, err := vol.Glob(ctx, tree, p)
		if e.force && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			if n.Path == "/" {
				return nil, requestf("the root directory cannot be removed")
			}
			paths = append(paths, n.Path)
		}
	}
	return paths, nil
}

func (a *app) mkdir(c *cli.Context) error {
	e, err := a.newEdit(c)
	if err != nil {
		return err
	}
	now, err := a.clock()
	if err != nil {
		return err
	}
	req := &vol.PutRequest{Parents: c.Bool("parents"), New: !c.Bool("parents"), Inherit: true}
	named := make(map[string]bool, len(e.paths))
	for _, p := range e.paths {
		entry := vol.Entry{Path: strings.Trim(path.Clean("/"+strings.TrimPrefix(p, "::")), "/"), Same: -1}
		entry.Kind, entry.Mode = vol.KindDir, 0o755
		entry.Modified = unixTime(now)
		if entry.Path == "" && req.New {
			return about(e.image, requestf("the root directory is there already"))
		}
		if req.Parents && named[entry.Path] {
			continue // as mkdir -p: it is there by then
		}
		named[entry.Path] = true
		req.Entries = append(req.Entries, entry)
	}
	return about(e.image, e.run(c.Context, func(_ *target, v vol.Volume, d *editDoc) error {
		d.Paths = e.paths
		res, err := v.Put(c.Context, req)
		if err != nil {
			return err
		}
		d.Directories, d.Allocated = uint64(len(req.Entries)), res.ClustersAllocated
		return nil
	}, "made"))
}

// run makes the change, and says what was done.
func (e *edit) run(ctx context.Context, change func(*target, vol.Volume, *editDoc) error, verb string) error {
	start := time.Now()
	doc := &editDoc{Schema: "fatkit." + e.a.command + "/1", Image: e.image, DryRun: e.dryRun, Paths: []string{}}
	stats, err := e.change(ctx, func(s *staging) error {
		doc.Type = s.vol.Info().Type
		return change(s.target, s.vol, doc)
	})
	if err != nil {
		return err
	}
	doc.Metadata, doc.Seconds = stats.BytesWritten, time.Since(start).Seconds()
	e.print(doc, verb)
	return nil
}

func (e *edit) print(d *editDoc, verb string) {
	if e.a.json {
		d.PathsRaw = allBeside(d.Paths)
		e.a.printJSON(d)
		return
	}
	if !e.a.verbose && !e.dryRun {
		return // as rm(1) and mkdir(1): done is nothing to talk about
	}
	if e.dryRun {
		verb = "would be " + verb
	}
	e.a.printf("%s: %s, %s %s\n", printable(e.image), plural(d.Files, "file", "files"),
		plural(d.Directories, "directory", "directories"), verb)
}
