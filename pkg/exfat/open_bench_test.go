package exfat

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// sixteen is a request for 16 files of 1 GiB, each in one run.
func sixteen() vol.PreallocRequest {
	r := vol.PreallocRequest{Create: true, FillZero: true, Contiguous: true}
	for i := range 16 {
		r.Files = append(r.Files, vol.PreallocFile{Path: fmt.Sprintf("CLIP%04d.MP4", i), Length: 1 << 30})
	}
	return r
}

// BenchmarkPrealloc16x1G allocates 16 files of 1 GiB in clusters of 4 KiB, from
// opening the volume to the committed change.
func BenchmarkPrealloc16x1G(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		m := formatted(b, 32<<30, 4096)
		b.StartTimer()
		preallocated(b, m, sixteen())
	}
}

// BenchmarkPreallocNaive16x1M grows 16 files of 1 MiB cluster by cluster, the
// bitmap, the FAT, the entry and the percentage each time: what a file system
// does that extends a file while it is written to.
func BenchmarkPreallocNaive16x1M(b *testing.B) {
	m := formatted(b, 32<<30, 4096)
	for b.Loop() {
		tx, v := begun(b, m)
		for i := range 16 {
			must(b, naiveGrow(v, fmt.Sprintf("CLIP%04d.MP4", i), 1<<20))
		}
		tx.Rollback()
	}
}

// BenchmarkPrealloc16x1M is the same work in one batch.
func BenchmarkPrealloc16x1M(b *testing.B) {
	m := formatted(b, 32<<30, 4096)
	r := sixteen()
	for i := range r.Files {
		r.Files[i].Length = 1 << 20
	}
	for b.Loop() {
		tx, v := begun(b, m)
		_, err := v.Preallocate(context.Background(), r)
		must(b, err)
		tx.Rollback()
	}
}

func naiveGrow(v *volume, path string, size int64) error {
	if _, err := v.Preallocate(context.Background(), one(path, 0)); err != nil {
		return err
	}
	c, err := v.begin()
	if err != nil {
		return err
	}
	g, err := c.file(path, false)
	if err != nil {
		return err
	}
	tab := newTable(v.d, v.g)
	last := uint32(0)
	for done := v.g.ClusterSize; done <= size; done += v.g.ClusterSize {
		next := uint32(v.m.NextFree(uint64(max(last, firstCluster)-firstCluster))) + firstCluster
		v.m.Set(next - firstCluster)
		if err := v.bits.mark(space.Extent{Start: next, Len: 1}, true); err != nil {
			return err
		}
		if err := tab.set(next, fatEOC); err != nil {
			return err
		}
		if last != 0 {
			if err := tab.set(last, next); err != nil {
				return err
			}
		}
		if last == 0 {
			g.Old = []space.Extent{{Start: next, Len: 1}}
		}
		g.set().allocate(g.First(), uint64(done), uint64(done), false)
		g.set().seal()
		g.file.changed()
		if err := c.ds.store(g.dir); err != nil {
			return err
		}
		if _, err := v.d.WriteAt([]byte{1}, offPercentInUse); err != nil {
			return err
		}
		last = next
	}
	return nil
}

// fullBitmap is a volume of 2^28 clusters, a bitmap of 32 MiB that is data
// everywhere: some files, and free space.
func fullBitmap(b *testing.B) *bitmap {
	b.Helper()
	g := &Geometry{SectorSize: 512, ClusterSize: 2048, Clusters: 1 << 28, HeapOffset: 100}
	m := dev.NewMem(g.HeapOff() + int64(g.Clusters)*g.ClusterSize)
	need, _ := g.ClustersFor(uint64(g.BitmapBytes()))
	bits := newBitmap(m, g, []space.Extent{{Start: firstCluster, Len: need}})
	p := make([]byte, 64<<10)
	for off := int64(0); off < g.BitmapBytes(); off += int64(len(p)) {
		clear(p)
		if off/int64(len(p))%8 == 0 {
			for i := range len(p) / 3 {
				p[i] = 0xFF
			}
		}
		p[len(p)-1] = 0x81
		_, err := m.WriteAt(p, g.HeapOff()+off)
		must(b, err)
	}
	return bits
}

// BenchmarkLoadBitmap loads a bitmap of 32 MiB in windows.
func BenchmarkLoadBitmap(b *testing.B) {
	bits := fullBitmap(b)
	b.SetBytes(bits.g.BitmapBytes())
	for b.Loop() {
		_, _, err := bits.loadMap(context.Background(), 0)
		must(b, err)
	}
}

// BenchmarkCountBitmap goes through it for a mount-scan.
func BenchmarkCountBitmap(b *testing.B) {
	bits := fullBitmap(b)
	b.SetBytes(bits.g.BitmapBytes())
	for b.Loop() {
		_, _, err := bits.count(context.Background(), 0)
		must(b, err)
	}
}

// BenchmarkLoadBitmapBySector reads it sector by sector, as Linux did.
func BenchmarkLoadBitmapBySector(b *testing.B) {
	bits := fullBitmap(b)
	b.SetBytes(bits.g.BitmapBytes())
	for b.Loop() {
		used := make([]uint64, bits.g.Clusters/64)
		p := make([]byte, 512)
		for off := int64(0); off < bits.g.BitmapBytes(); off += 512 {
			_, err := bits.d.ReadAt(p, bits.g.HeapOff()+off)
			must(b, err)
			for i := 0; i < len(p); i += 8 {
				used[(off+int64(i))/8] = binary.LittleEndian.Uint64(p[i:])
			}
		}
	}
}

// BenchmarkFreeCounter is the counting alone, of bits that are all free, all
// used, in runs, and random.
func BenchmarkFreeCounter(b *testing.B) {
	p := make([]byte, 1<<20)
	for _, kind := range []struct {
		name string
		bits func(i int) byte
	}{
		{"free", func(int) byte { return 0 }}, {"used", func(int) byte { return 0xFF }},
		{"runs", func(i int) byte { return byte(i / 700 % 2 * 0xFF) }}, {"alternating", func(int) byte { return 0x55 }},
		{"random", func(i int) byte { return byte(i * i * 7 >> 5) }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			for i := range p {
				p[i] = kind.bits(i)
			}
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				c := newFreeCounter(1<<32 - 1)
				c.bytes(p)
				c.finish()
			}
		})
	}
}

// BenchmarkPreallocManifest makes 60000 files of one cluster each, in three
// directories: what a manifest asks for.
func BenchmarkPreallocManifest(b *testing.B) {
	m := formatted(b, 1<<30, 4096)
	r := vol.PreallocRequest{Create: true, FillZero: true}
	for i := range 60000 {
		r.Files = append(r.Files, vol.PreallocFile{Path: fmt.Sprintf("dir%d/some image %05d.jpeg", i%3, i), Length: 4000})
	}
	for b.Loop() {
		tx, v := begun(b, m)
		_, err := v.Preallocate(context.Background(), r)
		must(b, err)
		tx.Rollback()
	}
}
