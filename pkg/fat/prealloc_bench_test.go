package fat

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// sixteen is the request of the Linux patch that taught the lesson: 16 files
// of size bytes.
func sixteen(size int64) vol.PreallocRequest {
	r := vol.PreallocRequest{Create: true, FillZero: true}
	for i := range 16 {
		r.Files = append(r.Files, vol.PreallocFile{Path: fmt.Sprintf("FILE%02d.BIN", i), Length: size})
	}
	return r
}

// BenchmarkPrealloc16x256M512 allocates 16 files of 256 MiB in clusters of 512
// bytes: in one batch, up to the staged and verified change.
func BenchmarkPrealloc16x256M512(b *testing.B) { benchPrealloc(b, 256<<20) }

// BenchmarkPrealloc16x1M512 is the same with files of 1 MiB, to be held
// against the naive way, which would take too long with more.
func BenchmarkPrealloc16x1M512(b *testing.B) { benchPrealloc(b, 1<<20) }

func benchPrealloc(b *testing.B, size int64) {
	m := formatted(b, "fat32", 5<<30, 512)
	b.SetBytes(2 * 4 * 16 * size / 512) // of FAT that are written
	for b.Loop() {
		tx, v := begun(b, m)
		if _, err := v.Preallocate(context.Background(), sixteen(size)); err != nil {
			b.Fatal(err)
		}
		tx.Rollback()
	}
}

// BenchmarkPreallocNaive16x1M512 grows the same files cluster by cluster: find
// one, end the chain there, link the last one to it, count FSInfo down, write
// the size; what Linux' fat_cont_expand() did before the patch.
func BenchmarkPreallocNaive16x1M512(b *testing.B) {
	const size = 1 << 20
	m := formatted(b, "fat32", 5<<30, 512)
	for b.Loop() {
		tx, v := begun(b, m)
		for i := range 16 {
			if err := naiveGrow(v, fmt.Sprintf("FILE%02d.BIN", i), size); err != nil {
				b.Fatal(err)
			}
		}
		tx.Rollback()
	}
}

func naiveGrow(v *volume, path string, size int64) error {
	if _, err := v.Preallocate(context.Background(), one(path, 0)); err != nil {
		return err
	}
	c, err := v.begin(false)
	if err != nil {
		return err
	}
	g, err := c.file(path, false)
	if err != nil {
		return err
	}
	last := uint32(0)
	for done := int64(0); done < size; done += v.g.ClusterSize() {
		next := uint32(v.m.NextFree(uint64(max(last, firstCluster)-firstCluster))) + firstCluster
		v.m.Set(next - firstCluster)
		if err := v.t.set(next, entryLast); err != nil {
			return err
		}
		e := g.entry()
		if last == 0 {
			e.setStart(v.g.Type, next)
		} else if err := v.t.set(last, next); err != nil {
			return err
		}
		e.setSize(uint32(done + v.g.ClusterSize()))
		g.file.changed()
		if err := c.ds.store(g.dir); err != nil {
			return err
		}
		if err := naiveCount(v, next); err != nil {
			return err
		}
		last = next
	}
	return nil
}

func naiveCount(v *volume, next uint32) error {
	f := make(fsInfo, bootSectorLen)
	if _, err := v.d.ReadAt(f, v.fsinfo); err != nil {
		return err
	}
	f.put32(offFSIFree, f.free()-1)
	f.put32(offFSINext, next)
	_, err := v.d.WriteAt(f, v.fsinfo)
	return err
}

// fullFAT is a volume of n clusters whose FAT is data everywhere: runs in use
// and free ones in turn.
func fullFAT(b *testing.B, n int64) (*dev.Mem, *Geometry) {
	b.Helper()
	m := formatted(b, "fat32", n*4096+n/128*512*8+1<<20, 4096)
	_, g, err := readBoot(m)
	if err != nil {
		b.Fatal(err)
	}
	p := make([]byte, 1<<20)
	for i := 0; i < len(p); i += 4 {
		if i/4%100 < 60 {
			binary.LittleEndian.PutUint32(p[i:], entryLast)
		}
	}
	for off := int64(0); off < g.entryBytes(); off += int64(len(p)) {
		if _, err := m.WriteAt(p[:min(int64(len(p)), g.entryBytes()-off)], g.FatOff(0)+off); err != nil {
			b.Fatal(err)
		}
	}
	return m, g
}

// BenchmarkLoadMap loads the map of 2^24 clusters (64 MiB of FAT) in windows.
func BenchmarkLoadMap(b *testing.B) {
	m, g := fullFAT(b, 1<<24)
	b.SetBytes(g.entryBytes())
	for b.Loop() {
		if _, _, err := loadMap(context.Background(), m, g, 0, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoadMapBySector reads the same FAT sector by sector.
func BenchmarkLoadMapBySector(b *testing.B) {
	m, g := fullFAT(b, 1<<24)
	b.SetBytes(g.entryBytes())
	for b.Loop() {
		used := make([]uint64, g.Clusters/64+1)
		p := make([]byte, 512)
		for c := uint32(0); c < g.Clusters; {
			if _, err := m.ReadAt(p, g.FatOff(0)+int64(c)*4); err != nil {
				b.Fatal(err)
			}
			for i := 0; i < len(p) && c < g.Clusters; i, c = i+4, c+1 {
				if binary.LittleEndian.Uint32(p[i:])&entryMask != 0 {
					used[c/64] |= 1 << (c % 64)
				}
			}
		}
	}
}

// BenchmarkLoadMapSparse loads the map of a fresh volume of 2^28 clusters.
func BenchmarkLoadMapSparse(b *testing.B) {
	m := formatted(b, "fat32", 1<<40, 4096)
	_, g, err := readBoot(m)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := loadMap(context.Background(), m, g, 0, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPreallocManifest makes 60000 files of one cluster each, in three
// directories, with long names: what a manifest asks for.
func BenchmarkPreallocManifest(b *testing.B) {
	m := formatted(b, "fat32", 1<<30, 4096)
	r := vol.PreallocRequest{Create: true, FillZero: true}
	for i := range 60000 {
		r.Files = append(r.Files, vol.PreallocFile{Path: fmt.Sprintf("dir%d/some image %05d.jpeg", i%3, i), Length: 4000})
	}
	for b.Loop() {
		tx, v := begun(b, m)
		if _, err := v.Preallocate(context.Background(), r); err != nil {
			b.Fatal(err)
		}
		tx.Rollback()
	}
}
