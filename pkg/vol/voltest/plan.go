package voltest

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Planned is what p leaves at a range of a device, read from its steps. Bytes
// that only its first phase wipes, or nothing writes, are 0xA5.
func Planned(p *vol.Plan, off, n int64) []byte {
	b := bytes.Repeat([]byte{0xA5}, int(n))
	for _, s := range p.Steps {
		in := s.Range.Intersect(dev.Range{Off: off, Len: n})
		if s.Phase == vol.Wipe || in.Empty() {
			continue
		}
		to := b[in.Off-off:][:in.Len]
		if s.Data == nil {
			clear(to)
		} else {
			copy(to, s.Data[in.Off-s.Off:])
		}
	}
	return b
}

// StepFault is what is wrong with the steps of p, whatever the format: they
// must be in order, inside a target of size bytes, and apart from each other
// within their phase, and all but those of the first whole units.
func StepFault(p *vol.Plan, size, unit int64) error {
	phase, end := vol.Wipe, int64(0)
	for _, s := range p.Steps {
		if s.Phase < phase {
			return fmt.Errorf("step %v of phase %d behind phase %d", s.Range, s.Phase, phase)
		}
		if s.Phase > phase {
			phase, end = s.Phase, 0
		}
		if s.Off < end || s.Len <= 0 || s.End() > size {
			return fmt.Errorf("step %v of phase %d, after byte %d, target of %d", s.Range, s.Phase, end, size)
		}
		if phase != vol.Wipe && (s.Off%unit != 0 || s.Len%unit != 0) {
			return fmt.Errorf("step %v of phase %d, in units of %d", s.Range, s.Phase, unit)
		}
		if s.Data != nil && int64(len(s.Data)) != s.Len {
			return fmt.Errorf("step %v with %d bytes of data", s.Range, len(s.Data))
		}
		end = s.End()
	}
	return nil
}

// RegionFault is what is wrong with the regions of p, which must touch and
// cover a volume of size bytes.
func RegionFault(p *vol.Plan, size int64) error {
	at := int64(0)
	for _, r := range p.Regions {
		if r.Off != at || r.Len <= 0 {
			return fmt.Errorf("region %s is at %v, should be at %d", r.Name, r.Range, at)
		}
		at = r.End()
	}
	if at != size {
		return fmt.Errorf("regions end at %d of %d", at, size)
	}
	return nil
}

// PlanTwice plans the same twice: it must be the same bytes, or the same
// refusal. It returns the plan, nil where it was refused.
func PlanTwice(t testing.TB, plan func(vol.Target, vol.FormatOptions) (*vol.Plan, error), at vol.Target, o vol.FormatOptions) *vol.Plan {
	t.Helper()
	a, errA := plan(at, o)
	b, errB := plan(at, o)
	if !reflect.DeepEqual(a, b) || fmt.Sprint(errA) != fmt.Sprint(errB) {
		t.Fatalf("two plans of %+v %+v differ", at, o)
	}
	return a
}
