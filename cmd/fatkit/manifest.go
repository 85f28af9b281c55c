package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// maxManifestLine bounds a line of a manifest: a path on FAT, exFAT or F2FS is
// far shorter.
const maxManifestLine = 64 << 10

// readManifest reads the manifest name, or standard input for "-".
func (a *app) readManifest(ctx context.Context, name string) ([]vol.PreallocFile, error) {
	files, err := dev.Await(ctx, func() ([]vol.PreallocFile, error) { return a.openManifest(name) }, nil)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("manifest: %w", ctx.Err())
	}
	return files, err
}

func (a *app) openManifest(name string) ([]vol.PreallocFile, error) {
	if name == "-" {
		return parseManifest("standard input", a.in)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	files, err := parseManifest(name, f)
	return files, errors.Join(err, f.Close())
}

// parseManifest reads LENGTH<TAB>PATH lines. Empty lines are passed over.
func parseManifest(name string, in io.Reader) ([]vol.PreallocFile, error) {
	var files []vol.PreallocFile
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, maxManifestLine)
	n := 0
	for sc.Scan() {
		n++
		line := strings.TrimSuffix(sc.Text(), "\r")
		if line == "" {
			continue
		}
		length, path, ok := strings.Cut(line, "\t")
		if !ok {
			return nil, usagef("%s, line %d: no tab between length and path", name, n)
		}
		size, err := parseSize(strings.TrimSpace(length))
		if err != nil {
			return nil, usagef("%s, line %d: %v", name, n, err)
		}
		if path == "" || size == 0 {
			return nil, usagef("%s, line %d: a path and a length of 1 or more are wanted", name, n)
		}
		files = append(files, vol.PreallocFile{Path: path, Length: size})
	}
	switch err := sc.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, usagef("%s, line %d: longer than %d bytes", name, n+1, maxManifestLine)
	case err != nil:
		return nil, fmt.Errorf("manifest %s: %w", name, err)
	case len(files) == 0:
		return nil, usagef("%s names no file", name)
	}
	return files, nil
}
