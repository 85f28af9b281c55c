package voltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Suite is what every driver must hold to, whatever its format: one behaviour
// behind the commands. The format's own tests say the rest.
type Suite struct {
	Driver *vol.Driver
	// Sizes are volumes that are cheap to make many times, bytes by type.
	Sizes map[string]int64
	// Damage are ways to break a volume of a type that -y mends, by name: for
	// the power cuts during a repair.
	Damage map[string]func(d dev.Device) error
	// ReadOnly is a driver that formats, checks and scans volumes, and does not
	// change those that are there: it refuses to open one for that, and -y
	// leaves what it finds.
	ReadOnly bool
	// Reserve is a format that keeps space back from files, as one that
	// collects garbage must: what a plan calls free is what files can have, and
	// less than what is free.
	Reserve bool
	// Fill writes b into a file that was preallocated, and Contents reads one:
	// for a format that writes elsewhere than where a file was, whose bytes
	// extents alone do not tell. There a contiguous file stays where it is and
	// is not zeroed. Nil, both: they lie where the extents say, at all times.
	Fill     func(t testing.TB, d dev.Device, path string, b []byte)
	Contents func(t testing.TB, d dev.Device, path string) []byte
	// Spoil takes one of every n clusters of a volume, so that no free run is longer
	// than n-1. Nil: a file gets its place when it is written, not before.
	Spoil func(t testing.TB, d dev.Device, n uint32)
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	t.Run("catalogue", s.catalogue)
	for typ, size := range s.Sizes {
		v := volume{Suite: s, typ: typ, size: size}
		t.Run(typ, func(t *testing.T) {
			t.Run("format", v.format)
			t.Run("read-only", v.readOnly)
			t.Run("noise", v.noise)
			if s.ReadOnly {
				t.Run("unchanged", v.unchanged)
			} else {
				t.Run("preallocate", v.preallocate)
				if s.Spoil != nil {
					t.Run("aligned", v.aligned)
					t.Run("contiguous", v.contiguous)
				}
				t.Run("refuse", v.refuse)
				t.Run("zero", v.zero)
				t.Run("random operations", v.operations)
				t.Run("fill", v.fill)
			}
			t.Run("power cuts", v.powerCuts)
			t.Run("faults", v.faults)
		})
	}
}

// catalogue: codes and slugs name one problem each, and a person can act on
// what the row says.
func (s Suite) catalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range s.Driver.Problems {
		if seen[p.Code] || seen[p.Slug] {
			t.Errorf("%s %s stands twice", p.Code, p.Slug)
		}
		seen[p.Code], seen[p.Slug] = true, true
		if p.Title == "" || p.Explain == "" || p.Source == "" {
			t.Errorf("%s %s lacks a title, an explanation or a source", p.Code, p.Slug)
		}
		names := map[string]bool{}
		for _, r := range p.Repairs {
			if names[r.Name] || r.Title == "" {
				t.Errorf("%s: repair %q stands twice or lacks a title", p.Code, r.Name)
			}
			names[r.Name] = true
		}
	}
}

// volume is a type and size that the suite is run on.
type volume struct {
	Suite
	typ  string
	size int64
}

func (v volume) plan(t rapid.TB) *vol.Plan {
	t.Helper()
	p, err := v.Driver.Plan(vol.Target{Size: v.size}, vol.FormatOptions{Type: v.typ, Label: "SUITE", Seed: 1, Time: 1700000000})
	if err != nil {
		t.Fatalf("plan %s of %d bytes: %v", v.typ, v.size, err)
	}
	return p
}

// fresh is a new volume in memory.
func (v volume) fresh(t rapid.TB) dev.Device {
	t.Helper()
	d := dev.NewMem(v.size)
	if _, err := v.plan(t).Apply(context.Background(), d); err != nil {
		t.Fatalf("format: %v", err)
	}
	return d
}

// open a volume for changing; commit writes what was staged.
func (v volume) open(t rapid.TB, d dev.Device) (vol.Volume, *dev.Txn) {
	t.Helper()
	txn := dev.Begin(d)
	x, err := v.Driver.Open(context.Background(), txn, vol.OpenOptions{Raw: d, Now: 1700000000})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return x, txn
}

