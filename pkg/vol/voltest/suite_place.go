package voltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
)

// oneFile is a request for a file of length bytes.
func oneFile(path string, length int64) vol.PreallocRequest {
	return vol.PreallocRequest{Create: true, FillZero: true, Files: []vol.PreallocFile{{Path: path, Length: length}}}
}

// reserved preallocates the one file of r, and says where it is.
func (v volume) reserved(t *testing.T, d dev.Device, r vol.PreallocRequest) vol.FileResult {
	t.Helper()
	x, txn := v.open(t, d)
	res, err := x.Preallocate(context.Background(), r)
	if err != nil {
		t.Fatalf("preallocate: %v", err)
	}
	commit(t, txn)
	return res.Files[0]
}

// unmet preallocates what cannot be: nothing is changed, and the error says so.
func (v volume) unmet(t *testing.T, d dev.Device, r vol.PreallocRequest) string {
	t.Helper()
	x, txn := v.open(t, d)
	_, err := x.Preallocate(context.Background(), r)
	if !errors.Is(err, vol.ErrRequest) {
		t.Fatalf("error %v, want %v", err, vol.ErrRequest)
	}
	if n, e := devtest.Diff(txn, d); e != nil || !n.Empty() {
		t.Errorf("after %v bytes %v are another (%v)", err, n, e)
	}
	txn.Rollback()
	return err.Error()
}

// aligned: new extents begin on the boundary that is asked for, and growing in
// place makes none.
func (v volume) aligned(t *testing.T) {
	const align = 64 << 10
	d := v.fresh(t)
	for i := range 3 {
		r := oneFile(fmt.Sprintf("F%d", i), 100_000)
		r.Align, r.Contiguous = align, true
		if f := v.reserved(t, d, r); len(f.Extents) != 1 || f.Extents[0].Off%align != 0 {
			t.Errorf("%+v is not on %d", f, align)
		}
	}
	r := oneFile("F2", 110_000)
	r.Align = align
	if f := v.reserved(t, d, r); len(f.Extents) != 1 {
		t.Errorf("%+v", f)
	}
	v.mustBeClean(t, d, "aligned files")
}

// contiguous: a file is one extent, or nothing is done; without that it is as few
// as there can be.
func (v volume) contiguous(t *testing.T) {
	const free = 9 // clusters in a run
	d := v.fresh(t)
	v.Spoil(t, d, free+1)
	x, txn := v.open(t, d)
	txn.Rollback()
	cs := int64(x.Info().ClusterSize)
	r := oneFile("F", (free+1)*cs)
	r.Contiguous = true
	if msg := v.unmet(t, d, r); !strings.Contains(msg, "longest free run has 9") {
		t.Errorf("message %q", msg)
	}
	r.Files[0].Length = free * cs
	if f := v.reserved(t, d, r); len(f.Extents) != 1 {
		t.Errorf("%+v", f)
	}
	// It cannot grow where it is, and is not moved.
	r.Files[0].Length++
	v.unmet(t, d, r)
	r.Contiguous = false
	if f := v.reserved(t, d, r); len(f.Extents) != 2 {
		t.Errorf("%+v", f)
	}
	// What is in two extents is not contiguous, even with nothing to do.
	r.Contiguous = true
	v.unmet(t, d, r)
	if f := v.reserved(t, d, oneFile("many", 3*free*cs+1)); len(f.Extents) != 4 {
		t.Errorf("%d clusters in runs of %d make %d extents", 3*free+1, free, len(f.Extents))
	}
	v.mustBeClean(t, d, "contiguous files")
}
