// Package gen is what the generators of benchmark volumes share.
package gen

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// SlotLen is the length of a directory entry of FAT and exFAT, bytes.
const SlotLen = vol.SlotLen

// Main is a command's: it runs run, says what went wrong and exits.
func Main(name string, run func() error) {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Volume is one that is being made.
type Volume struct {
	*dev.File
	Plan *vol.Plan
	Boot []byte // its first sector
}

// New makes the image that the command line names, which must not be there yet,
// of a size such as 32G, and formats it. Flags must have been parsed.
func New(driver *vol.Driver, size string, o vol.FormatOptions) (*Volume, error) {
	if flag.NArg() != 1 {
		return nil, errors.New("wants one image, which must not be there yet")
	}
	bytes, err := parse(size)
	if err != nil {
		return nil, err
	}
	f, err := dev.OpenFile(flag.Arg(0), dev.OpenOptions{Create: true, Size: bytes})
	if err != nil {
		return nil, err
	}
	v := &Volume{File: f, Boot: make([]byte, 512)}
	o.ID = "1234-ABCD" // the same arguments give the same bytes
	if v.Plan, err = driver.Plan(vol.Target{Size: f.Size()}, o); err == nil {
		_, err = v.Plan.Apply(context.Background(), f)
	}
	if err == nil {
		_, err = f.ReadAt(v.Boot, 0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return v, nil
}

// parse is a size with M, G or T behind it, or none, in bytes.
func parse(s string) (int64, error) {
	shift := map[string]int{"M": 20, "G": 30, "T": 40}[strings.ToUpper(s[max(0, len(s)-1):])]
	if shift != 0 {
		s = s[:len(s)-1]
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return n << shift, err
}
