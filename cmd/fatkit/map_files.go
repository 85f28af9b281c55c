package main

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/fatkit/fatkit/pkg/vol"
)

// mapDoc is what map --json prints of files.
type mapDoc struct {
	Schema string       `json:"schema"`
	Image  string       `json:"image"`
	Type   string       `json:"type"`
	Files  []mapFileDoc `json:"files"`
}

type mapFileDoc struct {
	pathDoc
	Size       int64           `json:"size"`
	Allocated  int64           `json:"allocated"`
	Fragments  int             `json:"fragments"`
	Contiguous bool            `json:"contiguous"`
	Extents    []fileExtentDoc `json:"extents"`
}

// files prints where files are. Of what cannot be read the others are printed
// all the same.
func (m *mapRun) files(ctx context.Context, paths []string) error {
	doc := &mapDoc{Schema: "fatkit.map/1", Image: m.r.arg, Type: m.r.tree.Info().Type, Files: []mapFileDoc{}}
	for _, p := range paths {
		nodes, err := vol.Glob(ctx, m.r.tree, p)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			err := vol.Walk(ctx, m.r.tree, n, func(k *vol.Node, err error) error {
				if err == nil && (k.Kind == vol.KindFile || k == n) {
					err = m.file(doc, k)
				}
				if err != nil {
					m.a.unreadable(m.r.arg, err)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	if m.a.json {
		m.a.printJSON(doc)
	}
	return nil
}

func (m *mapRun) file(doc *mapDoc, n *vol.Node) error {
	ms, err := m.r.tree.Mappings(n)
	if err != nil {
		return err
	}
	f := mapFileDoc{pathDoc: newPath(n.Path), Size: n.Size, Fragments: fragments(ms), Extents: []fileExtentDoc{}}
	f.Contiguous = f.Fragments <= 1
	for _, e := range ms {
		if !e.Inline {
			f.Allocated += e.Length
		}
		f.Extents = append(f.Extents, newFileExtent(e, m.r.at.Off))
	}
	if m.a.json {
		doc.Files = append(doc.Files, f)
		return nil
	}
	m.print(f)
	return nil
}

// fragments is how many pieces of the disk a file is in: extents that follow
// each other, on the disk and in the file, are one.
func fragments(ms []vol.Mapping) (n int) {
	for i, m := range ms {
		if i > 0 && ms[i-1].Off+ms[i-1].Length == m.Off && ms[i-1].Pos+ms[i-1].Length == m.Pos {
			continue
		}
		n++
	}
	return n
}

// sector is the unit in which places are printed, as filefrag does.
const sector = 512

func (m *mapRun) print(f mapFileDoc) {
	verdict := "contiguous"
	if !f.Contiguous {
		verdict = "fragmented"
	}
	if len(f.Extents) == 0 {
		verdict = "nothing allocated"
	}
	m.a.printf("%s: %s, %s, %s\n", printable(f.Path), humanize.IBytes(uint64(f.Size)),
		plural(uint64(f.Fragments), "fragment", "fragments"), verdict)
	if len(f.Extents) == 0 || m.a.quiet {
		return
	}
	m.a.printf(" ext: %14s %28s %28s %12s  flags\n", "byte of file", "sectors of volume", "sectors of disk", "sectors")
	for i, e := range f.Extents {
		flags := ""
		switch {
		case e.Inline:
			flags = "inline"
		case e.Unwritten:
			flags = "unwritten"
		}
		if i == len(f.Extents)-1 {
			flags = join(flags, "last")
		}
		m.a.printf("%4d: %14d %28s %28s %12d  %s\n", i, e.FileOffset, span(e.VolumeOffset, e.Length), span(e.DiskOffset, e.Length), sectors(e.Length), flags)
	}
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "," + b
}

func sectors(bytes int64) int64 { return (bytes + sector - 1) / sector }

// span is first and last sector of a range of bytes.
func span(off, length int64) string {
	return fmt.Sprintf("%d..%d", off/sector, (off+max(length, 1)-1)/sector)
}
