package voltest

import (
	"bytes"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

func TestPlanned(t *testing.T) {
	p := &vol.Plan{Steps: []vol.Step{
		{Phase: vol.Wipe, Range: dev.Range{Len: 20}}, {Phase: vol.Body, Range: dev.Range{Off: 4, Len: 4}},
		{Phase: vol.Body, Range: dev.Range{Off: 8, Len: 2}, Data: []byte("ab")}, {Phase: vol.Head, Range: dev.Range{Off: 1, Len: 2}, Data: []byte("hd")},
	}}
	if got := Planned(p, 2, 7); !bytes.Equal(got, []byte("d\xA5\x00\x00\x00\x00a")) {
		t.Errorf("%q", got)
	}
}

// TestPlanFaults: what is wrong with steps and regions is found.
func TestPlanFaults(t *testing.T) {
	step := func(phase vol.Phase, off, n int64) vol.Step {
		return vol.Step{Phase: phase, Range: dev.Range{Off: off, Len: n}}
	}
	cut := step(vol.Body, 8, 4)
	cut.Data = []byte("abc")
	for name, c := range map[string]struct {
		steps []vol.Step
		bad   bool
	}{
		"none":     {nil, false},
		"right":    {[]vol.Step{step(vol.Wipe, 1, 5), step(vol.Body, 4, 4), step(vol.Body, 8, 92), step(vol.Head, 0, 4)}, false},
		"phase":    {[]vol.Step{step(vol.Head, 0, 4), step(vol.Body, 8, 4)}, true},
		"overlap":  {[]vol.Step{step(vol.Body, 0, 8), step(vol.Body, 4, 8)}, true},
		"empty":    {[]vol.Step{step(vol.Body, 0, 0)}, true},
		"negative": {[]vol.Step{step(vol.Body, -4, 8)}, true},
		"outside":  {[]vol.Step{step(vol.Body, 96, 8)}, true},
		"units":    {[]vol.Step{step(vol.Body, 8, 6)}, true},
		"data":     {[]vol.Step{cut}, true},
	} {
		if err := StepFault(&vol.Plan{Steps: c.steps}, 100, 4); (err != nil) != c.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		ranges []dev.Range
		bad    bool
	}{
		"right": {[]dev.Range{{Len: 10}, {Off: 10, Len: 90}}, false}, "short": {[]dev.Range{{Len: 10}}, true}, "none": {nil, true},
		"gap": {[]dev.Range{{Len: 10}, {Off: 11, Len: 89}}, true}, "empty": {[]dev.Range{{}, {Len: 100}}, true},
	} {
		p := &vol.Plan{}
		for _, r := range c.ranges {
			p.Regions = append(p.Regions, vol.Region{Range: r})
		}
		if err := RegionFault(p, 100); (err != nil) != c.bad {
			t.Errorf("regions, %s: %v", name, err)
		}
	}
}
