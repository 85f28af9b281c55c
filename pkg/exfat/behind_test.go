package exfat

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// bareLab is a volume without files, to be filled by the thousand.
func bareLab(t testing.TB, size int64) *lab {
	t.Helper()
	l := &lab{t: t, m: formatted(t, size, 512), known: map[string]string{}}
	r, err := newReader(l.m)
	must(t, err)
	l.reader = r
	for l.next = 2; l.marked(l.next); {
		l.next++
	}
	return l
}

// write puts sets one after the other into clusters.
func (l *lab) write(cs []uint32, from int64, sets []byte) {
	b := append(make([]byte, from), sets...)
	for i, c := range cs {
		if part := b[min(int64(len(b)), int64(i)*l.cluster):min(int64(len(b)), int64(i+1)*l.cluster)]; len(part) > 0 {
			l.put(l.offset(c), part...)
		}
	}
}

// soon runs a check, which must end in reasonable time. The limit is no measure: what
// it is there for takes minutes.
func soon(t *testing.T, l *lab, decide vol.Decider) map[string]int {
	t.Helper()
	start := time.Now()
	res, err := vol.Fsck(context.Background(), l.m, Driver(), vol.CheckOptions{}, decide, nil)
	must(t, err)
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("the check took %v", d)
	}
	n := map[string]int{}
	for _, o := range res.Outcomes {
		n[o.Slug]++
	}
	return n
}

// TestManyBehindEnd: of thousands of sets behind an end mark that lead into one long
// chain, at its start or anywhere in it, the chain is not gone through for each.
func TestManyBehindEnd(t *testing.T) {
	const sets, links = 4000, 100_000
	for name, step := range map[string]int{"one chain": 0, "its tails": 7} {
		t.Run(name, func(t *testing.T) {
			l := bareLab(t, 128<<20)
			dir := l.run(sets*3/int(l.cluster/entryLen) + 2)
			l.dir("/D", dir, noFat)
			cs := l.every(links, 2)
			l.own(cs, 0)
			var b []byte
			for i := range sets {
				b = append(b, newSetOf(fmt.Sprintf("/%d", i), 0x20, 0, cs[i*step:], uint64(len(cs)-i*step)*uint64(l.cluster), 0)...)
			}
			l.write(dir, 3*entryLen, b)
			l.count()
			if got := soon(t, l, nil); got["after-end"] != 1 {
				t.Errorf("found %v", got)
			}
		})
	}
}

// TestManyIntoDirectory: of a long directory into which thousands of others run each
// cluster is looked at once for an end mark.
func TestManyIntoDirectory(t *testing.T) {
	const clusters, losers, tail = 30000, 6000, 12
	l := bareLab(t, 64<<20)
	big, los := l.run(clusters), l.run(losers*3/int(l.cluster/entryLen)+1)
	for path, cs := range map[string][]uint32{"/BIG": big, "/LOS": los} {
		l.own(cs, 0)
		n := uint64(len(cs)) * uint64(l.cluster)
		l.append(l.rootNode(), newSetOf(path, 0x10, 0, cs, n, n))
	}
	var b []byte
	for i := range clusters * int(l.cluster/entryLen) / 3 {
		b = append(b, newSetOf(fmt.Sprintf("/F%06d", i), 0x20, 0, nil, 0, 0)...)
	}
	l.write(big, 0, b)
	b = b[:0]
	for i := range losers { // a set begins with the cluster where the tail does
		b = append(b, newSetOf(fmt.Sprintf("/L%06d", i), 0x10, 0, big[clusters-tail:], uint64(tail*l.cluster), uint64(tail*l.cluster))...)
	}
	l.write(los, 0, b)
	l.count()
	if got := soon(t, l, nil); got["cross-linked"] != losers {
		t.Errorf("found %v", got)
	}
}

// TestMissedNear holds it against a look at all runs.
func TestMissedNear(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	c := &checker{g: &Geometry{SectorSize: 512, Clusters: 1<<32 - 11}}
	near := map[bool]int{}
	for range 200 {
		c.missed.runs = nil
		for at := uint64(firstCluster) + rnd.Uint64N(9000); at < 60_000; {
			e := space.Extent{Start: uint32(at), Len: 1 + rnd.Uint32N(3000)}
			c.missed.runs = append(c.missed.runs, e)
			at = e.End() + 1 + rnd.Uint64N(20_000)
		}
		for range 200 {
			cl := firstCluster + rnd.Uint32N(70_000)
			sector := (cl - firstCluster) / 4096
			want := slices.ContainsFunc(c.missed.runs, func(e space.Extent) bool {
				return (e.Start-firstCluster)/4096 <= sector && (e.Start+e.Len-1-firstCluster)/4096 >= sector
			})
			if near[want]++; c.missedNear(cl) != want {
				t.Fatalf("cluster %d: not %v of %v", cl, want, c.missed.runs)
			}
		}
	}
	if near[true] == 0 || near[false] == 0 {
		t.Errorf("tried %v", near)
	}
	c.missed.runs = []space.Extent{{Start: 1<<32 - 20, Len: 11}}
	if !c.missedNear(1<<32-10) || c.missedNear(2) {
		t.Error("the last sector")
	}
}
