package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/vol"
)

// sink is where files that are copied out of an image go. Names have "/" between
// their components, and lead nowhere else.
type sink interface {
	// from says what the files that follow have beside their contents.
	from(h vol.Holds)
	// dir makes a directory; it may be there.
	dir(name string, n *vol.Node) error
	// file writes a file.
	file(ctx context.Context, name string, n *vol.Node, in io.ReaderAt, ms []vol.Mapping) error
	// other makes what is neither.
	other(name string, n *vol.Node) error
	// same makes another name of a file that was written before.
	same(name, before string, n *vol.Node) error
	// done gives directories the times they had, now that they are full.
	done() error
}

// outCopy is one copy out of images.
type outCopy struct {
	r     *copyRun
	to    sink
	from  *reading
	names map[uint64]string // of inodes that have several
	files uint64
	bytes int64
}

// out copies into a directory or file of the host.
func (r *copyRun) out(c *cli.Context, sources []string, dest string) (err error) {
	if err := r.outside(c); err != nil {
		return err
	}
	fi, err := os.Stat(dest)
	isDir := err == nil && fi.IsDir()
	if len(sources) > 1 && !isDir || strings.HasSuffix(dest, "/") && !isDir {
		return requestf("%s is not a directory that is there, so not several files can go into it", dest)
	}
	if err == nil && !isDir {
		if !fi.Mode().IsRegular() {
			return requestf("%s is no regular file; fatkit cat prints a file that is in an image", dest)
		}
		// What a link leads to is written, not the link: it may be /dev/stdout.
		if dest, err = filepath.EvalSymlinks(dest); err != nil {
			return err
		}
	}
	name := ""
	if !isDir {
		dest, name = filepath.Split(filepath.Clean(dest))
		if dest == "" {
			dest = "."
		}
	}
	to, err := newHostSink(dest, r, r.imagesOf(sources))
	if err != nil {
		return err
	}
	return errors.Join(r.copyAll(c.Context, to, sources, name), to.Close())
}

// imagesOf are the files of the host that sources are in.
func (r *copyRun) imagesOf(sources []string) (fis []fs.FileInfo) {
	for _, s := range sources {
		image, _, _ := insides(s)
		p, err := r.a.place(image)
		if err != nil {
			continue // it is met again when the image is opened
		}
		if fi, err := os.Stat(p.path); err == nil {
			fis = append(fis, fi)
		}
	}
	return fis
}

// outTo copies into a tar archive.
func (r *copyRun) outTo(c *cli.Context, sources []string, file string) (err error) {
	if err := r.outside(c); err != nil {
		return err
	}
	if len(sources) == 0 {
		return usagef("copy --tar wants what is to be copied, as IMAGE::PATH")
	}
	if r.dryRun || r.sparse {
		return usagef("--tar goes neither with --dry-run nor with --sparse")
	}
	to, err := r.a.newTarSink(file)
	if err != nil {
		return err
	}
	err = r.copyAll(c.Context, to, sources, "")
	return errors.Join(err, to.close(err))
}

// copyAll copies what the sources name. name is what a single one becomes, "" for
// its own name.
func (r *copyRun) copyAll(ctx context.Context, to sink, sources []string, name string) error {
	o := &outCopy{r: r, to: to}
	for _, s := range sources {
		image, p, inside := insides(s)
		if !inside {
			return usagef("%s is not in an image: a place in an image is written IMAGE::PATH", s)
		}
		if err := o.source(ctx, image, p, name); err != nil {
			return about(image, err)
		}
	}
	if err := to.done(); err != nil {
		return err
	}
	done := plural(o.files, "file", "files") + ", " + humanize.IBytes(uint64(o.bytes))
	switch {
	case !r.dryRun:
		r.a.detail("%s copied", done)
	case !r.a.json && !r.a.quiet:
		r.a.printf("%s would be copied\n", done)
	}
	return nil
}

func (o *outCopy) source(ctx context.Context, image, p, name string) (err error) {
	if o.from, err = o.r.a.openTree(ctx, image, o.r.in.read); err != nil {
		return err
	}
	o.to.from(o.from.drv.Holds)
	o.names = make(map[uint64]string)
	defer func() { err = errors.Join(err, o.from.Close()) }()
	nodes, err := vol.Glob(ctx, o.from.tree, p)
	if err != nil {
		return err
	}
	if len(nodes) > 1 && name != "" {
		return requestf("%s: %d files match, and %s is not a directory that is there", p, len(nodes), name)
	}
	for _, n := range nodes {
		if n.IsDir() && !o.r.recursive {
			return requestf("%s is a directory; -r copies it with all that is in it", n.Path)
		}
		as := name
		if as == "" && n.Path != "/" {
			as = path.Base(n.Path)
		}
		if err := o.tree(ctx, n, as); err != nil {
			return err
		}
	}
	return nil
}

// tree copies a node and all that is below it. What cannot be read is told, and
// the rest copied.
func (o *outCopy) tree(ctx context.Context, top *vol.Node, as string) error {
	return vol.Walk(ctx, o.from.tree, top, func(n *vol.Node, err error) error {
		if err == nil {
			name := path.Join(as, strings.TrimPrefix(strings.TrimPrefix(n.Path, top.Path), "/"))
			err = o.node(ctx, n, name)
		}
		if err != nil && o.passes(err) {
			o.r.a.unreadable(o.from.arg, fmt.Errorf("%s: %w", n.Path, err))
			return nil
		}
		return err
	})
}

// passes tells whether the rest can be copied although something was not: it
// cannot be read, or there is no place for it.
func (o *outCopy) passes(err error) bool {
	var bad *sourceError
	return errors.Is(err, vol.ErrDamaged) || errors.As(err, &bad) || errors.Is(err, errNoPlace)
}

// errNoPlace says that what is written to cannot hold a thing of this kind.
var errNoPlace = fmt.Errorf("%w: there is no place for it", vol.ErrRequest)

func (o *outCopy) node(ctx context.Context, n *vol.Node, name string) error {
	if err := safeName(n); err != nil {
		return err
	}
	if err := o.from.tree.Details(n); err != nil {
		if n.Kind == vol.KindSymlink && n.Link == "" {
			return &sourceError{err}
		}
		// Attributes that cannot be read are no reason to leave out what can.
		o.r.a.unreadable(o.from.arg, fmt.Errorf("%s: its attributes are left out: %w", n.Path, err))
	}
	if n.IsDir() {
		return o.to.dir(name, n)
	}
	before, met := o.names[n.ID]
	var err error
	switch {
	case n.Nlink > 1 && met:
		return o.to.same(name, before, n)
	case n.Kind == vol.KindFile:
		err = o.file(ctx, n, name)
	default:
		err = o.to.other(name, n)
	}
	if err == nil && n.Nlink > 1 {
		o.names[n.ID] = name // one that failed is tried again under the next name
	}
	return err
}

// file copies a file. What cannot be read of it, as it is encrypted, is no reason to
// leave the others.
func (o *outCopy) file(ctx context.Context, n *vol.Node, name string) error {
	ms, err := o.from.tree.Mappings(n)
	if err != nil {
		return &sourceError{err}
	}
	in, err := o.from.tree.Contents(n)
	if err != nil {
		return &sourceError{err}
	}
	if err := o.to.file(ctx, name, n, in, ms); err != nil {
		return err
	}
	o.files, o.bytes = o.files+1, o.bytes+n.Size
	return nil
}

// safeName refuses names that lead elsewhere on the host: those of a damaged
// volume can be anything.
func safeName(n *vol.Node) error {
	base := path.Base(n.Path)
	if n.Path != "/" && (base == "." || base == ".." || strings.ContainsAny(base, "\x00") || !filepath.IsLocal(filepath.FromSlash(base))) {
		return fmt.Errorf("%w: %q: the name cannot be that of a file here", vol.ErrDamaged, n.Path)
	}
	return nil
}
