package dev

// NextData merges what is staged with the base's answer: see Device. A staged
// page counts as data whatever it holds.
func (t *Txn) NextData(off int64) Range {
	t.mu.RLock()
	defer t.mu.RUnlock()
	off = max(off, 0)
	if t.spans.empty() {
		return t.base.NextData(off)
	}
	c := t.spans.seek(off / txnPage)
	known := Range{Off: -1} // the base's last answer
	for pos := off; pos < t.size; {
		sp, staged := t.spans.get(c)
		gapEnd := t.size
		if staged {
			gapEnd = sp.first * txnPage
		}
		if pos < gapEnd {
			if known.Off < 0 || known.Len > 0 && known.End() <= pos {
				known = t.base.NextData(pos)
			}
			if from := max(pos, known.Off); known.Len > 0 && from < gapEnd {
				return t.extend(Range{from, known.End() - from}, c)
			}
		}
		if !staged {
			break
		}
		end := t.bytes(sp.first, sp.end).End()
		c = t.spans.next(c)
		if pos = max(pos, gapEnd); !sp.zero {
			return t.extend(Range{pos, end - pos}, c)
		}
		pos = end
	}
	return Range{Off: max(off, t.size)}
}

// extend lengthens r by the staged pages from c on that continue it and ends
// it at the first staged zeros.
func (t *Txn) extend(r Range, c cursor) Range {
	for sp, ok := t.spans.get(c); ok && sp.first*txnPage <= r.End(); sp, ok = t.spans.get(c) {
		if sp.zero {
			return Range{r.Off, sp.first*txnPage - r.Off}
		}
		r.Len = max(r.End(), t.bytes(sp.first, sp.end).End()) - r.Off
		c = t.spans.next(c)
	}
	return r
}

// Dirty reports whether anything is staged.
func (t *Txn) Dirty() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return !t.spans.empty()
}

// DirtyRanges is what is staged, in bytes, sorted and merged, in whole pages.
// Commit writes no more than that, and less where the base holds the same.
func (t *Txn) DirtyRanges() []Range {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var rs []Range
	for c := (cursor{}); ; c = t.spans.next(c) {
		sp, ok := t.spans.get(c)
		if !ok {
			return rs
		}
		r := t.bytes(sp.first, sp.end)
		if n := len(rs); n > 0 && rs[n-1].End() == r.Off {
			rs[n-1].Len += r.Len
			continue
		}
		rs = append(rs, r)
	}
}

// DirtyBytes is the length of all DirtyRanges together.
func (t *Txn) DirtyBytes() int64 {
	var n int64
	for _, r := range t.DirtyRanges() {
		n += r.Len
	}
	return n
}

// Staged tells whether the page that byte off is in is staged: a commit writes
// all of it.
func (t *Txn) Staged(off int64) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, ok := t.spans.at(off / txnPage)
	return ok
}
