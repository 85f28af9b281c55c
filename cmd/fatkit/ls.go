package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/vol"
)

// entryDoc is one entry of ls --json. What the format has no place for is left
// out.
type entryDoc struct {
	pathDoc
	Type       string            `json:"type"`
	Size       int64             `json:"size"`
	Mtime      string            `json:"mtime,omitempty"`
	Attributes []string          `json:"attributes"`
	Mode       string            `json:"mode,omitempty"` // four octal digits
	UID        *uint32           `json:"uid,omitempty"`
	GID        *uint32           `json:"gid,omitempty"`
	Links      uint32            `json:"links,omitempty"`
	Inode      uint64            `json:"inode,omitempty"`
	Target     string            `json:"target,omitempty"`
	TargetRaw  []byte            `json:"target_bytes,omitempty"` // as path_bytes
	Device     []uint32          `json:"device,omitempty"`       // major, minor
	Valid      *int64            `json:"valid,omitempty"`        // exFAT, where it is not the size
	Xattrs     map[string][]byte `json:"xattrs,omitempty"`       // values in base 64
	Extents    []fileExtentDoc   `json:"extents,omitempty"`
}

// fileExtentDoc is an extent of a file: extentDoc, and where in the file it is.
type fileExtentDoc struct {
	extentDoc
	FileOffset int64 `json:"file_offset"`
	Unwritten  bool  `json:"unwritten,omitempty"`
	Inline     bool  `json:"inline,omitempty"`
}

// lister prints nodes.
type lister struct {
	a       *app
	r       *reading
	long    bool
	extents bool
	begun   bool // of the JSON document
}

func (a *app) lsCommand() *cli.Command {
	return &cli.Command{
		Name:      "ls",
		Usage:     "list files in an image",
		ArgsUsage: "IMAGE [PATH...]",
		Description: "PATH may have * ? and [] in it; names are compared as the file system compares them.\n" +
			"Without PATH the root directory is listed.",
		Flags: append([]cli.Flag{
			toggle("with kind, mode, owner where there is one, size and time", "l", "long"),
			toggle("with all that is in directories, by whole paths", "R", "recursive"),
			toggle("with --json: where each file is", "extents"),
			codepageFlag(),
		}, readFlags()...),
		Action: a.ls,
	}
}

func (a *app) ls(c *cli.Context) error {
	if !c.Args().Present() {
		return usagef("ls wants an image; see fatkit ls --help")
	}
	if c.Bool("extents") && !a.json {
		return usagef("--extents goes with --json; \"fatkit map\" prints them")
	}
	r, err := a.openFirst(c)
	if err != nil {
		return err
	}
	l := &lister{a: a, r: r, long: c.Bool("l"), extents: c.Bool("extents")}
	paths := c.Args().Tail()
	if len(paths) == 0 {
		paths = []string{"/"}
	}
	err = l.list(c.Context, paths, c.Bool("R"))
	l.end()
	return about(r.arg, errors.Join(err, r.Close()))
}

// list lists paths: a directory by what is in it, as ls does.
func (l *lister) list(ctx context.Context, paths []string, recursive bool) error {
	for _, p := range paths {
		nodes, err := vol.Glob(ctx, l.r.tree, p)
		if err != nil {
			return err
		}
		heads := !recursive && (len(nodes) > 1 || len(paths) > 1)
		for _, n := range nodes {
			if err := l.one(ctx, n, recursive, heads); err != nil {
				return err
			}
		}
	}
	return nil
}

// one lists a node. With head the name of a directory is printed before what is
// in it, as several are listed.
func (l *lister) one(ctx context.Context, n *vol.Node, recursive, head bool) error {
	if !n.IsDir() {
		return l.print(n, n.Path)
	}
	if head && !l.a.json {
		l.a.printf("%s:\n", printable(n.Path))
	}
	return vol.Walk(ctx, l.r.tree, n, func(k *vol.Node, err error) error {
		switch {
		case err != nil:
			l.a.unreadable(l.r.arg, err)
			return nil
		case k == n:
			return nil
		case recursive:
			return l.print(k, k.Path)
		}
		if err := l.print(k, path.Base(k.Path)); err != nil || !k.IsDir() {
			return err
		}
		return fs.SkipDir
	})
}