func commit(t rapid.TB, txn *dev.Txn) {
	t.Helper()
	if _, err := txn.Commit(context.Background(), dev.CommitOptions{}); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

// check reports what is wrong with d, warnings and above.
func (v volume) check(t rapid.TB, d dev.Device) []string {
	t.Helper()
	res, err := vol.Fsck(context.Background(), d, v.Driver, vol.CheckOptions{}, nil, nil)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	var out []string
	for _, o := range res.Outcomes {
		if o.Severity >= vol.SevWarning {
			out = append(out, fmt.Sprintf("%s %s %s: %s", o.Code, o.Slug, o.Loc.Path, o.Message()))
		}
	}
	return out
}

func (v volume) mustBeClean(t rapid.TB, d dev.Device, after string) {
	t.Helper()
	if got := v.check(t, d); len(got) > 0 {
		t.Fatalf("after %s the check finds: %q", after, got)
	}
}

// format: the plan is the same each time, and what it makes is recognised,
// clean and mountable.
func (v volume) format(t *testing.T) {
	a, b := v.plan(t), v.plan(t)
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("two plans of the same differ: %s", d)
	}
	for i, s := range a.Steps {
		if err := dev.CheckRange("format", s.Range, v.size); err != nil || s.Data != nil && int64(len(s.Data)) != s.Len {
			t.Errorf("step %d of %d bytes at %v: %v", i, len(s.Data), s.Range, err)
		}
	}
	d := v.fresh(t)
	if id := v.Driver.Probe(d); id.Confidence != vol.Sure || id.Type != a.Type || id.Label != "SUITE" {
		t.Errorf("probe says %+v of a %s", id, a.Type)
	}
	info, err := v.Driver.Describe(d)
	if err != nil || info.Type != a.Type || info.Clusters != a.Clusters || len(info.Fields) == 0 {
		t.Errorf("describe says %+v, %v", info, err)
	}
	v.mustBeClean(t, d, "format")
	scan, err := v.Driver.MountScan(context.Background(), d, vol.ScanOptions{})
	if err != nil || scan.Mountable != "rw" || scan.Dirty || len(scan.Reasons) > 0 {
		t.Errorf("mount-scan says %+v, %v", scan, err)
	}
	if scan != nil && scan.FreeClusters != a.FreeClusters && (!v.Reserve || scan.FreeClusters < a.FreeClusters) {
		t.Errorf("%d clusters are free, the plan says %d", scan.FreeClusters, a.FreeClusters)
	}
}

// readOnly: looking changes nothing.
func (v volume) readOnly(t *testing.T) {
	d := v.fresh(t)
	d.(*dev.Mem).SetReadOnly(true)
	trace := devtest.NewTrace(d)
	v.lookAt(t, trace)
	for _, o := range trace.Ops() {
		if o.Kind == devtest.Write || o.Kind == devtest.Zero {
			t.Errorf("reading commands did %v", o)
		}
	}
}

// lookAt runs everything that only reads, and expects no more than that it
// comes back.
func (v volume) lookAt(t testing.TB, d dev.Device) {
	t.Helper()
	ctx := context.Background()
	v.Driver.Probe(d)
	_, _ = v.Driver.Describe(d)
	_, _ = v.Driver.MountScan(ctx, d, vol.ScanOptions{})
	_, _ = v.Driver.MountScan(ctx, d, vol.ScanOptions{Quick: true})
	_, _ = v.Driver.Open(ctx, d, vol.OpenOptions{})
	_, _ = vol.Fsck(ctx, d, v.Driver, vol.CheckOptions{}, nil, nil)
}

// unit is a length that takes a few clusters and leaves room for more files.
func (v volume) unit(x vol.Volume) int64 {
	cs := int64(x.Info().ClusterSize)
	return max(3*cs+1, v.size/64/cs*cs+1)
}

func (v volume) request(x vol.Volume) vol.PreallocRequest {
	n := v.unit(x)
	return vol.PreallocRequest{Create: true, Contiguous: true, FillZero: true, Files: []vol.PreallocFile{
		{Path: "CLIP0001.MP4", Length: n}, {Path: "dir/a long name.bin", Length: 2 * n}, {Path: "dir/sub/Ünï.bin", Length: 1},
	}}
}

