package lfs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// TestRecoveryEnds: the log of synced nodes ends where it ends: at a node of
// another version, at a successor that cannot be, at one that was there, and at
// the end of the device.
func TestRecoveryEnds(t *testing.T) {
	next := func(l *lab, i, to uint32) {
		l.edit(l.next[warmNode]+i, func(b []byte) { nodeBlock(b).put32(len(b)-footerNext, to) })
	}
	for name, c := range map[string]struct {
		do    func(l *lab)
		nodes uint32
		loops bool
	}{
		"none": {func(*lab) {}, 0, false},
		"four": {func(l *lab) { l.sync(newAddr, 4) }, 4, false},
		"older version": {func(l *lab) {
			l.sync(newAddr, 4)
			l.edit(l.next[warmNode]+2, func(b []byte) { b[len(b)-footerCPVer]-- })
		}, 2, false},
		"successor 0":   {func(l *lab) { l.sync(newAddr, 4); next(l, 1, 0) }, 2, false},
		"beyond":        {func(l *lab) { l.sync(newAddr, 4); next(l, 1, 0xFFFFFFFF) }, 2, false},
		"metadata":      {func(l *lab) { l.sync(newAddr, 4); next(l, 1, 5) }, 2, false},
		"itself":        {func(l *lab) { l.sync(newAddr, 4); next(l, 1, l.next[warmNode]+1) }, 2, true},
		"the first":     {func(l *lab) { l.sync(newAddr, 4); next(l, 3, l.next[warmNode]) }, 4, true},
		"another place": {func(l *lab) { l.sync(newAddr, 4); next(l, 0, l.next[warmNode]+2) }, 3, false},
		"disabled":      {func(l *lab) { l.sync(newAddr, 4); l.put32(cpFlags, cpUmount|cpDisabled) }, 0, false},
		"no log":        {func(l *lab) { l.sync(newAddr, 4); l.put32(cpNodeSegments+4, 1<<30) }, 0, false},
	} {
		l := newLab(t, "")
		c.do(l)
		rec, err := readRecovery(t.Context(), l.d, l.g, stateOf(t, l.d))
		if err != nil || rec.nodes != c.nodes || rec.loops != c.loops || (rec.why() != "") != c.loops {
			t.Errorf("%s: %d nodes, %q, %v; should be %d", name, rec.nodes, rec.why(), err, c.nodes)
		}
	}
}

// TestStopRecovery: a long log can be left half way.
func TestStopRecovery(t *testing.T) {
	l := newLab(t, "")
	l.sync(newAddr, 4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := readRecovery(ctx, l.d, l.g, stateOf(t, l.d)); !errors.Is(err, context.Canceled) {
		t.Errorf("it says %v", err)
	}
}

// TestHoleLog: a log that fills holes writes where there is one, whatever
// follows; one that appends needs all that follows.
func TestHoleLog(t *testing.T) {
	l := newLab(t, "")
	segno := l.logSegment(warmData)
	for alloc, want := range map[byte]int{allocLFS: 1, allocSSR: 0} {
		s := stateOf(t, l.d)
		tabs, _, err := s.loadTables(t.Context(), l.d, 0)
		l.must(err)
		s.cp[cpAllocTypes+warmData] = alloc
		last := segno*segmentBlocks + segmentBlocks - 1
		tabs.sit.valid.SetNew(last)
		if fs := s.usedLogs(tabs.sit); len(fs) != want {
			t.Errorf("a log of kind %d: %+v", alloc, fs)
		}
	}
}

// TestRecoveryPointers: what is not a pointer is not taken for one: extra and
// extended attributes, inline data, numbers of devices.
func TestRecoveryPointers(t *testing.T) {
	for _, features := range []string{"", labFeatures} {
		l := newLab(t, features)
		for _, x := range l.all[1:] {
			b := append(nodeBlock{}, l.read(x.addr)...)
			rec := &recovery{segments: space.NewMap(l.g.MainSegments)}
			rec.takePointers(l.g, b, x.addr)
			if rec.badAddr != 0 {
				t.Errorf("%s: %s", x.path(), rec.why())
			}
		}
	}
}

// TestReadErrors: what cannot be read is an error, or noted of a copy, and nothing
// is found in it.
func TestReadErrors(t *testing.T) {
	l := newLab(t, labFeatures)
	l.sync(newAddr, 3)
	trace := devtest.NewTrace(l.d)
	checked(t, trace)
	reads := 0
	for _, o := range trace.Ops() {
		if o.Kind == devtest.Read {
			reads++
		}
	}
	for nth := 1; nth <= reads; nth++ {
		fault := devtest.NewFault(l.d)
		broken := errors.New("broken")
		fault.Once(devtest.Read, nth, broken)
		res, err := vol.Fsck(t.Context(), fault, Driver(), vol.CheckOptions{}, nil, nil)
		if err == nil && strings.Contains(strings.Join(found(res), "\n"), "it cannot be read: ") {
			continue // the other copy was used
		}
		if !errors.Is(err, broken) && fault.Hits() > 0 {
			t.Errorf("read %d of %d fails, and the check says %v", nth, reads, err)
		}
	}
}
