package dev

// Windows reads entries of a table that is too large to hold: it keeps the
// parts that were used last, so that a chain that runs on through the table
// stays in one window, and one that jumps comes back to those it left. It is
// not safe for concurrent use.
type Windows struct {
	d    Device
	r    Range
	cur  int64 // number of the window in buf, -1 for none
	buf  []byte
	kept [windowsKept]window
	read int64
}

type window struct {
	no  int64
	buf []byte
}

// WindowLen is the length of a window in bytes. An entry whose length divides
// it, at a multiple of its length, never straddles two.
const (
	WindowLen   = 64 << 10
	windowsKept = 128 // 8 MiB, of which only what is used is there
)

// NewWindows reads the table that lies in r of d.
func NewWindows(d Device, r Range) *Windows {
	w := &Windows{d: d, r: r, cur: -1}
	for i := range w.kept {
		w.kept[i].no = -1
	}
	return w
}

// At is n bytes at offset off of the table. They must lie in one window and
// are good until the next call. What leaves the table is an *Error.
func (w *Windows) At(off int64, n int) ([]byte, error) {
	if no := off / WindowLen; no != w.cur || off < 0 {
		if err := w.load(no, Range{off, int64(n)}); err != nil {
			return nil, err
		}
	}
	at := off % WindowLen
	if at+int64(n) > int64(len(w.buf)) {
		return nil, &Error{Op: "read", Range: Range{w.r.Off + off, int64(n)}, Err: ErrRange}
	}
	return w.buf[at : at+int64(n)], nil
}

// Rest is what follows offset off, inside the table, up to the end of its
// window, good until the next call.
func (w *Windows) Rest(off int64) ([]byte, error) {
	if _, err := w.At(off, 1); err != nil {
		return nil, err
	}
	return w.buf[off%WindowLen:], nil
}

func (w *Windows) load(no int64, want Range) error {
	if err := CheckRange("read", want, w.r.Len); err != nil {
		return err
	}
	k := &w.kept[no%windowsKept]
	if k.no != no {
		n := min(WindowLen, w.r.Len-no*WindowLen)
		if k.buf == nil {
			k.buf = make([]byte, WindowLen)
		}
		k.no, w.cur = -1, -1
		k.buf = k.buf[:n]
		if _, err := w.d.ReadAt(k.buf, w.r.Off+no*WindowLen); err != nil {
			return err
		}
		w.read += n
		k.no = no
	}
	w.cur, w.buf = no, k.buf
	return nil
}

// Forget drops what is kept of r, bytes of the table that were written.
func (w *Windows) Forget(r Range) {
	for no := r.Off / WindowLen; no*WindowLen < r.End(); no++ {
		if k := &w.kept[no%windowsKept]; k.no == no {
			k.no = -1
		}
	}
	w.cur = -1
}

// BytesRead is how much was read from the device.
func (w *Windows) BytesRead() int64 { return w.read }
