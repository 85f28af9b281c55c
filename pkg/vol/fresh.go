package vol

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
)

// stagedPage is the length of a page of a transaction, or more.
const stagedPage = 4096

// ZeroFresh zeroes runs of bytes that are about to become readable and are no
// part of the volume's state yet: clusters that were free. They go straight to
// raw, the device below the transaction d, and need no log; they are durable
// before the metadata that makes them part of a file can be. Without raw they
// are staged.
//
// A transaction stages whole pages. One that is staged for something nearby
// holds what the device had in the rest of the page, and would put that back;
// so this comes before all else is staged, and both ends of a run are staged
// besides, for pages that were staged before.
func ZeroFresh(ctx context.Context, d, raw dev.Device, runs []dev.Range) error {
	for _, r := range runs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if raw == nil {
			if err := d.Zero(r); err != nil {
				return err
			}
			continue
		}
		if err := raw.Zero(r); err != nil {
			return err
		}
		edge := min(r.Len, stagedPage)
		if err := d.Zero(dev.Range{Off: r.Off, Len: edge}); err != nil {
			return err
		}
		if err := d.Zero(dev.Range{Off: r.End() - edge, Len: edge}); err != nil {
			return err
		}
	}
	if len(runs) > 0 && raw != nil {
		return raw.Sync()
	}
	return nil
}
