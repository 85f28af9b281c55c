package main

import (
	"context"
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

func (a *app) catCommand() *cli.Command {
	return &cli.Command{
		Name:        "cat",
		Usage:       "print a file that is in an image",
		ArgsUsage:   "IMAGE PATH...",
		Description: "PATH may have * ? and [] in it. Several files are printed one after the other.",
		Flags:       append([]cli.Flag{codepageFlag()}, readFlags()...),
		Action:      a.cat,
	}
}

func (a *app) cat(c *cli.Context) error {
	switch {
	case a.json:
		return usagef("cat prints what is in a file, so it has no --json")
	case c.NArg() < 2:
		return usagef("cat wants an image and the path of a file in it; see fatkit cat --help")
	}
	r, err := a.openFirst(c)
	if err != nil {
		return err
	}
	err = a.catFiles(c.Context, r, c.Args().Tail())
	return about(r.arg, errors.Join(err, r.Close()))
}

func (a *app) catFiles(ctx context.Context, r *reading, paths []string) error {
	for _, p := range paths {
		nodes, err := vol.Glob(ctx, r.tree, p)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			in, err := r.tree.Contents(n)
			if err != nil {
				return err
			}
			if err := pump(ctx, a.out, in, n.Size); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyBlock is how much is read and written at once.
const copyBlock = 1 << 20

// pump copies size bytes, and stops when the user wants it to.
func pump(ctx context.Context, w io.Writer, in io.ReaderAt, size int64) error {
	return pumpRange(ctx, w, in, dev.Range{Len: size})
}

// pumpRange copies the bytes r of in.
func pumpRange(ctx context.Context, w io.Writer, in io.ReaderAt, r dev.Range) error {
	b := make([]byte, min(r.Len, copyBlock))
	for at := r.Off; at < r.End(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := b[:min(int64(len(b)), r.End()-at)]
		if _, err := in.ReadAt(p, at); err != nil && !errors.Is(err, io.EOF) {
			return &sourceError{err}
		}
		if _, err := w.Write(p); err != nil {
			return err
		}
		at += int64(len(p))
	}
	return nil
}

// sourceError is what is wrong with the side that is copied from.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }
