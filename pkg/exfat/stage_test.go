package exfat

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// forgetful is a device that loses what is written to a range, or fails there.
type forgetful struct {
	dev.Device
	lost dev.Range
	err  error
}

func (f *forgetful) WriteAt(p []byte, off int64) (int, error) {
	r := dev.Range{Off: off, Len: int64(len(p))}
	if r.Intersect(f.lost).Empty() {
		return f.Device.WriteAt(p, off)
	}
	if f.err != nil {
		return 0, f.err
	}
	return len(p), nil
}

// What does not read back as planned is not committed, and what was allocated
// for it is free again.
func TestVerify(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	preallocated(t, m, newFiles(map[string]int64{"F": 5000, "in the way": 5, "D/G": 1}, "F", "in the way", "D/G"))
	g, err := soundRegion(m)
	must(t, err)
	p := sound(t, m)
	for what, lost := range map[string]dev.Range{
		"bitmap":    g.ClusterRange(2, 1),
		"FAT":       {Off: g.FatOff(), Len: g.FatBytes()},
		"root":      g.ClusterRange(g.RootCluster, 1),
		"directory": g.ClusterRange(p.files["/D"].clusters[0], 1),
	} {
		for _, fail := range []error{nil, errors.New("write error")} {
			tx := dev.Begin(m)
			d := &forgetful{Device: tx, err: fail}
			x, err := open(context.Background(), d, vol.OpenOptions{Raw: m})
			must(t, err)
			v := x.(*volume)
			free := v.alloc.Free()
			d.lost = lost
			_, err = v.Preallocate(context.Background(), newFiles(map[string]int64{"F": 50_000, "D/H": 9000}, "F", "D/H"))
			switch {
			case fail != nil && !errors.Is(err, fail):
				t.Errorf("%s: %v", what, err)
			case fail == nil && (err == nil || !strings.Contains(err.Error(), "does not read back")):
				t.Errorf("%s: %v", what, err)
			}
			if v.alloc.Free() != free {
				t.Errorf("%s: %d of %d clusters are free", what, v.alloc.Free(), free)
			}
			tx.Rollback()
		}
	}
	sound(t, m)
}

// The steps of a change are apart: bitmap and FAT, then entries, then the
// percentage.
func TestStageOrder(t *testing.T) {
	m := formatted(t, 16<<20, 4096)
	preallocated(t, m, newFiles(map[string]int64{"F": 4096, "next": 1}, "F", "next"))
	g, err := soundRegion(m)
	must(t, err)
	log := &writeLog{Device: dev.Begin(m)}
	v, err := open(context.Background(), log, vol.OpenOptions{})
	must(t, err)
	_, err = v.Preallocate(context.Background(), newFiles(map[string]int64{"F": 4 << 20, "D/G": 1}, "F", "D/G"))
	must(t, err)
	root := g.ClusterOff(g.RootCluster)
	step := 0
	for _, off := range log.offs {
		var want int
		switch {
		case off < 0:
			step++
			continue
		case off == offPercentInUse:
			want = 2
		case off >= root && off < root+4096:
			want = 1
		case off < root:
			want = 0
		default:
			continue // a directory's clusters are zeroed first, and filled later
		}
		if step != want {
			t.Errorf("byte %d is written in step %d, not %d", off, step, want)
		}
	}
	if step != 2 || len(log.offs) < 6 {
		t.Errorf("%d barriers, %v", step, log.offs)
	}
}

// writeLog notes where is written; a barrier is -1.
type writeLog struct {
	dev.Device
	offs []int64
}

func (w *writeLog) WriteAt(p []byte, off int64) (int, error) {
	w.offs = append(w.offs, off)
	return w.Device.WriteAt(p, off)
}

func (w *writeLog) Sync() error {
	w.offs = append(w.offs, -1)
	return w.Device.Sync()
}
