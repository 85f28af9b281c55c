package lfs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// plannedVolume lays a volume out and makes it.
func plannedVolume(t testing.TB, size int64, o vol.FormatOptions) (*vol.Plan, *dev.Mem) {
	t.Helper()
	o.Type, o.Seed, o.Time = "f2fs", 1, 1700000000
	p, err := planFormat(vol.Target{Size: size}, o)
	if err != nil {
		t.Fatal(err)
	}
	d := dev.NewMem(size)
	if _, err := p.Apply(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return p, d
}

// TestNeed: what is counted beforehand is what is taken.
func TestNeed(t *testing.T) {
	many := &sourceOf{}
	for i := range 9000 {
		many.file(fmt.Sprintf("%s %d", strings.Repeat("x", i%200), i), nil).UID = uint32(i * 70)
	}
	many.dir("in the inode")
	many.file("in the inode/"+strings.Repeat("n", 200), nil)
	for name, s := range map[string]*sourceOf{"mixed": mixed(), "many": many, "nothing": {}} {
		for _, features := range []string{"", putAll, "quota", "lost_found"} {
			o := vol.FormatOptions{Type: "f2fs", Features: features}
			p, d := plannedVolume(t, 256<<20, o)
			want, err := need(p, vol.ReadOptions{}, s.entries)
			if err != nil {
				t.Fatal(err)
			}
			before := stateOf(t, d).cp.validBlocks()
			res, err := s.put(t, d, vol.PutRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if took := stateOf(t, d).cp.validBlocks() - before; took != want || res.ClustersAllocated > took {
				t.Errorf("%s, features %q: %d blocks, of which %d are known; %d were counted", name, features, took, res.ClustersAllocated, want)
			}
			clean(t, d)
		}
	}
}

// TestNeedAll: files can have all blocks that a plan calls free, and not one
// more.
func TestNeedAll(t *testing.T) {
	for _, c := range []struct {
		size     int64
		features string
		each     int // bytes of a file
	}{
		{46 << 20, "", 1}, {46 << 20, "", 5000}, {64 << 20, putAll, 3000}, {64 << 20, "", 9 << 20}, {100 << 20, "quota", 20_000}, {200 << 20, "", 4096},
	} {
		o := vol.FormatOptions{Type: "f2fs", Features: c.features}
		p, d := plannedVolume(t, c.size, o)
		s := &sourceOf{}
		for i := 0; ; i++ {
			e := s.file(fmt.Sprintf("file %05d", i), nil)
			e.Size = int64(c.each)
			s.pattern[i] = byte(i)
			n, err := need(p, vol.ReadOptions{}, s.entries)
			if err != nil {
				t.Fatal(err)
			}
			if n == p.FreeClusters {
				break
			}
			for n > p.FreeClusters && e.Size > 0 {
				e.Size = max(0, e.Size-4096)
				n, _ = need(p, vol.ReadOptions{}, s.entries)
			}
			if n == p.FreeClusters {
				break
			}
			if n > p.FreeClusters {
				s.entries = s.entries[:i]
				break
			}
			if i > 100 && i%7 != 0 && int(p.FreeClusters-n) > 20*(2+c.each/4096) {
				for range min(2000, int(p.FreeClusters-n)/(2+c.each/4096)-10) {
					i++
					s.file(fmt.Sprintf("file %05d", i), nil).Size = int64(c.each)
					s.pattern[i] = byte(i)
				}
			}
		}
		if _, err := s.put(t, d, vol.PutRequest{}); err != nil {
			t.Errorf("%+v, %d files: %v", c, len(s.entries), err)
			continue
		}
		clean(t, d)
		s.verify(t, d)
		more := &sourceOf{}
		more.file("one more", noise(20_000))
		if _, err := more.put(t, d, vol.PutRequest{}); !errors.Is(err, vol.ErrRequest) {
			t.Errorf("%+v: one more: %v", c, err)
		}
	}
}

// TestNeedRefuses: what no volume can hold is refused beforehand.
func TestNeedRefuses(t *testing.T) {
	p, _ := plannedVolume(t, 64<<20, vol.FormatOptions{})
	s := &sourceOf{}
	s.file("file", nil).Xattrs = []vol.Xattr{{Name: "user.x", Value: noise(5000)}}
	if _, err := need(p, vol.ReadOptions{}, s.entries); !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), "file") {
		t.Errorf("%v", err)
	}
	p, _ = plannedVolume(t, 100<<20, vol.FormatOptions{Features: "ro", ClusterSize: 16384})
	if _, err := need(p, vol.ReadOptions{}, nil); !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), "blocks of 4096") {
		t.Errorf("%v", err)
	}
}
