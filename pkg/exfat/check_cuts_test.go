package exfat

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
)

// cutInjuries are one injury for each kind of repair of the catalogue, the
// first that there is.
func cutInjuries() (out []injury) {
	seen := map[string]bool{}
	for _, d := range injuries() {
		p := vol.Find(Problems(), d.slug)
		if d.stays || p == nil || len(p.Repairs) == 0 || !slices.Contains(d.labs(), "512") {
			continue
		}
		fix := d.fix
		if fix == "" {
			fix = p.Repairs[0].Name
		}
		if !seen[fix] {
			seen[fix] = true
			out = append(out, d)
		}
	}
	return out
}

// TestRepairCuts: whenever the power goes during a repair, and whatever of what
// was written got to the disk, the volume is as before or as after.
func TestRepairCuts(t *testing.T) {
	l := newLab(t, "512")
	kinds := cutInjuries()
	if len(kinds) < 12 {
		t.Fatalf("only %d kinds of repairs", len(kinds))
	}
	for i := range kinds {
		d := &kinds[i]
		t.Run(d.title(), func(t *testing.T) {
			hurt := l.clone(t)
			d.hit(hurt)
			c := devtest.Case{Max: 24, Image: func() dev.Device { return copied(t, hurt.m) }, Change: func(on dev.Device, j dev.Journal) error {
				txn := dev.Begin(on)
				res, err := vol.Fsck(context.Background(), txn, Driver(), vol.CheckOptions{Workers: 1}, choose(d.slug, d.fix), nil)
				if err != nil {
					return err
				}
				if !mendedBy(res, d) || res.Unproven != nil {
					return errors.Join(errors.New("not repaired"), res.Unproven)
				}
				_, err = txn.Commit(context.Background(), dev.CommitOptions{Undo: j})
				return err
			}}
			devtest.Matrix(t, c)
			devtest.FaultMatrix(t, c)
		})
	}
}
