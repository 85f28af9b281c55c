package exfat

import (
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// table reads and changes FAT entries. It is not safe for concurrent use.
type table struct {
	d   dev.Device
	g   *Geometry
	win *dev.Windows
}

func newTable(d dev.Device, g *Geometry) *table {
	return &table{d: d, g: g, win: dev.NewWindows(d, dev.Range{Off: g.FatOff(), Len: g.FatBytes()})}
}

// get is the entry of cluster c (0 … Clusters+1).
func (t *table) get(c uint32) (uint32, error) {
	b, err := t.win.At(int64(c)*4, 4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

// set writes one entry.
func (t *table) set(c, v uint32) error {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	_, err := t.d.WriteAt(b[:], t.g.FatOff()+int64(c)*4)
	t.win.Forget(dev.Range{Off: int64(c) * 4, Len: 4})
	return err
}

// tablePiece is how many entries are encoded at a time.
const tablePiece = 16 << 10

// link writes the chain that runs through the clusters of es, in pieces of the
// table, and ends it. This is the first allocator lesson at the table: a chain
// is written in one batch, never cluster by cluster while a file grows.
func (t *table) link(es []space.Extent) error {
	for i, e := range es {
		next := uint32(fatEOC)
		if i+1 < len(es) {
			next = es[i+1].Start
		}
		if err := t.linkRun(e, next); err != nil {
			return err
		}
	}
	return nil
}

// linkRun links the clusters of e, each to the next, the last one to next.
func (t *table) linkRun(e space.Extent, next uint32) error {
	buf := make([]byte, 4*min(e.Len, tablePiece))
	for e.Len > 0 {
		n := min(e.Len, tablePiece)
		for i := uint32(0); i < n; i++ {
			v := e.Start + i + 1
			if i+1 == e.Len {
				v = next
			}
			binary.LittleEndian.PutUint32(buf[4*i:], v)
		}
		if _, err := t.d.WriteAt(buf[:4*n], t.g.FatOff()+int64(e.Start)*4); err != nil {
			return err
		}
		t.win.Forget(dev.Range{Off: int64(e.Start) * 4, Len: int64(n) * 4})
		e.Start, e.Len = e.Start+n, e.Len-n
	}
	return nil
}
