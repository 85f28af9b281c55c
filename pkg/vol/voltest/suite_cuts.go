package voltest

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Always is the Decider of -y: the first repair that is offered, for all that
// is at least a warning.
func Always(f *vol.Finding) int {
	if f.Severity < vol.SevWarning {
		return -1
	}
	return 0
}

// changes are the changing commands, as cases for the matrices.
func (v volume) changes(t *testing.T) map[string]devtest.Case {
	cases := map[string]devtest.Case{}
	if v.ReadOnly {
		cases["format"] = devtest.Case{Image: func() dev.Device { return v.scribbled(t) }, Change: v.reformat(t)}
		return cases
	}
	free := v.freeOf(t, v.fresh(t))
	cases["format"] = devtest.Case{Image: func() dev.Device { return v.used(t) }, Change: v.reformat(t)}
	cases["preallocate"] = devtest.Case{
		Image: func() dev.Device { return v.fresh(t) }, Ignore: free,
		Change: v.change(func(ctx context.Context, x vol.Volume) error {
			_, err := x.Preallocate(ctx, v.request(x))
			return err
		}),
	}
	cases["zero"] = devtest.Case{
		Image: func() dev.Device { return v.used(t) },
		Change: v.change(func(ctx context.Context, x vol.Volume) error {
			n := v.unit(x)
			_, err := x.ZeroRanges(ctx, vol.ZeroRequest{Files: []vol.ZeroFile{{Path: "dir/a long name.bin", Offset: n / 2, Length: n}}})
			return err
		}),
	}
	maps.Copy(cases, v.fillCases(t))
	for name, damage := range v.Damage {
		cases["repair "+name] = devtest.Case{Change: v.repair, Image: func() dev.Device {
			d := v.used(t)
			if err := damage(d); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return d
		}}
	}
	return cases
}

// used is a volume with files that hold something.
func (v volume) used(t *testing.T) dev.Device {
	t.Helper()
	d := v.fresh(t)
	x, txn := v.open(t, d)
	req := v.request(x)
	req.Contiguous = v.Fill == nil
	res, err := x.Preallocate(context.Background(), req)
	if err != nil {
		t.Fatalf("preallocate: %v", err)
	}
	commit(t, txn)
	for i, f := range res.Files {
		if v.Fill != nil {
			v.Fill(t, d, f.Path, pattern(f.Size, i))
			continue
		}
		for _, e := range f.Extents {
			if _, err := d.WriteAt(pattern(e.Length, i), e.Off); err != nil {
				t.Fatal(err)
			}
		}
	}
	return d
}

// pattern is n bytes that tell what they are.
func pattern(n int64, i int) []byte {
	b := make([]byte, n)
	for k := range b {
		b[k] = byte(k*7 + i + 1)
	}
	return b
}

// scribbled is a volume on which everything that a format writes holds
// something else.
func (v volume) scribbled(t *testing.T) dev.Device {
	t.Helper()
	d := v.fresh(t)
	for _, s := range v.plan(t).Steps {
		b := make([]byte, min(s.Len, 64<<10))
		for i := range b {
			b[i] = byte(i*7 + 1)
		}
		if _, err := d.WriteAt(b, s.Off); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (v volume) freeOf(t *testing.T, d dev.Device) (free []dev.Range) {
	t.Helper()
	x, _ := v.open(t, d)
	err := ranges(x, func(r dev.Range) error {
		free = append(free, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return free
}

// change is one command on an open volume, as the program does it.
func (v volume) change(do func(ctx context.Context, x vol.Volume) error) func(dev.Device, dev.Journal) error {
	return v.changeRaw(func(ctx context.Context, x vol.Volume, _, _ dev.Device) error { return do(ctx, x) })
}

// reformat writes a volume over another.
func (v volume) reformat(t *testing.T) func(dev.Device, dev.Journal) error {
	plan := v.plan(t)
	return func(d dev.Device, j dev.Journal) error {
		ctx := context.Background()
		txn := dev.Begin(d)
		if _, err := plan.Apply(ctx, txn); err != nil {
			return err
		}
		_, err := txn.Commit(ctx, dev.CommitOptions{Undo: j})
		return err
	}
}

// repair is check -y.
func (v volume) repair(d dev.Device, j dev.Journal) error {
	ctx := context.Background()
	txn := dev.Begin(d)
	res, err := vol.Fsck(ctx, txn, v.Driver, vol.CheckOptions{Workers: 1}, Always, nil)
	if err != nil {
		return err
	}
	if !res.Repaired || res.Unproven != nil || res.Left(vol.SevError) {
		return errors.Join(errors.New("not repaired"), res.Unproven)
	}
	_, err = txn.Commit(ctx, dev.CommitOptions{Undo: j})
	return err
}

// powerCuts: whenever the power goes, the volume is as before or as after.
func (v volume) powerCuts(t *testing.T) {
	for name, c := range v.changes(t) {
		t.Run(name, func(t *testing.T) {
			c.Max = points(60)
			devtest.Matrix(t, c)
		})
	}
}

// faults: whatever operation fails, the change says so and nothing is lost.
func (v volume) faults(t *testing.T) {
	for name, c := range v.changes(t) {
		t.Run(name, func(t *testing.T) {
			c.Max = points(40)
			devtest.FaultMatrix(t, c)
		})
	}
}

func points(n int) int {
	if testing.Short() {
		return n / 4
	}
	return n
}
