package lfs

import (
	"context"
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// open is Driver.Open. This version reads F2FS and makes new volumes; it does
// not change those that are there, which takes nodes, tables and checkpoints
// that are written elsewhere than where they were. What is no F2FS is refused
// as such, so that nobody is told of a limit that is not what is in his way.
func open(_ context.Context, d dev.Device, _ vol.OpenOptions) (vol.Volume, error) {
	first, second, err := readSupers(d)
	if err != nil {
		return nil, err
	}
	if first.g == nil && second.g == nil {
		return nil, noVolume(d, &first)
	}
	return nil, fmt.Errorf("%w: this version does not change F2FS volumes; it formats, checks and scans them", vol.ErrRequest)
}
