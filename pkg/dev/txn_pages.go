package dev

import (
	"errors"
	"os"
)

const (
	txnPage   = 4096            // bytes of a staged page
	slabPages = 256             // pages of a slab
	slabBytes = slabPages << 12 // 1 MiB
)

// slot is the place of a page in an arena: slab and page in it.
type slot uint32

func (s slot) slab() int     { return int(s / slabPages) }
func (s slot) index() int    { return int(s % slabPages) }
func (s slot) offset() int64 { return int64(s) * txnPage }

// arena holds pages in slabs of 1 MiB, so that staging costs the collector one
// object a megabyte. Beyond limit bytes the oldest slabs move to a temporary
// file, at the offset they would have were the arena one array, and stay
// there: what is read or written in them afterwards goes to the file, whose
// pages the system caches and can drop.
type arena struct {
	slabs    [][]byte // nil: spilled
	next     slot     // the first one never handed out
	free     []slot
	limit    int64
	resident int64 // bytes of slabs in memory
	oldest   int   // no slab before this one is in memory
	file     *os.File
	named    bool   // the file still has its name and must be removed
	chunk    []byte // what slabs are cut from, once there are many
}

// Slabs beyond the first few are cut from chunks, for which large pages are asked
// for: else the system makes a fault of each 4 KiB that is staged.
const (
	chunkAfter = 4 << 20
	chunkBytes = 8 << 20
)

// alloc hands out a page whose contents are arbitrary. It fails only if the
// temporary file does.
func (a *arena) alloc() (slot, error) {
	if n := len(a.free); n > 0 {
		s := a.free[n-1]
		a.free = a.free[:n-1]
		return s, nil
	}
	if a.next.slab() == len(a.slabs) {
		mem, err := a.slab()
		if err != nil {
			return 0, err
		}
		a.slabs = append(a.slabs, mem)
	}
	a.next++
	return a.next - 1, nil
}

// release takes a page back.
func (a *arena) release(s slot) { a.free = append(a.free, s) }

// slab is memory for a new slab: fresh, or that of the oldest one in memory
// once that is in the file.
func (a *arena) slab() ([]byte, error) {
	if a.resident+slabBytes <= max(a.limit, slabBytes) {
		a.resident += slabBytes
		return a.fresh(), nil
	}
	for a.slabs[a.oldest] == nil {
		a.oldest++
	}
	if err := a.open(); err != nil {
		return nil, err
	}
	mem := a.slabs[a.oldest]
	if _, err := a.file.WriteAt(mem, int64(a.oldest)*slabBytes); err != nil {
		return nil, &Error{Op: "stage", Path: a.file.Name(), Err: err}
	}
	a.slabs[a.oldest] = nil
	return mem, nil
}

// fresh is memory for a slab.
func (a *arena) fresh() []byte {
	if a.resident <= chunkAfter {
		return make([]byte, slabBytes)
	}
	if len(a.chunk) == 0 {
		a.chunk = MakeLarge[byte](chunkBytes)[:chunkBytes]
	}
	mem := a.chunk[:slabBytes:slabBytes]
	a.chunk = a.chunk[slabBytes:]
	return mem
}

// open makes the temporary file, without a name where the system can do that,
// so that nothing is left of it whatever becomes of the process.
func (a *arena) open() error {
	if a.file != nil {
		return nil
	}
	f, err := os.CreateTemp("", "fatkit-stage-*")
	if err != nil {
		return &Error{Op: "stage", Err: err}
	}
	a.file, a.named = f, os.Remove(f.Name()) != nil
	return nil
}

// mem is the memory of n pages from s on, all in one slab; nil when spilled.
func (a *arena) mem(s slot, n int) []byte {
	slab := a.slabs[s.slab()]
	if slab == nil {
		return nil
	}
	at := s.index() * txnPage
	return slab[at : at+n*txnPage]
}

// read fills p from byte at of the pages from s on; all in one slab.
func (a *arena) read(p []byte, s slot, at int) error {
	if slab := a.slabs[s.slab()]; slab != nil {
		copy(p, slab[s.index()*txnPage+at:])
		return nil
	}
	if _, err := a.file.ReadAt(p, s.offset()+int64(at)); err != nil {
		return &Error{Op: "read staged pages", Path: a.file.Name(), Err: err}
	}
	return nil
}

// write puts p at byte at of page s.
func (a *arena) write(p []byte, s slot, at int) error {
	if slab := a.slabs[s.slab()]; slab != nil {
		copy(slab[s.index()*txnPage+at:], p)
		return nil
	}
	if _, err := a.file.WriteAt(p, s.offset()+int64(at)); err != nil {
		return &Error{Op: "stage", Path: a.file.Name(), Err: err}
	}
	return nil
}

// reset drops all pages and the temporary file.
func (a *arena) reset() error {
	var err error
	if a.file != nil {
		err = a.file.Close()
		if a.named {
			err = errors.Join(err, os.Remove(a.file.Name()))
		}
	}
	*a = arena{limit: a.limit}
	return err
}
