package lfs

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestNoSpace gives changes one block less and less: they are refused until
// there is exactly as much as they take, and nothing is written.
func TestNoSpace(t *testing.T) {
	for name, fn := range cutCases() {
		if name == "pin" {
			continue // it takes whole sections, see TestPin
		}
		if name == "put" || name == "remove" {
			continue // they give blocks back meanwhile, see TestNeedAll
		}
		t.Run(name, func(t *testing.T) {
			l := newLab(t, labFeatures)
			base := l.cp.validBlocks()
			// try gives the change spare blocks, and returns how many it took.
			try := func(spare uint64) (took uint64, ok bool) {
				l.alterPack(func(c checkpoint) { c.put64(cpUserBlocks, base+spare) })
				txn := dev.Begin(l.d)
				v, err := open(t.Context(), txn, vol.OpenOptions{Now: 1})
				if err == nil {
					err = fn(t.Context(), v)
				}
				if err == nil {
					mustBeClean(t, txn)
					return newestPack(t, txn).cp.validBlocks() - base, true
				}
				if !errors.Is(err, vol.ErrRequest) {
					t.Fatalf("with %d blocks: %v", spare, err)
				}
				return 0, false
			}
			need, ok := try(4000)
			if !ok {
				t.Fatal("4000 blocks are not enough")
			}
			for spare := range need {
				if spare > 40 && need-spare > 40 {
					continue // all take long
				}
				if took, ok := try(spare); ok {
					t.Errorf("it was given %d blocks, and takes %d", spare, took)
				}
			}
			if took, ok := try(need); !ok || took != need {
				t.Errorf("it takes %d blocks, and was refused them", need)
			}
		})
	}
}