// preallocate: files are one run each, apart from each other and from free
// space, and read as zeros.
func (v volume) preallocate(t *testing.T) {
	d := v.fresh(t)
	x, txn := v.open(t, d)
	req := v.request(x)
	res, err := x.Preallocate(context.Background(), req)
	if err != nil {
		t.Fatalf("preallocate: %v", err)
	}
	commit(t, txn)
	v.mustBeClean(t, d, "preallocate")
	var taken []dev.Range
	for i, f := range res.Files {
		if f.Size != req.Files[i].Length || len(f.Extents) != 1 || f.Allocated < f.Size {
			t.Errorf("%s: %+v for %d bytes", f.Path, f, req.Files[i].Length)
		}
		for _, e := range f.Extents {
			taken = append(taken, dev.Range{Off: e.Off, Len: e.Length})
		}
	}
	x, _ = v.open(t, d)
	err = ranges(x, func(r dev.Range) error {
		taken = append(taken, r)
		return nil
	})
	if err != nil {
		t.Errorf("free ranges: %v", err)
	}
	for i, a := range taken {
		for _, b := range taken[:i] {
			if r := a.Intersect(b); !r.Empty() {
				t.Fatalf("bytes %v belong to two", r)
			}
		}
	}
}

func ranges(x vol.Volume, fn func(dev.Range) error) error {
	_, err := x.FreeRanges(context.Background(), false, fn)
	return err
}

// refuse: what cannot be met changes nothing, and says that it is the request.
func (v volume) refuse(t *testing.T) {
	d := v.fresh(t)
	many := vol.PreallocRequest{Create: true, Files: []vol.PreallocFile{{Path: "small", Length: 1}}}
	for i := range 20 {
		many.Files = append(many.Files, vol.PreallocFile{Path: fmt.Sprintf("dir%d/big", i), Length: v.size / 8})
	}
	for name, req := range map[string]vol.PreallocRequest{
		"no space":  many,
		"missing":   {Files: []vol.PreallocFile{{Path: "missing", Length: 1}}},
		"directory": {Create: true, Files: []vol.PreallocFile{{Path: "a/b", Length: 1}, {Path: "a", Length: 1}}},
		"negative":  {Create: true, Files: []vol.PreallocFile{{Path: "a", Offset: -5, Length: 1}}},
		"huge":      {Create: true, Files: []vol.PreallocFile{{Path: "a", Offset: 1 << 62, Length: 1 << 62}}},
		"no name":   {Create: true, Files: []vol.PreallocFile{{Path: "", Length: 1}}},
		"root":      {Create: true, Files: []vol.PreallocFile{{Path: "/", Length: 1}}},
	} {
		x, txn := v.open(t, d)
		_, err := x.Preallocate(context.Background(), req)
		if !errors.Is(err, vol.ErrRequest) && !errors.Is(err, vol.ErrUsage) {
			t.Errorf("%s: error is %v", name, err)
		}
		txn.Rollback()
	}
	v.mustBeClean(t, d, "refusals")
	if r, err := devtest.Diff(d, v.fresh(t)); err != nil || !r.Empty() {
		t.Errorf("refused requests changed bytes %v (%v)", r, err)
	}
}

// zero: a range of a file reads as zeros, the rest of it does not.
func (v volume) zero(t *testing.T) {
	if v.Fill != nil {
		v.zeroMoved(t)
		return
	}
	d := v.fresh(t)
	x, txn := v.open(t, d)
	n := v.unit(x)
	req := vol.PreallocRequest{Create: true, ValidAll: true, FillZero: true, Files: []vol.PreallocFile{{Path: "f", Length: n}}}
	res, err := x.Preallocate(context.Background(), req)
	if err != nil {
		t.Fatalf("preallocate: %v", err)
	}
	commit(t, txn)
	e := res.Files[0].Extents[0]
	fill := bytes.Repeat([]byte{0xA5}, int(e.Length))
	if _, err := d.WriteAt(fill, e.Off); err != nil {
		t.Fatal(err)
	}
	x, txn = v.open(t, d)
	from, length := n/3, n/3
	if _, err := x.ZeroRanges(context.Background(), vol.ZeroRequest{Files: []vol.ZeroFile{{Path: "f", Offset: from, Length: length}}}); err != nil {
		t.Fatalf("zero: %v", err)
	}
	commit(t, txn)
	v.mustBeClean(t, d, "zero")
	clear(fill[from : from+length])
	got := make([]byte, len(fill))
	if _, err := d.ReadAt(got, e.Off); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[:n], fill[:n]) {
		t.Error("the file does not read as zeros in the range and as before elsewhere")
	}
}

