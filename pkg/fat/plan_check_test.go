package fat

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// TestPlanChecksClean: what a plan makes is recognised, and our own check has
// nothing to say of it.
func TestPlanChecksClean(t *testing.T) {
	drv := Driver()
	for _, c := range peerCases() {
		p, _ := mustPlan(t, c.at, c.o)
		d := dev.NewMem(c.at.Size)
		if _, err := p.Apply(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		id := drv.Probe(d)
		if id.Confidence != vol.Sure || id.Type != p.Type || id.Label != p.Label || id.ID != p.ID || id.Size != p.Size {
			t.Errorf("%s of %s, %s: probed as %+v, planned as %+v", p.Type, vol.SizeText(c.at.Size), showOptions(c.o), id, p.Info)
		}
		res, err := vol.Fsck(t.Context(), d, drv, vol.CheckOptions{}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range res.Outcomes {
			t.Errorf("%s of %s, %s: %s %s", p.Type, vol.SizeText(c.at.Size), showOptions(c.o), o.Code, o.Message())
		}
		if res.Stats.Free != p.FreeClusters {
			t.Errorf("%s of %s: %d free clusters, planned %d", p.Type, vol.SizeText(c.at.Size), res.Stats.Free, p.FreeClusters)
		}
	}
}
