package vol

import "github.com/fatkit/fatkit/pkg/dev"

// pouredHoles are the ranges that were holes, and have been written.
type pouredHoles []dev.Range

// note takes in the holes of r, which is about to be written.
func (h *pouredHoles) note(raw dev.Device, r dev.Range) {
	for pos := r.Off; pos < r.End(); {
		data := raw.NextData(pos)
		to := r.End()
		if !data.Empty() {
			to = min(max(data.Off, pos), r.End())
		}
		if to > pos {
			h.add(dev.Range{Off: pos, Len: to - pos})
		}
		if data.Empty() {
			return
		}
		pos = max(data.End(), to)
	}
}

func (h *pouredHoles) add(r dev.Range) {
	if n := len(*h); n > 0 && (*h)[n-1].End() == r.Off {
		(*h)[n-1].Len += r.Len
		return
	}
	*h = append(*h, r)
}

// giveBack makes holes of them again after what was written has become of no use:
// the host may be full because of it, and nobody asked for what is in it.
func (h pouredHoles) giveBack(raw dev.Device) {
	for _, r := range h {
		_ = raw.Zero(r) // the clusters are free, whatever is in them; why it failed counts more
	}
}
