package fat

import (
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/space"
)

// chainFault is an entry whose chain and size do not fit together.
type chainFault struct {
	slug  string
	ref   entryRef
	root  bool // it is the root directory, which has no entry
	name  string
	isDir bool
	start uint32 // as the entry has it
	size  uint32
	need  uint32 // clusters that the size takes
	n     uint32 // sound clusters of the chain
	last  uint32 // the last of them, 0 for none
	at    uint32 // the cluster or value that ended it, 0 where it ended well
	free  uint32 // that cluster, where it is marked as free
}

// endKind says how a chain ends.
type endKind int

const (
	endEOC endKind = iota
	endOutOfRange
	endFree
	endBad
	endLoop
	endShared
)

// chain is what claiming one found.
type chain struct {
	n     uint32 // sound clusters
	last  uint32 // the last of them
	frags uint32 // extents
	end   endKind
	at    uint32 // the cluster or value at which it ended
}

// claim follows the chain from start and marks its clusters. It stops before
// a cluster that is not sound or not free to be claimed, so it always ends.
// With each set, it is called for each extent.
func (w *walk) claim(start uint32, each func(space.Extent)) (chain, error) {
	var ch chain
	run := space.Extent{}
	flush := func() {
		if run.Len > 0 {
			ch.frags++
			if each != nil {
				each(run)
			}
		}
	}
	for c := start; ; {
		ch.at = c
		if !w.c.g.Valid(c) {
			ch.end = endOutOfRange
			break
		}
		v, err := w.tab.get(c)
		if err != nil {
			return ch, err
		}
		if v == entryFree {
			ch.end = endFree
			break
		}
		if v == entryBad {
			ch.end = endBad
			break
		}
		if !w.claimed.SetNew(c - firstCluster) {
			ch.end = endShared
			break
		}
		if run.Len > 0 && c == run.Start+run.Len {
			run.Len++
		} else {
			flush()
			run = space.Extent{Start: c, Len: 1}
		}
		ch.n, ch.last = ch.n+1, c
		if isEOC(v) {
			ch.end = endEOC
			break
		}
		if c = v; c == run.Start+run.Len {
			n, err := w.claimOn(c)
			if err != nil {
				return ch, err
			}
			if n > 0 {
				c, run.Len, ch.n, ch.last = c+n, run.Len+n, ch.n+n, c+n-1
			}
		}
	}
	flush()
	if ch.end == endShared && ch.n > 0 {
		return w.loopOrShared(start, ch)
	}
	return ch, nil
}

// claimOn claims clusters from c on as long as each leads to the one behind it,
// which is what most chains are, and returns how many those are. It looks no
// further than what is at hand of the FAT, and leaves whatever is not so plain to
// its caller.
func (w *walk) claimOn(c uint32) (uint32, error) {
	if w.c.g.Type != FAT32 || !w.c.g.Valid(c) {
		return 0, nil
	}
	b, err := w.tab.win.Rest(int64(c) * 4)
	if err != nil {
		return 0, err
	}
	b = b[:min(len(b)/4, int(w.c.g.Last()-c)+1)*4]
	n := uint32(0)
	for ; len(b) >= 4; n, b = n+1, b[4:] {
		if binary.LittleEndian.Uint32(b)&entryMask != c+n+1 || !w.claimed.SetNew(c+n-firstCluster) {
			break
		}
	}
	return n, nil
}

// loopOrShared tells a chain that came back to itself from one that ran into
// another.
func (w *walk) loopOrShared(start uint32, ch chain) (chain, error) {
	c := start
	for i := uint32(0); i < ch.n; i++ {
		if c == ch.at {
			ch.end = endLoop
			return ch, nil
		}
		v, err := w.tab.get(c)
		if err != nil {
			return ch, err
		}
		c = v
	}
	return ch, nil
}

// slug of the fault that ended the chain.
func (ch chain) slug() string {
	switch ch.end {
	case endFree:
		return "chain-free"
	case endBad:
		return "chain-bad"
	case endLoop:
		return "chain-loop"
	default:
		return "chain-out-of-range"
	}
}
