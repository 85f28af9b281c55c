package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// The fake file system is what its bytes say: the magic at 0, a dirty mark at 8
// and from 512 on problems, a byte each. A byte from fakeMended on is a mended
// one: fakeMended and the number of the repair.
const (
	fakeMagic    = "FAKEFS01"
	fakeDirtyOff = 8
	fakeProblems = 512
	fakeSlots    = 64
	fakeData     = 1024 // where clusters of 512 bytes begin; the first is number 2
	fakeMended   = 100
	fakeSize     = 64 << 10
)

// What a problem byte stands for.
const (
	pWarning  = 1 + iota // mended without loss
	pSafe                // an error, mended without loss
	pLossy               // an error, mended with loss of data
	pHopeless            // an error without a repair
	pInfo                // not worth a repair, but there is one
	pStubborn            // an error whose repair does not hold
	pOrphans             // --orphans is about it
	pStop                // an error that ends the check
	pIO                  // the check fails
	pNotNow              // an error whose repair is not possible here
	pHidden              // as pSafe, but in the second pass
)

// fakeDriver is a driver of the fake file system. onCheck, if there is one, is
// called at the start of each pass.
func fakeDriver(onCheck func()) *vol.Driver {
	return &vol.Driver{
		Name: "fake", Types: []string{"fake"}, Problems: fakeCatalogue(),
		Probe: fakeProbe, Plan: fakePlan, Describe: fakeDescribe, MountScan: fakeScan,
		Open: func(_ context.Context, d dev.Device, o vol.OpenOptions) (vol.Volume, error) {
			b := make([]byte, 16)
			if _, err := d.ReadAt(b, 0); err != nil {
				return nil, err
			}
			if b[fakeDirtyOff] != 0 && !o.Force {
				return nil, fmt.Errorf("%w: marked dirty", vol.ErrDirty)
			}
			return &fakeVolume{d: d, raw: o.Raw}, nil
		},
		Check: func(d dev.Device, _ vol.CheckOptions) vol.Checker { return &fakeChecker{d: d, onCheck: onCheck} },
	}
}

func fakeCatalogue() []vol.Problem {
	set := vol.Repair{Name: "set", Title: "put it right"}
	cut := vol.Repair{Name: "cut", Title: "cut it off", Loss: vol.LossData}
	row := func(n int, slug string, sev vol.Severity, rs ...vol.Repair) vol.Problem {
		return vol.Problem{Code: fmt.Sprintf("FAKE-%04d", n), Slug: slug, Severity: sev, Title: "something is " + slug,
			Explain: "It is " + slug + ".", Source: "[FAKE] 1", Repairs: rs}
	}
	return []vol.Problem{
		row(pWarning, "odd", vol.SevWarning, set),
		row(pSafe, "wrong", vol.SevError, set),
		row(pLossy, "torn", vol.SevError, cut),
		row(pHopeless, "hopeless", vol.SevError),
		row(pInfo, "notable", vol.SevInfo, set),
		row(pStubborn, "stubborn", vol.SevError, set),
		row(pOrphans, "lost-chains", vol.SevError, vol.Repair{Name: "free", Title: "free them", Loss: vol.LossData}, vol.Repair{Name: "rescue", Title: "keep them"}),
		row(pStop, "the-end", vol.SevError),
		row(pIO, "unused", vol.SevError),
		row(pNotNow, "not-now", vol.SevError, set),
		row(pHidden, "hidden", vol.SevError, set),
	}
}

func fakeProbe(d dev.Device) vol.Identity {
	b := make([]byte, 16)
	if d.Size() < fakeSize {
		return vol.Identity{}
	}
	if _, err := d.ReadAt(b, 0); err != nil || string(b[:8]) != fakeMagic {
		return vol.Identity{}
	}
	return vol.Identity{Confidence: vol.Sure, Type: "fake", Label: "FAKE", ID: "1", Size: d.Size()}
}

func fakeInfo(size int64) vol.Info {
	return vol.Info{Type: "fake", Label: "FAKE", ID: "1", Size: size, SectorSize: 512, ClusterSize: 512,
		Clusters: uint64(size-fakeData) / 512, Fields: []vol.Field{{Name: "magic", Value: fakeMagic}, {Name: "dirty", Offset: fakeDirtyOff, Value: 0}}}
}

func fakeDescribe(d dev.Device) (vol.Info, error) { return fakeInfo(d.Size()), nil }

