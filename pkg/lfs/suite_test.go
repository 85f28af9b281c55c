package lfs

import (
	"context"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestSuite holds the driver to what every format must do.
func TestSuite(t *testing.T) {
	voltest.Run(t, voltest.Suite{
		Driver:   Driver(),
		Sizes:    map[string]int64{"f2fs": 64 << 20},
		Reserve:  true,
		Damage:   map[string]func(d dev.Device) error{"f2fs": damaged},
		Fill:     fillFile,
		Contents: contentsOf,
	})
}

// fillFile writes b into a file, as one change.
func fillFile(t testing.TB, d dev.Device, path string, b []byte) {
	t.Helper()
	err := edited(t, d, func(c *batch) error {
		h, err := c.file(path, false)
		if err != nil {
			return err
		}
		for i, page := range blocksOf(b, c.w.g.BlockSize) {
			if err := h.writePage(uint64(i), page); err != nil {
				return err
			}
		}
		c.files[h.nid] = path
		return h.store()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// edited makes a change of the test's own, and writes it.
func edited(t testing.TB, d dev.Device, fn func(c *batch) error) error {
	t.Helper()
	return changed(t, d, func(ctx context.Context, v vol.Volume) error {
		c, err := v.(*volume).begin(ctx)
		if err == nil {
			err = fn(c)
		}
		if err == nil {
			err = c.finish()
		}
		return err
	})
}

// contentsOf reads a file: what has no block is zeros.
func contentsOf(t testing.TB, d dev.Device, path string) []byte {
	t.Helper()
	b, err := readAll(t.Context(), d, path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readAll(ctx context.Context, d dev.Device, path string) ([]byte, error) {
	v, err := open(ctx, d, vol.OpenOptions{})
	if err != nil {
		return nil, err
	}
	c, err := v.(*volume).begin(ctx)
	if err != nil {
		return nil, err
	}
	h, err := c.file(path, false)
	if err != nil {
		return nil, err
	}
	return h.readAll()
}

// readAll reads all of a file, which is not large.
func (h *handle) readAll() ([]byte, error) {
	if h.b.inline()&inlineData != 0 {
		return append([]byte(nil), h.w.g.inlineArea(h.b)[:h.b.size()]...), nil
	}
	out := make([]byte, h.b.size())
	for at := 0; at < len(out); at += int(h.w.g.BlockSize) {
		b, err := h.readPage(uint64(at) / uint64(h.w.g.BlockSize))
		if err != nil {
			return nil, err
		}
		copy(out[at:], b)
	}
	return out, nil
}
