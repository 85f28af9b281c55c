package dev

// Pattern is contents that follow from their place, such as a run of a chain in
// a FAT, in which each entry names the next. What is written as a pattern takes
// no memory in a Txn: it is made when it is read, and when it is committed.
//
// Two patterns that are == give the same bytes, so their dynamic type must be
// comparable.
type Pattern interface {
	// Fill makes p hold what belongs at byte off of the device that the pattern
	// was written to, for any part of what was written.
	Fill(p []byte, off int64)
}

// WritePattern makes r of d hold what the pattern has there. It fails as WriteAt
// does.
func WritePattern(d Device, r Range, pattern Pattern) error {
	if w, ok := d.(interface{ WritePattern(Range, Pattern) error }); ok {
		return w.WritePattern(r, pattern)
	}
	if err := CheckRange("write", r, d.Size()); err != nil {
		return err
	}
	buf := make([]byte, min(r.Len, commitBuf))
	for r.Len > 0 {
		p := buf[:min(r.Len, commitBuf)]
		pattern.Fill(p, r.Off)
		if _, err := d.WriteAt(p, r.Off); err != nil {
			return err
		}
		r = Range{r.Off + int64(len(p)), r.Len - int64(len(p))}
	}
	return nil
}

// WritePattern is for the function of that name.
func (s *section) WritePattern(r Range, pattern Pattern) error {
	at, err := s.at("write", r)
	if err != nil {
		return err
	}
	return WritePattern(s.d, at, shifted{pattern, at.Off - r.Off})
}

// shifted is a pattern of a section, on the device below it.
type shifted struct {
	Pattern
	by int64
}

func (s shifted) Fill(p []byte, off int64) { s.Pattern.Fill(p, off-s.by) }

// WritePattern is for the function of that name: the whole pages in r are staged
// as one span, what is left at its ends as pages.
func (t *Txn) WritePattern(r Range, pattern Pattern) error {
	if err := CheckRange("write", r, t.size); err != nil || r.Empty() {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stageSpan(r, span{pattern: pattern}, func(r Range) error {
		p := make([]byte, r.Len)
		pattern.Fill(p, r.Off)
		_, err := t.stage(p, r.Off)
		return err
	})
}