func fakePlan(t vol.Target, o vol.FormatOptions) (*vol.Plan, error) {
	if len(o.Given()) > 0 {
		return nil, fmt.Errorf("%w: a fake file system has no %v", vol.ErrUsage, o.Given())
	}
	if t.Size < fakeSize {
		return nil, fmt.Errorf("%w: %d bytes are too few", vol.ErrRequest, t.Size)
	}
	head := make([]byte, 32)
	copy(head, fakeMagic)
	binary.LittleEndian.PutUint64(head[16:], o.Seed)
	binary.LittleEndian.PutUint64(head[24:], uint64(o.Time))
	p := &vol.Plan{Info: fakeInfo(t.Size), FreeClusters: 1, Warnings: []string{"it is a fake"}}
	p.Label = o.Label
	p.Regions = []vol.Region{{Name: "head", Range: dev.Range{Len: fakeData}}}
	p.Steps = []vol.Step{{Phase: vol.Wipe, Range: dev.Range{Len: fakeData}}, {Phase: vol.Head, Range: dev.Range{Len: 32}, Data: head}}
	return p, nil
}

func fakeScan(_ context.Context, d dev.Device, o vol.ScanOptions) (*vol.Scan, error) {
	b := make([]byte, 16)
	if _, err := d.ReadAt(b, 0); err != nil {
		return nil, err
	}
	s := &vol.Scan{Info: fakeInfo(d.Size()), Mountable: "rw", Counted: !o.Quick, FreeClusters: 5, FreeExtents: 2, LargestFreeExtent: 3,
		Load: vol.Load{Bytes: 512, Reads: 1, Readahead: d.Limits().Readahead}}
	if b[fakeDirtyOff] != 0 {
		s.Dirty = true
		s.Reasons = []vol.Reason{{Code: "FAKE-0001", Message: "marked dirty"}}
	}
	return s, nil
}

type fakeChecker struct {
	d       dev.Device
	onCheck func()
}

func (c *fakeChecker) Info() vol.Info { return fakeInfo(c.d.Size()) }
func (c *fakeChecker) Stats() vol.Stats {
	return vol.Stats{Files: 3, Directories: 1, Clusters: 126, Used: 63, Free: 63, BytesRead: 576}
}
func (c *fakeChecker) Passes() []vol.Pass {
	pass := func(from, to byte) func(context.Context, *vol.Report) error {
		return func(_ context.Context, r *vol.Report) error {
			if c.onCheck != nil {
				c.onCheck()
			}
			r.Progress(1, 2)
			return c.pass(r, from, to)
		}
	}
	return []vol.Pass{{Name: "one", Run: pass(pWarning, pNotNow)}, {Name: "two", Run: pass(pHidden, pHidden)}}
}

func (c *fakeChecker) pass(r *vol.Report, from, to byte) error {
	b := make([]byte, fakeSlots)
	if _, err := c.d.ReadAt(b, fakeProblems); err != nil {
		return err
	}
	for i, v := range b {
		if v < from || v > to {
			continue
		}
		if v == pIO {
			return &dev.Error{Op: "read", Range: dev.Range{Off: fakeProblems, Len: 1}, Err: errors.New("input/output error")}
		}
		off := int64(fakeProblems + i)
		f := vol.Finding{Problem: &fakeCatalogue()[v-1], Got: v, Want: 0,
			Loc: vol.Location{Path: fmt.Sprintf("/f%d", i), Cluster: uint32(i + 2), Range: dev.Range{Off: off, Len: 1}}}
		if v == pLossy {
			f.Related = []vol.Location{{Path: "/other"}, {Cluster: 2, Range: dev.Range{Off: fakeData, Len: 512}}}
		}
		r.Found(f, func(_ context.Context, rep vol.Repair) error {
			switch v {
			case pNotNow:
				return vol.ErrNotNow
			case pStubborn:
				return nil
			}
			_, err := c.d.WriteAt([]byte{byte(fakeMended + named(f.Offered(), rep.Name))}, off)
			return err
		})
		if v == pStop {
			return vol.ErrStop
		}
	}
	return nil
}

// fakeVolume has the second half of its clusters free.
type fakeVolume struct{ d, raw dev.Device }

func (v *fakeVolume) Info() vol.Info { return fakeInfo(v.d.Size()) }

func (v *fakeVolume) Preallocate(_ context.Context, r vol.PreallocRequest) (*vol.PreallocResult, error) {
	res := &vol.PreallocResult{Stale: !r.FillZero}
	for i, f := range r.Files {
		if f.Length > 4096 {
			return nil, fmt.Errorf("%w: no space for %s", vol.ErrRequest, f.Path)
		}
		if v.raw != nil {
			if err := v.raw.Zero(dev.Range{Off: 8192, Len: 512}); err != nil {
				return nil, err
			}
		}
		if _, err := v.d.WriteAt([]byte{byte(i + 1)}, fakeData+int64(i)); err != nil {
			return nil, err
		}
		res.Files = append(res.Files, vol.FileResult{Path: f.Path, Size: f.Offset + f.Length, Valid: f.Length, Allocated: 1024,
			Extents: []vol.FileExtent{{Extent: space.Extent{Start: 2, Len: 2}, Off: fakeData, Length: 1024}}})
		res.ClustersAllocated += 2
	}
	return res, nil
}

