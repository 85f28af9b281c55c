package dev

import (
	"errors"
	"io"
)

const (
	zeroBuffer = 1 << 20   // bytes of zeros written at a time
	hostBlock  = 4 << 10   // below this much a hole frees nothing
	zeroStep   = 128 << 20 // bytes a device is told to zero in one call, which nothing interrupts
	maxAdvice  = 64 << 20  // bytes of advice taken in one call
)

// ReadAt fills p from off. An error names the bytes that could not be read. A
// file that has become shorter since it was opened is io.ErrUnexpectedEOF.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	r := Range{Off: off, Len: int64(len(p))}
	if err := f.check("read", r, false); err != nil {
		return 0, err
	}
	n, err := f.f.ReadAt(p, off)
	f.read.Add(int64(n))
	if n == len(p) {
		return n, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, wrap("read", f.path, rest(r, n), err)
}

// WriteAt writes p at off. An error names the bytes that were not written.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	r := Range{Off: off, Len: int64(len(p))}
	if err := f.check("write", r, true); err != nil {
		return 0, err
	}
	n, err := f.f.WriteAt(p, off)
	f.holes.wrote(r)
	if err != nil {
		return n, wrap("write", f.path, rest(r, n), err)
	}
	if n >= startWriting && !f.lazy {
		startWrite(f.f, r)
	}
	return n, nil
}

// startWriting is how many bytes at once the system is told to write out at once
// too, while more are made: of a large change little is left for Sync to wait for.
const startWriting = 512 << 10

// rest is r without its first n bytes.
func rest(r Range, n int) Range { return Range{Off: r.Off + int64(n), Len: r.Len - int64(n)} }

// NextData asks the file system below for its holes. A block device has none
// that it would tell of.
func (f *File) NextData(off int64) Range {
	off = max(off, 0)
	if off >= f.size {
		return Range{Off: f.size}
	}
	all := Range{Off: off, Len: f.size - off}
	if f.block {
		return all
	}
	r, gen, ok := f.holes.get(off)
	if ok {
		return r
	}
	if r, ok = seekData(f.f, off, f.size); !ok {
		return all
	}
	f.holes.put(gen, off, r)
	return r
}

// Readahead tells the system to fetch r. Linux cuts one advice off at the
// larger of ra_pages and io_pages, hence the steps.
//
// Of an image file, long pieces that follow one another are left to the page
// cache once the first is on its way: it notices, reads ahead as far as the disk
// below says, and takes large folios for that, which it does not for an advice.
// A cold mount-scan of a bitmap of 256 MiB takes a quarter less time like this.
func (f *File) Readahead(r Range) {
	r = r.Intersect(Range{Len: f.size})
	follows := f.ahead.Swap(r.End()) == r.Off && r.Off > 0
	if follows && !f.block && r.Len >= fileReadahead {
		return
	}
	for r.Len = min(r.Len, maxAdvice); !r.Empty(); {
		step := min(r.Len, f.advise)
		adviseRead(f.f, Range{Off: r.Off, Len: step})
		r.Off, r.Len = r.Off+step, r.Len-step
	}
}

// Zero makes r read as zeros. Of a file it punches out what is data, so that
// sparse images stay sparse; a device zeroes by itself if it can.
func (f *File) Zero(r Range) error {
	if err := f.check("zero", r, true); err != nil {
		return err
	}
	if !f.block && !f.noPunch.Load() {
		done, err := f.punchData(r)
		if done || err != nil {
			return err
		}
	}
	return f.zeroData(r)
}

// ZeroKeep makes r read as zeros and gives none of the space below back. Holes
// that are there already stay holes.
func (f *File) ZeroKeep(r Range) error {
	if err := f.check("zero", r, true); err != nil {
		return err
	}
	return f.zeroData(r)
}

// punchData makes one hole from the first data of r to its end; done is false
// where the file system below cannot.
func (f *File) punchData(r Range) (done bool, err error) {
	data := f.NextData(r.Off).Intersect(r)
	if data.Empty() {
		return true, nil
	}
	r = Range{Off: data.Off, Len: r.End() - data.Off}
	if r.Len < hostBlock {
		// It would free nothing, and punching waits for what is being
		// written back where a write need not.
		return false, nil
	}
	err = punch(f.f, r)
	f.holes.zeroed(r)
	if errors.Is(err, errors.ErrUnsupported) {
		f.noPunch.Store(true)
		return false, nil
	}
	if err != nil {
		return false, wrap("zero", f.path, r, err)
	}
	return true, nil
}

