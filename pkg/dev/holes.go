package dev

import "sync"

// holeCache remembers the last answer of NextData, because those who walk
// holes ask for one range many times and every question is two system calls.
// The zero value remembers nothing.
type holeCache struct {
	mu   sync.Mutex
	gen  uint64 // counts changes: an answer found across one is not kept
	ok   bool
	from int64 // from..data.Off is a hole
	data Range // Len 0: nothing but a hole up to data.Off
}

// get is the answer for off if it follows from the last one. gen is for put.
func (c *holeCache) get(off int64) (r Range, gen uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.ok || off < c.from || off >= c.data.End():
		return Range{}, c.gen, false
	case off <= c.data.Off:
		return c.data, c.gen, true
	}
	return Range{Off: off, Len: c.data.End() - off}, c.gen, true
}

// put keeps the answer r for off, unless there were changes since gen.
func (c *holeCache) put(gen uint64, off int64, r Range) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gen == gen {
		c.ok, c.from, c.data = true, off, r
	}
}

// wrote takes note that r was written: what was a hole may be data. Data that
// was written over is still data.
func (c *holeCache) wrote(r Range) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gen++
	hole := Range{Off: c.from, Len: c.data.Off - c.from}
	if !r.Intersect(hole).Empty() {
		c.ok = false
	}
}

// zeroed takes note that r was zeroed: what was data may be a hole.
func (c *holeCache) zeroed(r Range) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gen++
	if !r.Intersect(Range{Off: c.from, Len: c.data.End() - c.from}).Empty() {
		c.ok = false
	}
}