func (v *fakeVolume) ZeroRanges(_ context.Context, r vol.ZeroRequest) (*vol.ZeroResult, error) {
	res := &vol.ZeroResult{}
	for _, f := range r.Files {
		if err := v.d.Zero(dev.Range{Off: fakeData, Len: 512}); err != nil {
			return nil, err
		}
		res.Files = append(res.Files, vol.ZeroedFile{Path: f.Path, Offset: f.Offset, Length: 512, Blocks: 1, Runs: 1})
	}
	return res, nil
}

func (*fakeVolume) Put(context.Context, *vol.PutRequest) (*vol.PutResult, error) {
	return nil, fmt.Errorf("%w: a fake holds no files", vol.ErrRequest)
}

func (*fakeVolume) Remove(context.Context, vol.RemoveRequest) (*vol.RemoveResult, error) {
	return nil, fmt.Errorf("%w: a fake holds no files", vol.ErrRequest)
}

func (v *fakeVolume) FreeRanges(_ context.Context, slack bool, fn func(dev.Range) error) (vol.FreeTotal, error) {
	half := v.d.Size() / 2
	if slack {
		if err := fn(dev.Range{Off: half - 100, Len: 100}); err != nil {
			return vol.FreeTotal{}, err
		}
	}
	return vol.FreeTotal{Clusters: uint64(half / 512), Runs: 1}, fn(dev.Range{Off: half, Len: half})
}

// fake is an image in a directory of its own, and the program with the fake
// driver in front of it.
type fake struct {
	t       *testing.T
	image   string
	env     map[string]string
	stdin   string
	tty     bool
	onCheck func()
}

// newFake makes a volume with these problems.
func newFake(t *testing.T, problems ...byte) *fake {
	f := &fake{t: t, image: filepath.Join(t.TempDir(), "card.img"), env: map[string]string{}}
	f.write(f.image, fakeVolumeBytes(problems...))
	return f
}

func fakeVolumeBytes(problems ...byte) []byte {
	b := make([]byte, fakeSize)
	copy(b, fakeMagic)
	copy(b[fakeProblems:], problems)
	for i := fakeData; i < len(b); i++ {
		b[i] = 0xAA
	}
	return b
}

func (f *fake) write(path string, b []byte) {
	f.t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) read() []byte {
	f.t.Helper()
	b, err := os.ReadFile(f.image)
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

// problems are the problem bytes as they are now.
func (f *fake) problems(n int) []byte { return f.read()[fakeProblems : fakeProblems+n] }

// outcome is what a run printed and returned.
type outcome struct {
	code     int
	out, err string
}

// run runs the program; IMAGE in args stands for the image.
func (f *fake) run(args ...string) outcome { return f.runWith(f.t.Context(), args...) }

func (f *fake) runWith(ctx context.Context, args ...string) outcome {
	f.t.Helper()
	var out, errw bytes.Buffer
	a := newApp([]*vol.Driver{fakeDriver(f.onCheck)}, strings.NewReader(f.stdin), &out, &errw)
	a.getenv = func(name string) string { return f.env[name] }
	a.now = func() time.Time { return time.Unix(1700000000, 0) }
	a.terminal = func(v any) bool { return f.tty && v == a.in }
	full := append(make([]string, 0, 1+len(args)), "fatkit")
	for _, arg := range args {
		full = append(full, strings.ReplaceAll(arg, "IMAGE", f.image))
	}
	code := a.run(ctx, full)
	shorten := strings.NewReplacer(filepath.Dir(f.image)+string(filepath.Separator), "")
	return outcome{code, shorten.Replace(out.String()), shorten.Replace(errw.String())}
}

// anyCode is for runs of which only what they say matters.
const anyCode = -1

// want checks the code of a run and that its output has these words.
func (o outcome) want(t *testing.T, code int, words ...string) {
	t.Helper()
	if o.code != code && code != anyCode {
		t.Errorf("exit %d, want %d\n%s%s", o.code, code, o.out, o.err)
	}
	for _, w := range words {
		if !strings.Contains(o.out+o.err, w) {
			t.Errorf("%q is missing in\n%s%s", w, o.out, o.err)
		}
	}
}
