package dev

import "bytes"

// diff compares what is staged with the base, keeps in the log what the base
// holds where they differ, and plans to write just that. Holes of the base
// are not read.
func (c *commit) diff() error {
	for cu := (cursor{}); ; cu = c.t.spans.next(cu) {
		sp, ok := c.t.spans.get(cu)
		if !ok {
			return nil
		}
		for at := sp.first; at < sp.end; {
			if err := cancelled(c.ctx, "commit"); err != nil {
				return err
			}
			end, err := c.diffPiece(sp, at)
			if err != nil {
				return err
			}
			if c.undo != nil {
				c.progress(c.t.bytes(at, end).Len)
			}
			at = end
		}
	}
}

// diffPiece handles pages of sp from at on, up to the page it returns.
func (c *commit) diffPiece(sp span, at int64) (end int64, err error) {
	dataAt, dataEnd := c.nextData(at, sp.end)
	piece := sp
	piece.first = at
	if at < dataAt { // a hole: zeros over it change nothing
		if sp.zero {
			return dataAt, nil
		}
		piece.end = min(dataAt, at+commitRun)
		return piece.end, c.diffHole(piece)
	}
	piece.end = dataEnd
	if c.undo == nil {
		if sp.zero {
			c.change(piece)
		} else {
			c.changePages(piece, piece.first, piece.end)
		}
		return piece.end, nil
	}
	piece.end = min(dataEnd, at+commitRun)
	r := c.t.bytes(piece.first, piece.end)
	if _, err := c.t.base.ReadAt(c.old[:r.Len], r.Off); err != nil {
		return 0, err
	}
	if sp.zero {
		return piece.end, c.diffZeros(piece)
	}
	return piece.end, c.diffPages(piece)
}

// nextData is the base's first run of pages with data in [at, end), whose
// edges a hole may share.
func (c *commit) nextData(at, end int64) (int64, int64) {
	pos := at * txnPage
	if c.base.Off < 0 || c.base.Len > 0 && c.base.End() <= pos {
		c.base = c.t.base.NextData(pos)
	}
	if c.base.Len <= 0 || c.base.Off >= c.t.bytes(at, end).End() {
		return end, end
	}
	return max(at, c.base.Off/txnPage), min(end, pagesTo(c.base.End()))
}

// diffHole handles staged pages over a hole: at most commitRun of them.
func (c *commit) diffHole(sp span) error {
	return c.eachPage(sp, func(page int64, now []byte) error {
		if AllZero(now) {
			return nil
		}
		c.changePages(sp, page, page+1)
		return c.keep(page, nil, now)
	})
}

// diffPages handles staged pages over the data in c.old.
func (c *commit) diffPages(sp span) error {
	return c.eachPage(sp, func(page int64, now []byte) error {
		old := c.oldPage(sp, page)
		if bytes.Equal(old, now) {
			return nil
		}
		c.changePages(sp, page, page+1)
		return c.keep(page, old, now)
	})
}

// diffZeros handles staged zeros over the data in c.old. Zeros between two
// pages of data are zeroed again, so that one call does for all; that needs no
// undoing.
func (c *commit) diffZeros(sp span) error {
	hull := span{zero: true, epoch: sp.epoch}
	for page := sp.first; page < sp.end; page++ {
		old := c.oldPage(sp, page)
		if AllZero(old) {
			continue
		}
		if hull.end == 0 {
			hull.first = page
		}
		hull.end = page + 1
		if err := c.keep(page, old, c.zeros[:len(old)]); err != nil {
			return err
		}
	}
	if hull.end > 0 {
		c.change(hull)
	}
	return nil
}

// oldPage is a page of c.old, which holds the base's contents of sp.
func (c *commit) oldPage(sp span, page int64) []byte {
	return c.old[(page-sp.first)*txnPage:][:c.t.pageLen(page)]
}

// eachPage calls fn with the contents of every page of sp, at most commitRun.
func (c *commit) eachPage(sp span, fn func(page int64, now []byte) error) error {
	for left := c.t.bytes(sp.first, sp.end); left.Len > 0; {
		now, err := c.t.gather(sp, left, c.new)
		if err != nil {
			return err
		}
		page := left.Off / txnPage
		left = Range{left.Off + int64(len(now)), left.Len - int64(len(now))}
		for ; len(now) > 0; page++ {
			n := c.t.pageLen(page)
			if err := fn(page, now[:n]); err != nil {
				return err
			}
			now = now[n:]
		}
	}
	return nil
}

// keep puts the old contents of page, nil for a hole, into the log.
func (c *commit) keep(page int64, old, now []byte) error {
	if c.undo == nil {
		return nil
	}
	if AllZero(old) {
		old = nil
	}
	return c.undo.keep(page*txnPage, old, now)
}

// changePages plans to write the staged pages [first, end), which are in sp.
func (c *commit) changePages(sp span, first, end int64) {
	if !sp.pages() {
		c.change(sp.part(first, end))
		return
	}
	for page := first; page < end; page++ {
		c.change(span{first: page, end: page + 1, epoch: c.t.pages[page].epoch})
	}
}

// change plans to write sp, which follows all that is planned.
func (c *commit) change(sp span) {
	if n := len(c.plan); n > 0 && c.plan[n-1].end == sp.first && c.plan[n-1].joins(sp) {
		c.plan[n-1].end = sp.end
		return
	}
	c.plan = append(c.plan, sp)
}
