package dev_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

const benchBytes = 64 << 20

// BenchmarkTxnStage stages 64 MiB of a fresh table front to back.
func BenchmarkTxnStage(b *testing.B) {
	for _, chunk := range []int{64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("sequential/%dK", chunk>>10), func(b *testing.B) {
			p := make([]byte, chunk)
			m := dev.NewMem(benchBytes)
			b.SetBytes(benchBytes)
			b.ReportAllocs()
			for b.Loop() {
				txn := dev.Begin(m)
				for off := int64(0); off < benchBytes; off += int64(chunk) {
					if _, err := txn.WriteAt(p, off); err != nil {
						b.Fatal(err)
					}
				}
				txn.Rollback()
			}
		})
	}
	b.Run("spilled/1024K", func(b *testing.B) {
		p := make([]byte, 1<<20)
		m := dev.NewMem(benchBytes)
		b.SetBytes(benchBytes)
		for b.Loop() {
			txn := dev.Begin(m)
			txn.SpillAfter(8 << 20)
			for off := int64(0); off < benchBytes; off += int64(len(p)) {
				if _, err := txn.WriteAt(p, off); err != nil {
					b.Fatal(err)
				}
			}
			txn.Rollback()
		}
	})
	for _, pages := range []int64{4096, 1 << 20} {
		b.Run(fmt.Sprintf("random4/%dpages", pages), func(b *testing.B) {
			txn := dev.Begin(dev.NewMem(pages * 4096))
			rnd := rand.New(rand.NewPCG(1, 2))
			p := []byte{1, 2, 3, 4}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := txn.WriteAt(p, rnd.Int64N(pages*1024)*4); err != nil {
					b.Fatal(err)
				}
			}
			txn.Rollback()
		})
	}
}

// BenchmarkTxnRead reads what is staged in pieces of a table entry.
func BenchmarkTxnRead(b *testing.B) {
	txn := dev.Begin(dev.NewMem(benchBytes))
	p := make([]byte, 1<<20)
	for off := int64(0); off < benchBytes; off += 2 << 20 {
		if _, err := txn.WriteAt(p, off); err != nil {
			b.Fatal(err)
		}
	}
	for _, n := range []int{4, 4096, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			rnd := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				if _, err := txn.ReadAt(p[:n], rnd.Int64N((benchBytes-int64(n))/4)*4); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTxnCommit commits 64 MiB with an undo log, to a file: over a hole,
// over data, and as pages all over the image.
func BenchmarkTxnCommit(b *testing.B) {
	fillIt := func(d dev.Device, off int64, x byte) {
		p := make([]byte, 1<<20)
		for i := range p {
			p[i] = x
		}
		for ; off < benchBytes; off += int64(len(p)) {
			if _, err := d.WriteAt(p, off); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, kind := range []string{"hole", "data", "random4"} {
		b.Run(kind, func(b *testing.B) {
			dir := b.TempDir()
			var total int64
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				f, err := dev.OpenFile(filepath.Join(dir, fmt.Sprint(i)), dev.OpenOptions{Write: true, Create: true, Size: benchBytes})
				if err != nil {
					b.Fatal(err)
				}
				if kind != "hole" {
					fillIt(f, 0, 1)
				}
				txn := dev.Begin(f)
				if kind == "random4" {
					rnd := rand.New(rand.NewPCG(1, 2))
					for range 4096 {
						if _, err := txn.WriteAt([]byte{9, 9, 9, 9}, rnd.Int64N(benchBytes-4)); err != nil {
							b.Fatal(err)
						}
					}
				} else {
					fillIt(txn, 0, byte(i)|2)
				}
				b.StartTimer()
				stats, err := txn.Commit(context.Background(), dev.CommitOptions{Undo: dev.FileJournal(filepath.Join(dir, "undo"))})
				if err != nil {
					b.Fatal(err)
				}
				total += stats.BytesWritten
				b.StopTimer()
				_ = f.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(total)/1e6/b.Elapsed().Seconds(), "MB/s")
		})
	}
}
