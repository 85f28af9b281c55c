package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/vol"
)

// didYouMean is a question about the nearest of have, or nothing.
func didYouMean(want string, have []string) string {
	if near := vol.Nearest(want, slices.Values(have)); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", printable(near))
	}
	return ""
}

// nearFlag asks about the flag that one that is not known may have been meant to
// be. The library has only words for that.
func nearFlag(err error, flags []cli.Flag) string {
	_, name, ok := strings.Cut(err.Error(), "flag provided but not defined: ")
	if !ok {
		return ""
	}
	var names []string
	for _, f := range flags {
		for _, n := range f.Names() {
			if len(n) > 1 { // that another letter was meant is a guess
				names = append(names, dashed(n))
			}
		}
	}
	name, _, _ = strings.Cut(strings.TrimLeft(name, "-"), "=")
	return didYouMean("--"+name, names)
}

// nearFile asks about the file that an image that is not there may have been meant
// to be: one beside it. Of a directory that holds very many not all are looked at.
func (a *app) nearFile(image string, err error) string {
	if image == "" || !errors.Is(err, fs.ErrNotExist) || errors.Is(err, vol.ErrRequest) {
		return ""
	}
	p, e := a.place(image)
	if e != nil {
		return ""
	}
	var other *fs.PathError // what it is filled from, say
	if errors.As(err, &other) && other.Path != p.path {
		return ""
	}
	if _, err := os.Lstat(p.path); err == nil {
		return ""
	}
	dir, base := filepath.Split(p.path)
	d, err := os.Open(filepath.Join(dir, "."))
	if err != nil {
		return ""
	}
	defer d.Close()                        // it is only read
	names, _ := d.Readdirnames(mostBeside) // those that can be read are enough
	slices.Sort(names)
	near := vol.Nearest(base, slices.Values(names))
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", printable(dir+near+strings.TrimPrefix(image, p.path)))
}

// mostBeside bounds how many files are looked at for a suggestion.
const mostBeside = 10_000