// newestPack is the pack that counts.
func newestPack(t testing.TB, d dev.Device) *pack {
	t.Helper()
	v, err := open(t.Context(), d, vol.OpenOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	return v.(*volume).l.s.p
}

// onImage opens an image for writing.
func onImage(t testing.TB, path string, fn func(d dev.Device)) {
	t.Helper()
	f, err := dev.OpenFile(path, dev.OpenOptions{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fn(f)
}

// scattered is a volume with few free sections, of whose blocks every second
// one is in use.
func scattered(t testing.TB, path string) {
	t.Helper()
	onImage(t, path, func(d dev.Device) {
		v, err := open(t.Context(), d, vol.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		l := v.(*volume).l
		n := l.s.cp.userBlocks() - l.s.cp.validBlocks() - 600
		if err := changed(t, d, func(ctx context.Context, v vol.Volume) error {
			_, err := v.Preallocate(ctx, vol.PreallocRequest{Create: true, Files: []vol.PreallocFile{{Path: "big", Length: int64(n) * 4096}}})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4096)
		err = edited(t, d, func(c *batch) error {
			h, err := c.file("big", false)
			for page := uint64(0); page < n && err == nil; page++ {
				b[0] = byte(page)
				err = h.writePage(page, b)
			}
			c.files[h.nid] = "big"
			return errors.Join(err, h.store())
		})
		if err != nil {
			t.Fatal(err)
		}
		var zs []vol.ZeroFile
		for page := uint64(0); page < n; page += 2 {
			zs = append(zs, vol.ZeroFile{Path: "big", Offset: int64(page) * 4096, Length: 4096})
		}
		if err := changed(t, d, func(ctx context.Context, v vol.Volume) error {
			_, err := v.ZeroRanges(ctx, vol.ZeroRequest{Files: zs})
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestScattered: where few sections are free, logs fill holes, as Linux does:
// the blocks that a change writes go between those that are in use.
func TestScattered(t *testing.T) {
	fsck := voltest.Peer(t, "fsck.f2fs")
	path := made(t, 64<<20, "-q")
	scattered(t, path)
	filled := false
	for i := range 40 {
		onImage(t, path, func(d dev.Device) {
			rewrite(t, d, i*150)
			for log := range logCount {
				filled = filled || newestPack(t, d).cp.logAlloc(log) == allocSSR
			}
		})
		if rows, _, res, _ := judge(t, path); rows != "" {
			t.Fatalf("round %d: found %q", i, found(res))
		}
	}
	if !filled {
		t.Error("no log fills holes")
	}
	if out, err := exec.Command(fsck, "--dry-run", path).CombinedOutput(); err != nil {
		t.Errorf("fsck.f2fs says\n%s", out)
	}
	// Nothing that was in use is given out again before the checkpoint: a change
	// of all of the file has no room beside it.
	onImage(t, path, func(d dev.Device) {
		was := sum(t, d)
		err := edited(t, d, func(c *batch) error {
			h, err := c.file("big", false)
			for page := uint64(0); page < 2900 && err == nil; page++ {
				err = h.writePage(page, make([]byte, 4096))
			}
			return err
		})
		if !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), "too scattered") || sum(t, d) != was {
			t.Errorf("all at once: %v", err)
		}
	})
}

// rewrite writes 150 pages of the file of a scattered volume.
func rewrite(t testing.TB, d dev.Device, first int) {
	t.Helper()
	err := edited(t, d, func(c *batch) error {
		h, err := c.file("big", false)
		b := make([]byte, 4096)
		for page := uint64(0); page < 150 && err == nil; page++ {
			b[0] = byte(first)
			err = h.writePage((uint64(first)+page)%2900, b)
		}
		c.files[h.nid] = "big"
		return errors.Join(err, h.store())
	})
	if err != nil {
		t.Fatalf("from page %d: %v", first, err)
	}
}

// TestPin: files in whole sections, one behind the other, of real blocks.
func TestPin(t *testing.T) {
	for _, segs := range []int{1, 2, 3} {
		d, g := newVolume(t, 256<<20, vol.FormatOptions{SegmentsPerSection: &segs, Time: 1700000000, Seed: 1})
		section := int64(segs) * g.SegmentBytes()
		pin := func(r vol.PreallocRequest) (*vol.PreallocResult, error) {
			var res *vol.PreallocResult
			err := changed(t, d, func(ctx context.Context, v vol.Volume) (err error) {
				r.FillZero = true
				res, err = v.Preallocate(ctx, r)
				return err
			})
			return res, err
		}
		one := func(path string, off, n int64) vol.PreallocRequest {
			return vol.PreallocRequest{Create: true, Contiguous: true, Files: []vol.PreallocFile{{Path: path, Offset: off, Length: n}}}
		}
		res, err := pin(one("a", 0, section+1))
		if err != nil {
			t.Fatal(err)
		}
		f := res.Files[0]
		if len(f.Extents) != 1 || f.Allocated != 2*section || f.Size != section+1 || (f.Extents[0].Off-g.BlockOff(g.Main))%section != 0 {
			t.Errorf("%d segments a section: %+v", segs, f)
		}
		if res, err = pin(one("a", section, 3*section)); err != nil || len(res.Files[0].Extents) != 1 || res.Files[0].Allocated != 4*section {
			t.Errorf("going on: %+v, %v", res, err)
		}
		if res, err = pin(vol.PreallocRequest{Create: true, ValidAll: true, KeepSize: true, Align: 2 * section, Files: []vol.PreallocFile{{Path: "b", Length: 5 * section}}}); err != nil || res.Files[0].Size != 0 || res.Files[0].Extents[0].Off%(2*section) != 0 {
			t.Errorf("aligned: %+v, %v", res, err)
		}
		first, err := pin(one("d", 0, section))
		if err == nil {
			res, err = pin(one("e", 0, section))
		}
		if err != nil {
			t.Fatal(err)
		}
		next := uint64(res.Files[0].Extents[0].Start) == first.Files[0].Extents[0].End()
		if segs == 1 && !next {
			t.Errorf("d and e are no neighbours: %+v, %+v", first, res)
		}
		if _, err = pin(one("d", 0, 2*section)); next && !errors.Is(err, vol.ErrRequest) {
			t.Errorf("behind d lies e, and it says %v", err)
		}
		if _, err = pin(one("c", 0, 240<<20)); !errors.Is(err, vol.ErrRequest) {
			t.Errorf("too much: %v", err)
		}
		mustBeClean(t, d)
		v, err := open(t.Context(), d, vol.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		segno := g.SegmentOf(f.Extents[0].Start)
		if sit := v.(*volume).l.sit; sit.kind[segno] != coldData || sit.count[segno] != segmentBlocks {
			t.Errorf("segment %d has type %d and %d blocks", segno, sit.kind[segno], sit.count[segno])
		}
	}
}

// TestPinZeroes: what free blocks held does not show up, unless that was asked
// for.
func TestPinZeroes(t *testing.T) {
	for _, fill := range []bool{true, false} {
		d, g := newVolume(t, 64<<20, vol.FormatOptions{})
		junk := make([]byte, 8<<20)
		for i := range junk {
			junk[i] = 0x5A
		}
		for segno := uint32(4); segno < 24; segno += 4 {
			if _, err := d.WriteAt(junk, g.BlockOff(g.SegmentBlock(segno))); err != nil {
				t.Fatal(err)
			}
		}
		if err := changed(t, d, func(ctx context.Context, v vol.Volume) error {
			_, err := v.Preallocate(ctx, vol.PreallocRequest{Create: true, Contiguous: true, FillZero: fill, Files: []vol.PreallocFile{{Path: "f", Length: 16 << 20}}})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if got := dev.AllZero(contentsOf(t, d, "f")); got != fill {
			t.Errorf("fill %v: all zeros %v", fill, got)
		}
	}
}

// TestManyNames: a directory grows from its inode to many levels, and all names
// are found.
func TestManyNames(t *testing.T) {
	d, _ := newVolume(t, 256<<20, vol.FormatOptions{Features: labFeatures})
	const n = 6000
	name := func(i int) string { return fmt.Sprintf("dir/%0*d", 1+i*7%200, i) }
	for at := 0; at < n; at += n / 4 {
		if err := changed(t, d, func(ctx context.Context, v vol.Volume) error {
			r := vol.PreallocRequest{Create: true}
			for i := at; i < at+n/4; i++ {
				r.Files = append(r.Files, vol.PreallocFile{Path: name(i), Length: int64(i % 2)})
			}
			_, err := v.Preallocate(ctx, r)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		res := checked(t, d)
		if len(slugs(res)) > 0 || res.Stats.Files != uint64(at+n/4) {
			t.Fatalf("%d files, found %q", res.Stats.Files, found(res))
		}
	}
	for i := range n {
		if i%97 == 0 {
			contentsOf(t, d, name(i))
		}
	}
}