// zeroMoved is zero for a format that writes elsewhere.
func (v volume) zeroMoved(t *testing.T) {
	d := v.used(t)
	was := v.Contents(t, d, "dir/a long name.bin")
	x, txn := v.open(t, d)
	from, length := int64(len(was))/3, int64(len(was))/3
	if _, err := x.ZeroRanges(context.Background(), vol.ZeroRequest{Files: []vol.ZeroFile{{Path: "dir/a long name.bin", Offset: from, Length: length}}}); err != nil {
		t.Fatalf("zero: %v", err)
	}
	commit(t, txn)
	v.mustBeClean(t, d, "zero")
	if allZeros(was[from : from+length]) {
		t.Error("there was nothing to zero")
	}
	clear(was[from : from+length])
	if got := v.Contents(t, d, "dir/a long name.bin"); !bytes.Equal(got, was) {
		t.Error("the file does not read as zeros in the range and as before elsewhere")
	}
}

func allZeros(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// operations: any sequence of changes leaves a clean volume, and sizes that
// only grow as asked.
func (v volume) operations(t *testing.T) {
	d := v.fresh(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	sizes := map[string]int64{}
	for range 60 {
		x, txn := v.open(t, d)
		path := fmt.Sprintf("d%d/file %d.bin", rnd.IntN(3), rnd.IntN(5))
		off, n := rnd.Int64N(v.size/128), rnd.Int64N(v.size/64)+1
		req := vol.PreallocRequest{Create: true, FillZero: rnd.IntN(2) == 0, Contiguous: rnd.IntN(4) == 0,
			Files: []vol.PreallocFile{{Path: path, Offset: off, Length: n}}}
		res, err := x.Preallocate(context.Background(), req)
		switch {
		case errors.Is(err, vol.ErrRequest):
			txn.Rollback()
			continue
		case err != nil:
			t.Fatalf("preallocate %s: %v", path, err)
		}
		commit(t, txn)
		sizes[path] = max(sizes[path], off+n)
		if got := res.Files[0].Size; got != sizes[path] {
			t.Fatalf("%s: size %d, should be %d", path, got, sizes[path])
		}
		v.mustBeClean(t, d, "preallocate "+path)
	}
	if len(sizes) == 0 {
		t.Error("no operation was carried out")
	}
}

// unchanged: a driver that changes no volumes says so, with an error that is
// about the request, and -y leaves a damaged one as it is.
func (v volume) unchanged(t *testing.T) {
	x, err := v.Driver.Open(context.Background(), v.fresh(t), vol.OpenOptions{Force: true})
	if x != nil || !errors.Is(err, vol.ErrRequest) {
		t.Errorf("open says %v", err)
	}
	for name, damage := range v.Damage {
		d, was := v.fresh(t), v.fresh(t)
		for _, x := range []dev.Device{d, was} {
			if err := damage(x); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		txn := dev.Begin(d)
		res, err := vol.Fsck(context.Background(), txn, v.Driver, vol.CheckOptions{}, Always, nil)
		if err != nil || res.Repaired || res.Unproven != nil || res.Rounds != 1 || !res.Left(vol.SevError) || txn.Dirty() {
			t.Errorf("%s: -y gives %+v, %v", name, res, err)
		}
		commit(t, txn)
		if r, err := devtest.Diff(d, was); err != nil || !r.Empty() {
			t.Errorf("%s: -y changed bytes %v (%v)", name, r, err)
		}
	}
}

// noise: whatever a device holds, looking at it comes back without a panic.
func (v volume) noise(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	good := v.fresh(t)
	for _, size := range []int64{1, 511, 512, 513, 4096, 65536, v.size / 2, v.size - 1} {
		d := dev.NewMem(size)
		buf := make([]byte, min(size, 1<<20))
		if _, err := good.ReadAt(buf, 0); err != nil {
			t.Fatal(err)
		}
		v.put(t, d, buf)
		v.lookAt(t, d) // cut short
		for i := range buf {
			buf[i] = byte(rnd.Uint32())
		}
		v.put(t, d, buf)
		v.lookAt(t, d) // random bytes
		if id := v.Driver.Probe(d); id.Confidence >= vol.Likely {
			t.Errorf("%d random bytes are taken for %+v", size, id)
		}
	}
}

func (v volume) put(t *testing.T, d dev.Device, b []byte) {
	t.Helper()
	if _, err := d.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
}
