package exfat

import (
	"encoding/binary"
	"fmt"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// brokenChain says why a chain of clusters cannot be what it should.
type brokenChain struct{ text string }

func (b *brokenChain) Error() string { return b.text }

func broken(format string, args ...any) error {
	return &brokenChain{fmt.Sprintf(format, args...)}
}

// clustersOf are the clusters of length bytes that begin with first, in runs,
// [exFAT] §6.4: adjacent ones with noFat, else those that the FAT links. A
// *brokenChain tells of anything else than just as many.
func (t *table) clustersOf(first uint32, length uint64, noFat bool) ([]space.Extent, error) {
	n, ok := t.g.ClustersFor(length)
	switch {
	case length == 0:
		return nil, nil
	case !ok || length > 1<<63-1:
		return nil, broken("its length of %d bytes is more than the volume has", length)
	case !t.g.Valid(first):
		return nil, broken("its first cluster is number %d, which cannot be", first)
	case !noFat:
		return t.follow(first, n, n)
	case uint64(first-firstCluster)+uint64(n) > uint64(t.g.Clusters):
		return nil, broken("its %d clusters from %d on leave the volume", n, first)
	}
	return []space.Extent{{Start: first, Len: n}}, nil
}

// follow follows the FAT from cluster c to the end of the chain, and returns
// its clusters in runs. They must be need, unless that is 0, and at most most.
//
// Most chains are a few long runs, and within one each entry names the cluster
// that follows. A chain that comes back to itself is noticed by Brent's
// method: one cluster that it was led to is kept, a later one each time that
// the number of jumps has doubled.
func (t *table) follow(c, need, most uint32) ([]space.Extent, error) {
	var es []space.Extent
	n, mark := uint32(0), uint32(fatEOC)
	jumps, power := 0, 1
	for {
		if !t.g.Valid(c) {
			return nil, broken("after %d clusters its chain leads to number %#x, which cannot be", n, c)
		}
		k, err := t.rising(c, most-n-1)
		if err != nil {
			return nil, err
		}
		if k > 0 {
			es = space.Append(es, space.Extent{Start: c, Len: k})
			n, c = n+k, c+k
			continue
		}
		es = space.Append(es, space.Extent{Start: c, Len: 1})
		next, err := t.get(c)
		switch n++; {
		case err != nil:
			return nil, err
		case next == fatEOC && (n == need || need == 0):
			return es, nil
		case next == fatEOC:
			return nil, broken("its chain has %d clusters, its length takes %d", n, need)
		case n == most && need != 0:
			return nil, broken("its chain goes on after the %d clusters that its length takes", n)
		case n == most:
			return nil, broken("its chain does not end after %d clusters", n)
		case next == mark:
			return nil, broken("its chain comes back to cluster %d", next)
		}
		if jumps++; jumps == power {
			mark, power, jumps = next, 2*power, 0
		}
		c = next
	}
}

// rising is how many of the entries from that of cluster c on, at most n, name
// the cluster that follows. It may stop before the first that does not.
func (t *table) rising(c, n uint32) (uint32, error) {
	off := int64(c) * 4
	b, err := t.win.At(off, int(min(int64(n)*4, dev.WindowLen-off%dev.WindowLen, t.g.EntryBytes()-off)))
	if err != nil {
		return 0, err
	}
	i := uint32(0)
	for ; len(b) >= 4 && binary.LittleEndian.Uint32(b) == c+i+1; b = b[4:] {
		i++
	}
	return i, nil
}

// runsOf appends the clusters from c on, as the FAT links them, to dst, in runs;
// ok is false where they are anything but need clusters and an end mark.
func (t *table) runsOf(c, need uint32, dst []space.Extent) (_ []space.Extent, ok bool, err error) {
	const entries = dev.WindowLen / 4
	loop := space.LoopFinder{}
	var window []byte // of the table, with the entries of clusters from … on
	from := uint32(0)
	for need > 0 && t.g.Valid(c) && !loop.Met(c) {
		if window == nil || c-from >= entries {
			from = c / entries * entries
			if window, err = t.win.Rest(int64(from) * 4); err != nil {
				return dst, false, err
			}
		}
		// Within a run each entry names the cluster that follows. The FAT may have
		// entries behind that of the last cluster.
		n, v, most := uint32(0), c, min(need, t.g.Last()-c+1)
		for b := window[4*(c-from):]; v == c+n && n < most && len(b) >= 4; b = b[4:] {
			v, n = binary.LittleEndian.Uint32(b), n+1
		}
		dst = space.Append(dst, space.Extent{Start: c, Len: n})
		if need -= n; need == 0 {
			return dst, v == fatEOC, nil
		}
		c = v
	}
	return dst, false, nil
}
