package vol

import "github.com/fatkit/fatkit/pkg/dev"

// FreshHoles are ranges of a device that were holes before a change wrote there
// what is no part of the volume's state.
type FreshHoles []dev.Range

// Note takes in the holes of r, which is about to be written.
func (h *FreshHoles) Note(raw dev.Device, r dev.Range) {
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

func (h *FreshHoles) add(r dev.Range) {
	if n := len(*h); n > 0 && (*h)[n-1].End() == r.Off {
		(*h)[n-1].Len += r.Len
		return
	}
	*h = append(*h, r)
}

// GiveBack makes holes of them again after what was written has become of no use:
// the host may be full because of it, and nobody asked for what is in it.
func (h *FreshHoles) GiveBack(raw dev.Device) {
	for _, r := range *h {
		_ = raw.Zero(r) // the clusters are free, whatever is in them; why it failed counts more
	}
	*h = nil
}
