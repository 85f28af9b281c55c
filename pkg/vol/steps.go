package vol

import "github.com/fatkit/fatkit/pkg/dev"

// WipeSteps zero what a device of size bytes is recognised by, see Signatures:
// the first steps of every plan.
func WipeSteps(size int64) []Step {
	var steps []Step
	for _, s := range Signatures(size) {
		steps = append(steps, Step{Phase: Wipe, Range: s})
	}
	return steps
}

// Piece is bytes that go to an offset.
type Piece struct {
	Off  int64
	Data []byte
}

// FillSteps are the body steps for in: the pieces, in rising order, and zeros
// around them.
func FillSteps(in dev.Range, pieces []Piece) []Step {
	var steps []Step
	at := in.Off
	zero := func(to int64) {
		if to > at {
			steps = append(steps, Step{Phase: Body, Range: dev.Range{Off: at, Len: to - at}})
		}
	}
	for _, p := range pieces {
		zero(p.Off)
		r := dev.Range{Off: p.Off, Len: int64(len(p.Data))}
		steps = append(steps, Step{Phase: Body, Range: r, Data: p.Data})
		at = r.End()
	}
	zero(in.End())
	return steps
}

// AppendRegion adds the region that goes from the end of the last one, or from
// 0, to end, unless it would be empty.
func AppendRegion(rs []Region, name string, end int64) []Region {
	at := int64(0)
	if n := len(rs); n > 0 {
		at = rs[n-1].End()
	}
	if end <= at {
		return rs
	}
	return append(rs, Region{Name: name, Range: dev.Range{Off: at, Len: end - at}})
}