func (l *lister) print(n *vol.Node, name string) error {
	if l.long || l.a.json {
		if err := l.r.tree.Details(n); err != nil {
			l.a.unreadable(l.r.arg, err)
		}
	}
	if l.a.json {
		return l.document(n)
	}
	if n.IsDir() {
		name = strings.TrimSuffix(name, "/") + "/"
	}
	if !l.long {
		l.a.println(printable(name))
		return nil
	}
	l.a.printf("%s%s %s %s %s\n", modeText(n), l.owner(n), l.size(n), l.time(n), printable(name)+l.target(n))
	return nil
}

func (l *lister) owner(n *vol.Node) string {
	if !l.r.drv.Holds.Owners {
		flags := []byte("----")
		for i, name := range []string{"read-only", "hidden", "system", "archive"} {
			if slices.Contains(n.Attributes, name) {
				flags[i] = "RHSA"[i]
			}
		}
		return " " + string(flags)
	}
	return fmt.Sprintf(" %3d %5d %5d", n.Nlink, n.UID, n.GID)
}

func (l *lister) size(n *vol.Node) string {
	if n.Kind == vol.KindChar || n.Kind == vol.KindBlock {
		return fmt.Sprintf("%12s", fmt.Sprintf("%d, %d", n.Major, n.Minor))
	}
	return fmt.Sprintf("%12d", n.Size)
}

func (l *lister) time(n *vol.Node) string {
	if n.Modified.IsZero() {
		return fmt.Sprintf("%16s", "-")
	}
	return n.Modified.UTC().Format("2006-01-02 15:04")
}

func (l *lister) target(n *vol.Node) string {
	if n.Kind != vol.KindSymlink {
		return ""
	}
	return " -> " + printable(n.Link)
}

// document prints a node as an element of the list, one after the other, so that
// a million of them need no memory.
func (l *lister) document(n *vol.Node) error {
	d, err := l.entry(n)
	if err != nil {
		l.a.unreadable(l.r.arg, err)
	}
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if !l.begun {
		l.begin()
	} else {
		l.a.printf(",")
	}
	l.a.printf("%s", b)
	return nil
}

func (l *lister) begin() {
	l.begun = true
	name, _ := json.Marshal(l.r.arg) // a string always can be
	l.a.printf(`{"schema":"fatkit.ls/1","image":%s,"entries":[`, name)
}

func (l *lister) end() {
	if !l.a.json {
		return
	}
	if !l.begun {
		l.begin()
	}
	l.a.printf("]}\n")
}

func (l *lister) entry(n *vol.Node) (*entryDoc, error) {
	d := &entryDoc{pathDoc: newPath(n.Path), Type: n.Kind.String(), Size: n.Size, Mtime: stamp(n.Modified),
		Attributes: n.Attributes, Target: n.Link, TargetRaw: bytesBeside(n.Link)}
	if d.Attributes == nil {
		d.Attributes = []string{}
	}
	h := l.r.drv.Holds
	if h.Modes {
		d.Mode = fmt.Sprintf("%04o", n.Mode)
	}
	if h.Owners {
		d.UID, d.GID, d.Links, d.Inode = &n.UID, &n.GID, n.Nlink, n.ID
	}
	if n.Kind == vol.KindChar || n.Kind == vol.KindBlock {
		d.Device = []uint32{n.Major, n.Minor}
	}
	if n.Kind == vol.KindFile && n.Valid < n.Size {
		d.Valid = &n.Valid
	}
	for _, x := range n.Xattrs {
		if d.Xattrs == nil {
			d.Xattrs = map[string][]byte{}
		}
		d.Xattrs[x.Name] = x.Value
	}
	if !l.extents {
		return d, nil
	}
	ms, err := l.r.tree.Mappings(n)
	for _, m := range ms {
		d.Extents = append(d.Extents, newFileExtent(m, l.r.at.Off))
	}
	return d, err
}

// newFileExtent describes a mapping on a volume that starts at byte base of the
// disk.
func newFileExtent(m vol.Mapping, base int64) fileExtentDoc {
	return fileExtentDoc{extentDoc{m.Start, m.Len, m.Off, base + m.Off, m.Length}, m.Pos, m.Unwritten, m.Inline}
}
