package lfs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
)

// owned are files of somebody, each of so many bytes.
func owned(uid uint32, prefix string, n, size int) *sourceOf {
	s := &sourceOf{}
	for i := range n {
		s.file(fmt.Sprintf("%s%04d", prefix, i), noise(size)).UID = uid
	}
	return s
}

// TestPutRefused: a volume that was not unmounted, is only read, is full, or has
// a quota that would be exceeded is refused in words and stays as it is, to the
// byte: also where nodes have been written to blocks that are free.
func TestPutRefused(t *testing.T) {
	log := newLab(t, "")
	log.sync(newAddr, 3)
	unmounted := newBuilder(t, 64<<20, vol.FormatOptions{})
	unmounted.flags = cpCRCRecovery
	unmounted.finish()
	ro, _ := newVolume(t, 64<<20, vol.FormatOptions{Features: "ro"})
	many := owned(0, "many", 3000, 100)
	many.file("zz too large", noise(21<<20))
	twice := owned(0, "many", 3000, 100)
	twice.file("zz/x", nil)
	for _, c := range []struct {
		name  string
		d     dev.Device
		s     *sourceOf
		kind  error
		words string
	}{
		{"log", log.d, owned(0, "new", 1, 10), vol.ErrDirty, "the log has to be replayed, 3 nodes: check -p does that"},
		{"not unmounted", unmounted.d, owned(0, "new", 1, 10), vol.ErrDirty, "it was not unmounted: check -p"},
		{"ro", ro, owned(0, "new", 1, 10), vol.ErrRequest, "the volume has the feature ro"},
		{"full", emptyVolume(t, 64<<20, ""), many, vol.ErrRequest, "/zz too large: 5382 blocks of 4096 bytes are needed, "},
		{"no such", emptyVolume(t, 64<<20, ""), twice, vol.ErrRequest, `there is no "zz"`},
	} {
		was := sum(t, c.d)
		if _, err := c.s.put(t, c.d, vol.PutRequest{}); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: it says %v", c.name, err)
		}
		if sum(t, c.d) != was {
			t.Errorf("%s: the volume has changed", c.name)
		}
	}
}

// dataBytes is how much of a device is no hole.
func dataBytes(d dev.Device) (n int64) {
	for r := d.NextData(0); !r.Empty(); r = d.NextData(r.End()) {
		n += r.Len
	}
	return n
}

// TestPutFails: where contents cannot be read any more, what was written before to
// where there was a hole, such as inodes, is a hole again.
func TestPutFails(t *testing.T) {
	d := emptyVolume(t, 64<<20, "")
	was, had := sumOf(t, d), dataBytes(d)
	s := owned(0, "many", 3000, 100)
	s.file("zz", noise(50_000))
	s.failing[len(s.entries)-1] = errBroken
	trace := devtest.NewTrace(d)
	_, err := s.put(t, trace, vol.PutRequest{})
	// A device in memory has holes in steps that are larger than a block.
	if most := had + 1<<20; !errors.Is(err, errBroken) || sumOf(t, d) != was || dataBytes(d) > most {
		t.Errorf("it says %v, and of the volume %d bytes are no hole, of %d", err, dataBytes(d), had)
	}
	wrote := int64(0)
	for _, o := range trace.Ops(devtest.Write) {
		wrote += o.Len
	}
	if wrote < 8<<20 {
		t.Errorf("only %d bytes were written before", wrote)
	}
}

// TestQuotaExceeded: nobody comes to have more than the hard limit, and as much as
// that is taken. What others have, and what is taken away, is not looked at.
func TestQuotaExceeded(t *testing.T) {
	limited := func(files, kib uint64) *dev.Mem {
		d := emptyVolume(t, 64<<20, "quota")
		if _, err := owned(1000, "old", 2, 10_000).put(t, d, vol.PutRequest{}); err != nil {
			t.Fatal(err)
		}
		l := newReaderOf(t, d)
		editQuota(t, d, l.g.QuotaInos[userQuota], func(q *quotaTable) {
			rec, err := q.find(1000)
			if err != nil {
				t.Fatal(err)
			}
			binary.LittleEndian.PutUint64(rec[quotaInodeLimit:], files)
			binary.LittleEndian.PutUint64(rec[quotaSpaceLimit:], kib)
		})
		return d
	}
	more := func(d dev.Device, by int64) error {
		return changed(t, d, func(ctx context.Context, v vol.Volume) error {
			_, err := v.Preallocate(ctx, vol.PreallocRequest{FillZero: true, Files: []vol.PreallocFile{{Path: "old0000", Length: by}}})
			return err
		})
	}
	put := func(s *sourceOf) func(d dev.Device) error {
		return func(d dev.Device) error {
			_, err := s.put(t, d, vol.PutRequest{})
			return err
		}
	}
	const have = 2 * 3 * 4 // KiB that the old files have
	for _, c := range []struct {
		name       string
		files, kib uint64
		do         func(d dev.Device) error
		words      string // "" for done
	}{
		{"files", 4, 0, put(owned(1000, "new", 3, 10)), "user 1000 may have 4 files by its quota, has 2, and would have 3 more"},
		{"as many files", 5, 0, put(owned(1000, "new", 3, 10)), ""},
		{"space", 0, have + 11, put(owned(1000, "new", 3, 4096)), "user 1000 may have 35840 bytes by its quota, has 24576, and would have 12288 more"},
		{"as much space", 0, have + 12, put(owned(1000, "new", 3, 4096)), ""},
		{"somebody else", 1, 1, put(owned(1001, "new", 3, 4096)), ""},
		{"over it already", 1, 1, put(owned(1000, "new", 1, 0)), "user 1000 may have 1 files"},
		{"prealloc", 0, have + 4, func(d dev.Device) error { return more(d, 5*4096) }, "user 1000 may have"},
		{"as much prealloc", 0, have + 8, func(d dev.Device) error { return more(d, 5*4096) }, ""},
		{"a limit that cannot be", 0, 1 << 63, func(d dev.Device) error { return more(d, 5*4096) }, ""},
		{"away", 1, 1, func(d dev.Device) error { return removed(t, d, []string{"old0000"}) }, ""},
	} {
		d := limited(c.files, c.kib)
		was := sum(t, d)
		err := c.do(d)
		switch {
		case c.words == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.words == "":
			clean(t, d)
		case !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), c.words):
			t.Errorf("%s: it says %v", c.name, err)
		case sum(t, d) != was:
			t.Errorf("%s: the volume has changed", c.name)
		}
	}
}

// newReaderOf is what a volume is read by.
func newReaderOf(t *testing.T, d dev.Device) *loaded {
	t.Helper()
	l, err := load(t.Context(), d, loadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
