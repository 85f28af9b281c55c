package lfs

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// roFeatures are sets of features that volumes have which are only read.
func roFeatures() []string {
	return []string{"ro", "ro,extra_attr,inode_checksum,sb_checksum,flexible_inline_xattr,inode_crtime,lost_found,compression", "ro,extra_attr,project_quota,quota,inode_checksum"}
}

// fillNew fills a volume that was just made.
func (s *sourceOf) fillNew(t testing.TB, d dev.Device) error {
	t.Helper()
	_, err := s.putOpened(t, d, vol.OpenOptions{Raw: d, New: true, Now: 1700000001}, vol.PutRequest{})
	return err
}

// TestPutReadOnly: a volume that is only read is filled when it is new, in two
// logs that grow towards each other, and never after that.
func TestPutReadOnly(t *testing.T) {
	s := mixed()
	for _, features := range roFeatures() {
		for _, per := range []int{1, 2} {
			_, d := plannedVolume(t, 128<<20, vol.FormatOptions{Features: features, SegmentsPerSection: ptr(per)})
			_, again := plannedVolume(t, 128<<20, vol.FormatOptions{Features: features, SegmentsPerSection: ptr(per)})
			for _, d := range []dev.Device{d, again} {
				if err := s.fillNew(t, d); err != nil {
					t.Fatalf("%q: %v", features, err)
				}
			}
			if sum(t, d) != sum(t, again) {
				t.Errorf("%q: the same files make another volume", features)
			}
			clean(t, d)
			s.verify(t, d)
			twoLogs(t, d)
			was := sum(t, d)
			more := &sourceOf{}
			more.file("more", nil)
			if err := more.fillNew(t, d); !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), "the volume has the feature ro") {
				t.Errorf("%q, filled again: %v", features, err)
			}
			if sum(t, d) != was {
				t.Errorf("%q: the volume has changed", features)
			}
		}
	}
}

// twoLogs checks that data is at the front of a volume and nodes are at its end.
func twoLogs(t *testing.T, d dev.Device) {
	t.Helper()
	s := stateOf(t, d)
	sit, err := s.loadSIT(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	data, nodes := s.cp.logSegment(hotData), s.cp.logSegment(hotNode)
	for segno, n := range sit.count {
		segno := uint32(segno)
		switch kind := int(sit.kind[segno]); {
		case n == 0:
		case kind == hotData && segno <= data:
		case kind == hotNode && s.g.SectionOf(segno) >= s.g.SectionOf(nodes):
		default:
			t.Errorf("%d blocks of segment %d are of kind %d; the logs are at %d and %d", n, segno, kind, data, nodes)
		}
	}
	for segno := range data {
		if segno > 0 && sit.count[segno] != segmentBlocks {
			t.Errorf("segment %d has %d blocks, and data goes on at %d", segno, sit.count[segno], data)
		}
	}
}

// TestPutReadOnlyAlone: nothing but filling it is done to a new volume that is
// only read.
func TestPutReadOnlyAlone(t *testing.T) {
	_, d := plannedVolume(t, 64<<20, vol.FormatOptions{Features: "ro,lost_found"})
	v, err := open(t.Context(), d, vol.OpenOptions{New: true})
	if err != nil {
		t.Fatal(err)
	}
	was := sum(t, d)
	for range 2 {
		_, err := v.Preallocate(t.Context(), vol.PreallocRequest{Files: []vol.PreallocFile{{Path: "/new", Length: 10}}, Create: true})
		if !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), "feature ro") {
			t.Errorf("preallocating: %v", err)
		}
		_, err = v.Remove(t.Context(), vol.RemoveRequest{Paths: []string{"/lost+found"}, Recursive: true})
		if !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), "feature ro") {
			t.Errorf("removing: %v", err)
		}
	}
	if sum(t, d) != was {
		t.Error("the volume has changed")
	}
}

// TestNeedReadOnly: what is counted beforehand fits a volume with two logs, to
// the last block of either; and one that is a section larger does not.
func TestNeedReadOnly(t *testing.T) {
	for _, c := range []struct {
		features string
		per      int
		size     int64 // of the volume
		each     int64 // bytes of a file
	}{{"ro", 1, 20 << 20, 0}, {"ro", 1, 20 << 20, 4096}, {"ro", 2, 28 << 20, 9000}, {"ro,quota,lost_found", 1, 24 << 20, 0}, {"ro", 1, 24 << 20, 5 << 20}} {
		p, d := plannedVolume(t, c.size, vol.FormatOptions{Features: c.features, SegmentsPerSection: ptr(c.per)})
		make := func(n int) *sourceOf {
			s := &sourceOf{}
			for i := range n {
				e := s.file(fmt.Sprintf("file %05d", i), nil)
				e.Size, e.UID = c.each, uint32(i/100)
				s.pattern[i] = byte(i)
			}
			return s
		}
		fits := func(s *sourceOf) bool {
			n, err := need(p, vol.ReadOptions{}, s.entries)
			if err != nil {
				t.Fatal(err)
			}
			return n <= p.FreeClusters
		}
		most := sort.Search(1<<15, func(n int) bool { return !fits(make(n + 1)) })
		s := make(most)
		tail := s.file("tail", nil) // what is left for data
		s.pattern[most] = 1
		tail.Size = int64(sort.Search(1<<15, func(n int) bool { tail.Size = int64(n+1) * 4096; return !fits(s) })) * 4096
		if !fits(s) {
			s = make(most)
		}
		if err := s.fillNew(t, d); err != nil {
			t.Errorf("%+v, %d files: %v", c, most, err)
			continue
		}
		clean(t, d)
		s.verify(t, d)
		_, d = plannedVolume(t, c.size, vol.FormatOptions{Features: c.features, SegmentsPerSection: ptr(c.per)})
		was := sum(t, d)
		if err := make(most+1+int(1+segmentBlocks*int64(c.per)*4096/max(c.each, 4096))).fillNew(t, d); !errors.Is(err, vol.ErrRequest) {
			t.Errorf("%+v, far more files: %v", c, err)
		}
		if sum(t, d) != was {
			t.Errorf("%+v: the volume has changed", c)
		}
	}
}
