package lfs

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// open is Driver.Open. What a change must not build on is refused here, before
// anything is written; see refuse.go.
func open(ctx context.Context, d dev.Device, o vol.OpenOptions) (vol.Volume, error) {
	l, err := load(ctx, d, loadOptions{force: o.Force, fresh: o.New})
	if err != nil {
		return nil, err
	}
	return &volume{d: d, raw: o.Raw, opened: loadOptions{force: o.Force, fresh: o.New}, now: o.Now, l: l, info: summarise(l.g, l.sb)}, nil
}

// Info is what the superblock says.
func (v *volume) Info() vol.Info { return v.info }
