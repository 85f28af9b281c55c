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

// WriteFresh writes what is no part of the volume's state yet to raw, the device
// below the transaction d; zeros become holes. It is not durable before raw is
// synced.
func WriteFresh(d, raw dev.Device, b []byte, off int64) error {
	r := dev.Range{Off: off, Len: int64(len(b))}
	if dev.AllZero(b) {
		return zeroFresh(d, raw, r)
	}
	if _, err := raw.WriteAt(b, off); err != nil {
		return err
	}
	return edges(d, r, func(e dev.Range) error {
		_, err := d.WriteAt(b[e.Off-r.Off:e.End()-r.Off], e.Off)
		return err
	})
}

// zeroFresh is WriteFresh of zeros.
func zeroFresh(d, raw dev.Device, r dev.Range) error {
	if err := raw.Zero(r); err != nil {
		return err
	}
	return edges(d, r, d.Zero)
}

// edges calls stage for the parts of r that share a page of the transaction d
// with something that is staged. Such a page holds what the device had in the
// rest of it, and would put it back: see ZeroFresh.
func edges(d dev.Device, r dev.Range, stage func(dev.Range) error) error {
	base, off := dev.Base(d) // pages are those of the image
	txn, _ := base.(*dev.Txn)
	at := off + r.Off
	if head := min(r.Len, RoundUp(at, stagedPage)-at); head > 0 && (txn == nil || txn.Staged(at)) {
		if err := stage(dev.Range{Off: r.Off, Len: head}); err != nil {
			return err
		}
	}
	if tail := min(r.Len, (at+r.Len)%stagedPage); tail > 0 && (txn == nil || txn.Staged(at+r.Len-1)) {
		return stage(dev.Range{Off: r.End() - tail, Len: tail})
	}
	return nil
}
