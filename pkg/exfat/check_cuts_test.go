package exfat

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
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
			hurt.cuts(t, choose(d.slug, d.fix), func(res *vol.Result) bool { return mendedBy(res, d) })
		})
	}
}

// cuts holds a repair of a damaged lab against the matrices.
func (l *lab) cuts(t *testing.T, decide vol.Decider, mended func(*vol.Result) bool) {
	t.Helper()
	c := devtest.Case{Max: 24, Image: func() dev.Device { return voltest.Copied(t, l.m) }, Change: func(on dev.Device, j dev.Journal) error {
		txn := dev.Begin(on)
		res, err := vol.Fsck(context.Background(), txn, Driver(), vol.CheckOptions{Workers: 1}, decide, nil)
		if err != nil {
			return err
		}
		if !mended(res) || res.Unproven != nil {
			return errors.Join(errors.New("not repaired"), res.Unproven)
		}
		_, err = txn.Commit(context.Background(), dev.CommitOptions{Undo: j})
		return err
	}}
	devtest.Matrix(t, c)
	devtest.FaultMatrix(t, c)
}

// TestCopyCuts is TestRepairCuts for double claims of directories and of parts of
// files.
func TestCopyCuts(t *testing.T) {
	base := newLab(t, "512")
	for name, c := range copyCases() {
		t.Run(name, func(t *testing.T) {
			l := base.clone(t)
			c.hit(l)
			l.count()
			l.cuts(t, choose("cross-linked", c.fix), func(res *vol.Result) bool { return res.Repaired && !res.Left(vol.SevError) })
		})
	}
}

// TestRescueCuts is TestRepairCuts for a rescue of chains and runs.
func TestRescueCuts(t *testing.T) {
	l := newLab(t, "512")
	l.forget("/A rather long name with ä.bin")
	l.forget("/SUB/DEEP/X.BIN")
	l.forget("/HELLO.TXT")
	l.count()
	l.cuts(t, choose("lost-clusters", fixRescue), func(res *vol.Result) bool { return res.Repaired && !res.Left(vol.SevError) })
}
