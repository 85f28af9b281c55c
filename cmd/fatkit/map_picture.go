package main

import (
	"bytes"
	"context"
	"fmt"
	"html"
	pixels "image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strings"

	"github.com/dustin/go-humanize"
	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// A picture is rectangles and texts, in pixels. SVG and PNG are two ways to
// write it down.
type picture struct {
	wide, high int
	boxes      []box
	words      []words
}

type box struct {
	x, y, w, h int
	fill       color.RGBA
}

type words struct {
	x, y int // of the start of the base line
	text string
	fill color.RGBA
}

// Measures of the picture.
const (
	gridCols   = 128
	gridRows   = 40
	cellSide   = 8
	margin     = 24
	gutter     = 84 // for the offsets at the left
	titleHigh  = 64
	legendHigh = 22
)

// palette is one that is told apart by people who do not see all colours, too:
// after Okabe and Ito.
func palette(kind shown) color.RGBA {
	return map[shown]color.RGBA{
		shown(vol.UseMetadata): {0xCC, 0x79, 0xA7, 0xFF},
		shown(vol.UseData):     {0x00, 0x5B, 0x96, 0xFF},
		shown(vol.UseFree):     {0xE9, 0xEE, 0xE6, 0xFF},
		shown(vol.UseBad):      {0xD5, 0x2B, 0x00, 0xFF},
		shown(vol.UseReserved): {0xB4, 0xB4, 0xB4, 0xFF},
		showFile:               {0xF0, 0xA0, 0x00, 0xFF},
	}[kind]
}

// tint is the colour of a cell: from that of free space to that of its kind. Of
// little something is seen: the eye takes a tenth of a cell for none at all.
func tint(kind shown, part float64) color.RGBA {
	full, free := palette(kind), palette(shown(vol.UseFree))
	k := 0.3 + 0.7*math.Sqrt(part)
	mix := func(a, b uint8) uint8 { return uint8(float64(a)*k + float64(b)*(1-k)) }
	return color.RGBA{mix(full.R, free.R), mix(full.G, free.G), mix(full.B, free.B), 0xFF}
}

// picture draws the volume.
func (m *mapRun) picture(ctx context.Context) (*picture, error) {
	g, err := m.newGrid(ctx, gridRows, gridCols)
	if err != nil {
		return nil, err
	}
	ink, grey := color.RGBA{0x20, 0x20, 0x20, 0xFF}, color.RGBA{0x60, 0x60, 0x60, 0xFF}
	ls := m.legend(g)
	p := &picture{wide: gutter + gridCols*cellSide + 2*margin,
		high: titleHigh + gridRows*cellSide + margin + (len(ls)+1)*legendHigh + margin}
	p.boxes = append(p.boxes, box{0, 0, p.wide, p.high, color.RGBA{0xFF, 0xFF, 0xFF, 0xFF}})
	info := m.r.tree.Info()
	head := volumeHead{Type: info.Type, Label: info.Label, ID: info.ID, Size: info.Size}
	p.write(margin, 28, m.r.name(printable(m.r.arg))+": "+describe(head), ink)
	p.write(margin, 48, fmt.Sprintf("clusters of %s; a cell is %s", humanize.IBytes(uint64(info.ClusterSize)),
		humanize.IBytes(uint64(g.size/int64(len(g.cells))))), grey)
	left := margin + gutter
	for i := range g.cells {
		p.boxes = append(p.boxes, box{left + i%gridCols*cellSide, titleHigh + i/gridCols*cellSide, cellSide - 1, cellSide - 1, m.fillOf(g, i)})
	}
	for row := 0; row < gridRows; row += 4 {
		p.write(margin, titleHigh+row*cellSide+9, humanize.IBytes(uint64(g.edge(row*gridCols))), grey)
	}
	y := titleHigh + gridRows*cellSide + margin
	long := 12
	for _, l := range ls {
		long = max(long, len(l.name))
	}
	for _, l := range ls {
		p.boxes = append(p.boxes, box{left, y, 14, 14, palette(l.kind)})
		p.write(left+24, y+11, fmt.Sprintf("%-*s %10s  %5.1f %%", long, printable(l.name), humanize.IBytes(uint64(l.bytes)), 100*float64(l.bytes)/float64(g.size)), ink)
		y += legendHigh
	}
	p.boxes = append(p.boxes, box{left, y, 14, 14, largestFill()})
	p.write(left+24, y+11, fmt.Sprintf("largest free run: %s at %s; free space is in %s",
		humanize.IBytes(uint64(m.total.large.Len)), humanize.IBytes(uint64(m.total.large.Off)), plural(m.total.free, "run", "runs")), ink)
	return p, nil
}

// largestFill is the colour of free cells in the largest run.
func largestFill() color.RGBA { return color.RGBA{0xBF, 0xE3, 0xC8, 0xFF} }

// fillOf is the colour of a cell.
func (m *mapRun) fillOf(g *grid, i int) color.RGBA {
	kind, part := g.cells[i].main()
	r := dev.Range{Off: g.edge(i), Len: 1}
	if kind == shown(vol.UseFree) && !r.Intersect(m.total.large).Empty() {
		return largestFill()
	}
	return tint(kind, part)
}

func (p *picture) write(x, y int, text string, fill color.RGBA) {
	p.words = append(p.words, words{x, y, text, fill})
}

// svg is the picture as SVG. Boxes of one colour in a row are one path, which
// makes it a fifth of the size.
func (p *picture) svg() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="ui-monospace, monospace" font-size="13">`+"\n",
		p.wide, p.high, p.wide, p.high)
	for i := 0; i < len(p.boxes); {
		fill := p.boxes[i].fill
		var d strings.Builder
		for ; i < len(p.boxes) && p.boxes[i].fill == fill; i++ {
			q := p.boxes[i]
			fmt.Fprintf(&d, "M%d %dh%dv%dh-%dz", q.x, q.y, q.w, q.h, q.w)
		}
		fmt.Fprintf(&b, `<path fill="%s" d="%s"/>`+"\n", hexColour(fill), d.String())
	}
	for _, w := range p.words {
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s" xml:space="preserve">%s</text>`+"\n", w.x, w.y, hexColour(w.fill), html.EscapeString(w.text))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func hexColour(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// png is the picture as PNG.
func (p *picture) png() ([]byte, error) {
	img := pixels.NewRGBA(pixels.Rect(0, 0, p.wide, p.high))
	for _, q := range p.boxes {
		draw.Draw(img, pixels.Rect(q.x, q.y, q.x+q.w, q.y+q.h), pixels.NewUniform(q.fill), pixels.Point{}, draw.Src)
	}
	for _, w := range p.words {
		d := font.Drawer{Dst: img, Src: pixels.NewUniform(w.fill), Face: basicfont.Face7x13, Dot: fixed.P(w.x, w.y)}
		d.DrawString(w.text)
	}
	var b bytes.Buffer
	err := png.Encode(&b, img)
	return b.Bytes(), err
}