// zeroData zeroes the parts of r that are data, where they lie.
func (f *File) zeroData(r Range) error {
	for !r.Empty() {
		data := f.NextData(r.Off).Intersect(r)
		if data.Empty() {
			return nil
		}
		if err := f.zeroPlace(data); err != nil {
			return err
		}
		r = Range{Off: data.End(), Len: r.End() - data.End()}
	}
	return nil
}

// zeroPlace zeroes r: its whole sectors by asking the system, where that can,
// and the edges by writing. r is not empty.
func (f *File) zeroPlace(r Range) error {
	unit, ask := int64(hostBlock), zeroRange
	if f.block {
		unit, ask = int64(f.lim.LogicalSector), zeroBlocks
	}
	whole := within(r, unit)
	if whole.Empty() || f.noZero.Load() {
		return f.writeZeros(r)
	}
	for left := whole; !left.Empty(); {
		step := Range{Off: left.Off, Len: min(zeroStep, left.Len)}
		left = Range{Off: step.End(), Len: left.Len - step.Len}
		err := ask(f.f, step)
		f.holes.zeroed(step)
		if errors.Is(err, errors.ErrUnsupported) {
			f.noZero.Store(true)
			return f.writeZeros(r)
		}
		if err != nil {
			return wrap("zero", f.path, step, err)
		}
	}
	if err := f.writeZeros(Range{Off: r.Off, Len: whole.Off - r.Off}); err != nil {
		return err
	}
	return f.writeZeros(Range{Off: whole.End(), Len: r.End() - whole.End()})
}

// writeZeros writes zeros over r.
func (f *File) writeZeros(r Range) error {
	err := WriteZeros(f, r)
	f.holes.zeroed(r)
	return err
}

// Discard gives the space below r back: a hole in a file, a BLKDISCARD of the
// whole sectors of a device. Where that is not possible nothing happens.
func (f *File) Discard(r Range) error {
	if err := f.check("discard", r, true); err != nil {
		return err
	}
	ask := punch
	if f.block {
		r, ask = within(r, int64(f.lim.LogicalSector)), discardBlocks
	}
	if r.Empty() {
		return nil
	}
	err := ask(f.f, r)
	f.holes.zeroed(r)
	if errors.Is(err, errors.ErrUnsupported) {
		if !f.block {
			f.noPunch.Store(true) // Limits says from now on that there are no holes
		}
		return nil
	}
	if err != nil {
		return wrap("discard", f.path, r, err)
	}
	return nil
}

// within is the largest part of r that begins and ends at multiples of unit;
// it is empty where there is none.
func within(r Range, unit int64) Range {
	skip := (unit - r.Off%unit) % unit // to be added only inside r, as an offset may be the largest there is
	if skip >= r.Len {
		return Range{Off: r.Off}
	}
	return Range{Off: r.Off + skip, Len: (r.Len - skip) / unit * unit}
}

// WriteZeros writes zeros over r of d, whatever is there: the way that always
// works. Errors are those of d.WriteAt.
func WriteZeros(d Device, r Range) error {
	if err := CheckRange("zero", r, d.Size()); err != nil {
		return err
	}
	p := make([]byte, min(r.Len, zeroBuffer))
	for !r.Empty() {
		n := min(int64(len(p)), r.Len)
		if _, err := d.WriteAt(p[:n], r.Off); err != nil {
			return err
		}
		r = Range{Off: r.Off + n, Len: r.Len - n}
	}
	return nil
}

// ZeroKeep makes r of d read as zeros without giving space below back, for
// devices that know the difference (File, sections of it); to others zeros
// are written. Errors are those of d.
func ZeroKeep(d Device, r Range) error {
	if k, ok := d.(interface{ ZeroKeep(Range) error }); ok {
		return k.ZeroKeep(r)
	}
	return WriteZeros(d, r)
}
