package main

import (
	"context"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

const mostRows = 1000

// shown is what a cell of the map has in it: a Use, or the file that is told
// apart.
type shown int

const (
	showFile  = shown(vol.UseReserved) + 1
	shownKind = int(showFile) + 1
)

// cell is a part of the volume: bytes of each kind.
type cell [shownKind]int64

// main is what the cell is drawn as, and how much of it that is, 0 to 1. What is
// rare must be seen: a file that is told apart, bad clusters and data come before
// the free space around them.
func (c *cell) main() (kind shown, part float64) {
	var total int64
	for _, n := range c {
		total += n
	}
	if total == 0 {
		return shown(vol.UseReserved), 0
	}
	if c[vol.UseFree] == total {
		return shown(vol.UseFree), 1
	}
	for _, k := range []shown{showFile, shown(vol.UseBad)} {
		if c[k] > 0 {
			return k, float64(c[k]) / float64(total)
		}
	}
	kind = shown(vol.UseReserved)
	for _, k := range []shown{shown(vol.UseData), shown(vol.UseMetadata)} {
		if c[k] > 0 && c[k] >= c[kind] {
			kind = k
		}
	}
	return kind, float64(c[kind]) / float64(total)
}

// grid is a volume cut into cells of the same size.
type grid struct {
	cells []cell
	size  int64 // bytes of the volume
	rows  int
	cols  int
}

// newGrid reads the map of a volume into rows times cols cells.
func (m *mapRun) newGrid(ctx context.Context, rows, cols int) (*grid, error) {
	g := &grid{cells: make([]cell, rows*cols), size: max(m.r.tree.Info().Size, 1), rows: rows, cols: cols}
	err := m.r.tree.Uses(ctx, func(u vol.UseRange) error {
		m.total.add(u)
		g.add(u.Range, shown(u.Use), 1)
		return nil
	})
	if err != nil || m.show == "" {
		return g, err
	}
	n, err := vol.Resolve(m.r.tree, m.show)
	if err != nil {
		return nil, err
	}
	ms, err := m.r.tree.Mappings(n)
	for _, e := range ms {
		r := dev.Range{Off: e.Off, Len: e.Length}
		g.add(r, showFile, 1)
		g.add(r, shown(vol.UseData), -1)
	}
	return g, err
}

// edge is where cell i begins. The product is kept below 2^63: a volume is cut
// into at most 2^20 cells, and sizes are below 2^63.
func (g *grid) edge(i int) int64 {
	n := int64(len(g.cells))
	return g.size/n*int64(i) + g.size%n*int64(i)/n
}

// at is the cell that byte off is in.
func (g *grid) at(off int64) int {
	n := int64(len(g.cells))
	i := int(min(n-1, max(0, off/max(g.size/n, 1))))
	for i > 0 && g.edge(i) > off {
		i--
	}
	for i+1 < len(g.cells) && g.edge(i+1) <= off {
		i++
	}
	return i
}

// add counts the bytes of r, sign times, as kind in the cells that they are in.
func (g *grid) add(r dev.Range, kind shown, sign int64) {
	for r.Len > 0 && r.Off < g.size {
		i := g.at(r.Off)
		end := g.size
		if i+1 < len(g.cells) {
			end = g.edge(i + 1)
		}
		n := min(r.Len, end-r.Off)
		g.cells[i][kind] += sign * n
		r = dev.Range{Off: r.Off + n, Len: r.Len - n}
	}
}

// legend is a line of it.
type legend struct {
	kind  shown
	name  string
	bytes int64
}

// legend names what is there.
func (m *mapRun) legend(g *grid) []legend {
	var ls []legend
	for u := range vol.UseReserved + 1 {
		n := m.total.uses[u]
		if n > 0 || u == vol.UseFree {
			ls = append(ls, legend{shown(u), u.String(), n})
		}
	}
	var file int64
	for i := range g.cells {
		file += g.cells[i][showFile]
	}
	if m.show != "" {
		ls = append(ls, legend{showFile, m.show, file})
	}
	return ls
}

// terminal draws the map with characters, coloured where that is wanted: the
// shape alone says what a cell is.
func (m *mapRun) terminal(ctx context.Context) error {
	const lead = 11 // columns of the offset before a line
	wide := m.a.columns
	if wide == 0 {
		wide = 80
	}
	g, err := m.newGrid(ctx, m.rows, max(wide-lead, 8))
	if err != nil {
		return err
	}
	info := m.r.tree.Info()
	m.a.printf("%s: %s, clusters of %s\n", m.r.name(printable(m.r.arg)),
		describe(volumeHead{Type: info.Type, Label: info.Label, ID: info.ID, Size: info.Size}), humanize.IBytes(uint64(info.ClusterSize)))
	for row := range g.rows {
		first := row * g.cols
		var b strings.Builder
		for i := first; i < first+g.cols; i++ {
			kind, part := g.cells[i].main()
			b.WriteString(m.a.colour(colourOf(kind), glyph(kind, part)))
		}
		m.a.printf("%9s  %s\n", humanize.IBytes(uint64(g.edge(first))), b.String())
	}
	for _, l := range m.legend(g) {
		m.a.printf("%s  %-10s %10s  %5.1f %%\n", m.a.colour(colourOf(l.kind), glyph(l.kind, 1)), printable(l.name),
			humanize.IBytes(uint64(l.bytes)), 100*float64(l.bytes)/float64(g.size))
	}
	m.a.printf("free space is in %s; the largest, %s, begins at %s\n", plural(m.total.free, "run", "runs"),
		humanize.IBytes(uint64(m.total.large.Len)), humanize.IBytes(uint64(m.total.large.Off)))
	return nil
}

// glyph is the character of a cell; for data by how full it is.
func glyph(kind shown, part float64) string {
	switch kind {
	case shown(vol.UseMetadata):
		return "#"
	case shown(vol.UseFree):
		return "·"
	case shown(vol.UseBad):
		return "X"
	case shown(vol.UseReserved):
		return "-"
	case showFile:
		return "@"
	}
	shades := []string{"░", "▒", "▓", "█"}
	return shades[min(len(shades)-1, int(part*float64(len(shades))))]
}

// colourOf is the SGR code of a cell.
func colourOf(kind shown) string {
	return map[shown]string{
		shown(vol.UseMetadata): "35", shown(vol.UseData): "34", shown(vol.UseFree): "2",
		shown(vol.UseBad): "31", shown(vol.UseReserved): "2", showFile: "1;33",
	}[kind]
}
