package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// reading is one image opened to read the files of the one volume in it.
type reading struct {
	*image
	region
	tree vol.Tree
}

// openTree opens an image for reading its files. A volume that asks for a check
// is read as far as it can be, and the user is told.
func (a *app) openTree(ctx context.Context, arg string) (*reading, error) {
	im, err := a.open(arg, dev.OpenOptions{})
	if err != nil {
		return nil, err
	}
	r, err := a.readTree(ctx, im)
	if err != nil {
		return nil, about(arg, errors.Join(err, im.Close()))
	}
	return r, nil
}

func (a *app) readTree(ctx context.Context, im *image) (*reading, error) {
	if j, err := a.journal(im, ""); err == nil {
		a.reportUndo(im, j)
	}
	r, err := a.only(im)
	if err != nil {
		return nil, err
	}
	d, err := r.volume(im.file)
	if err != nil {
		return nil, err
	}
	t, err := r.drv.Read(ctx, d)
	if err != nil {
		return nil, err
	}
	return &reading{im, r, t}, nil
}

// insides are the parts of IMAGE::PATH, as mtools and copy spell a place inside
// an image; inside is false for a path of the host.
func insides(arg string) (image, path string, inside bool) {
	i := strings.Index(arg, "::")
	if i <= 0 {
		return "", arg, false
	}
	return arg[:i], arg[i+2:], true
}

// stamp is a time as documents have it; "" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// modeText is kind and mode as ls(1) prints them.
func modeText(n *vol.Node) string {
	kinds := "?-dlpscb"
	b := []byte{kinds[min(int(n.Kind), len(kinds)-1)]}
	for i := 8; i >= 0; i-- {
		c := byte('-')
		if n.Mode>>i&1 != 0 {
			c = "xwr"[i%3]
		}
		b = append(b, c)
	}
	for _, s := range []struct {
		bit   uint32
		at    int
		with  byte // the permission to execute is there
		alone byte
	}{{0o4000, 3, 's', 'S'}, {0o2000, 6, 's', 'S'}, {0o1000, 9, 't', 'T'}} {
		if n.Mode&s.bit != 0 {
			if b[s.at] == 'x' {
				b[s.at] = s.with
			} else {
				b[s.at] = s.alone
			}
		}
	}
	return string(b)
}

// unreadable prints what of an image could not be read, and goes on.
func (a *app) unreadable(image string, err error) {
	_, code := classify(err)
	a.code |= code
	a.tell("fatkit: %s: %s\n", printable(image), printable(explainError(err)))
}
