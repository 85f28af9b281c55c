package main

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/source"
)

// copyDoc is what copy --json prints of files that went into an image.
type copyDoc struct {
	Schema      string       `json:"schema"`
	Image       string       `json:"image"`
	DryRun      bool         `json:"dry_run,omitempty"`
	Type        string       `json:"type"`
	Files       uint64       `json:"files"`
	Directories uint64       `json:"directories"`
	Bytes       int64        `json:"bytes"`
	Renamed     []renamedDoc `json:"renamed,omitempty"`
	Allocated   uint64       `json:"clusters_allocated"`
	Metadata    int64        `json:"metadata_bytes_written"`
	Seconds     float64      `json:"seconds"`
}

type renamedDoc struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func unixTime(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

// into copies files of the host into the image, as one change.
func (r *copyRun) into(c *cli.Context, sources []string, dest string) error {
	start, ctx := time.Now(), c.Context
	if err := r.inside(c); err != nil {
		return err
	}
	var doc *copyDoc
	change := volumeChange{r.image, r.undo, vol.OpenOptions{Force: r.force, ReadOptions: r.in.read}, r.dryRun}
	stats, err := r.a.change(ctx, change, func(s *staging) (err error) {
		l, err := r.gather(ctx, s.target, sources, dest)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.src.Close()) }()
		l.tell(r.image)
		res, err := l.put(ctx, s.vol, s.d, s.raw, &vol.PutRequest{Replace: r.replace, Rename: r.in.rename}, r.image)
		if err != nil {
			return err
		}
		doc = r.document(l, res)
		doc.Type = s.vol.Info().Type
		return nil
	})
	if err != nil {
		return err
	}
	doc.Metadata, doc.Seconds = stats.BytesWritten, time.Since(start).Seconds()
	r.print(doc)
	return nil
}

// gather lists the sources under the names that they get in the image.
func (r *copyRun) gather(ctx context.Context, t *target, sources []string, dest string) (*filling, error) {
	o, err := r.a.sourceOptions(r.in, t.place)
	if err != nil {
		return nil, err
	}
	src, err := source.Files(ctx, sources, o)
	if err != nil {
		return nil, err
	}
	for i := range src.Entries {
		if e := &src.Entries[i]; e.Kind == vol.KindDir && !r.recursive {
			return nil, requestf("%s is a directory; -r copies it with all that is in it", e.Origin)
		}
	}
	if err := r.place(ctx, t, src, len(sources), dest); err != nil {
		return nil, err
	}
	return r.a.adaptTo(src, t.drv.Holds, r.in)
}

// place puts the path in the image before the names of the entries. One source
// that goes to a name that is not there gets that name.
func (r *copyRun) place(ctx context.Context, t *target, src *source.Source, sources int, dest string) error {
	tree, err := t.read(ctx, t.file, r.in.read)
	if err != nil {
		return err
	}
	n, err := vol.Resolve(tree, dest)
	isDir := err == nil && n.IsDir()
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case !isDir && (sources > 1 || strings.HasSuffix(dest, "/")):
		return requestf("%s is not a directory that is there, so not several files can go into it", dest)
	}
	clean := strings.Trim(path.Clean("/"+dest), "/")
	for i := range src.Entries {
		e := &src.Entries[i]
		if isDir {
			e.Path = path.Join(strings.Trim(n.Path, "/"), e.Path)
			continue
		}
		_, rest, _ := strings.Cut(e.Path, "/")
		e.Path = path.Join(clean, rest)
	}
	return nil
}

func (r *copyRun) document(l *filling, res *vol.PutResult) *copyDoc {
	d := &copyDoc{Schema: "fatkit.copy/1", Image: r.image, DryRun: r.dryRun, Bytes: l.bytes(), Allocated: res.ClustersAllocated}
	d.Files, d.Directories = l.count()
	for _, re := range res.Renamed {
		d.Renamed = append(d.Renamed, renamedDoc{l.entries[re.Entry].Name(), re.Path})
	}
	return d
}

func (r *copyRun) print(d *copyDoc) {
	if r.a.answered(d) {
		return
	}
	verb := "copied"
	if r.dryRun {
		verb = "would be copied"
	}
	r.a.printf("%s: %s, %s, %s %s\n", printable(r.image), plural(d.Files, "file", "files"),
		plural(d.Directories, "directory", "directories"), humanize.IBytes(uint64(d.Bytes)), verb)
}
