package main

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// printJSON prints v as one line. What goes wrong shows when standard output
// is flushed.
func (a *app) printJSON(v any) {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		a.code |= exitFailed
		return
	}
	_ = a.out.Flush() // bufio keeps the error for the last Flush
}

// answered prints what a command has done as JSON where that is wanted, and tells
// whether that is all: there, and where nothing is to be said.
func (a *app) answered(doc any) bool {
	if a.json {
		a.printJSON(doc)
	}
	return a.json || a.quiet
}

// errorDoc is the answer to a command that failed.
type errorDoc struct {
	Schema string    `json:"schema"`
	Error  errorBody `json:"error"`
}

type errorBody struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Image   string `json:"image,omitempty"`
}

func newErrorDoc(kind, message, image string) errorDoc {
	return errorDoc{"fatkit.error/1", errorBody{kind, message, image}}
}

// volumeHead begins every description of a volume. Offset counts from the
// start of the image.
type volumeHead struct {
	Partition     int    `json:"partition,omitempty"`
	PartitionName string `json:"partition_name,omitempty"` // in the GPT: what --partition-label takes
	Offset        int64  `json:"offset"`
	Size          int64  `json:"size"`
	Type          string `json:"type"`
	Label         string `json:"label"`
	ID            string `json:"id"`
}

// head describes the volume in r as far as info knows it.
func head(r region, info vol.Info) volumeHead {
	h := volumeHead{Partition: r.part, PartitionName: r.title, Offset: r.at.Off, Size: r.at.Len,
		Type: info.Type, Label: info.Label, ID: info.ID}
	if info.Size > 0 {
		h.Size = info.Size
	}
	if h.Type == "" {
		h.Type = r.id.Type
	}
	return h
}

// pathDoc is where a file is in a volume. JSON has Unicode alone, in which names that
// are none become alike: of a path that is not UTF-8 its bytes stand beside it, as they
// are taken on the command line, in base 64 (RFC 4648, section 4).
type pathDoc struct {
	Path  string `json:"path"`
	Bytes []byte `json:"path_bytes,omitempty"`
}

func newPath(path string) pathDoc { return pathDoc{path, bytesBeside(path)} }

// bytesBeside are those of text that is not UTF-8; nil of other text.
func bytesBeside(text string) []byte {
	if utf8.ValidString(text) {
		return nil
	}
	return []byte(text)
}

// allBeside are those of each of texts, if one of them is not UTF-8.
func allBeside(texts []string) [][]byte {
	if !slices.ContainsFunc(texts, func(s string) bool { return !utf8.ValidString(s) }) {
		return nil
	}
	all := make([][]byte, len(texts))
	for i, s := range texts {
		all[i] = []byte(s)
	}
	return all
}

// byteRange is a run of bytes of the image.
type byteRange struct {
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
}

func byteRanges(rs []dev.Range) []byteRange {
	out := make([]byteRange, len(rs))
	for i, r := range rs {
		out[i] = byteRange{r.Off, r.Len}
	}
	return out
}

// jsonReporter prints checks as JSON documents.
type jsonReporter struct{ a *app }

func (j jsonReporter) Image(d *checkDoc)              { j.a.printJSON(d) }
func (j jsonReporter) Failed(image string, err error) { j.a.fail(image, err) }
func (jsonReporter) End(int)                          {}

// jsonlReporter prints a document a line: each finding, then its image, and in
// the end what all of it comes to.
type jsonlReporter struct {
	a     *app
	total tally
}

// findingLine is a finding by itself.
type findingLine struct {
	Schema       string `json:"schema"`
	Image        string `json:"image"`
	Volume       int    `json:"volume"` // which of the volumes of the image, from 0; -1: the partition table
	VolumeOffset int64  `json:"volume_offset"`
	Type         string `json:"type"`
	findingDoc
}

// imageLine is an image that was checked, without its findings.
type imageLine struct {
	Schema  string       `json:"schema"`
	Image   string       `json:"image"`
	Exit    int          `json:"exit"`
	DryRun  bool         `json:"dry_run,omitempty"`
	Writes  []byteRange  `json:"writes,omitempty"`
	Table   *tableLine   `json:"table,omitempty"`
	Volumes []volumeLine `json:"volumes"`
}

type tableLine struct {
	Scheme     string `json:"scheme"`
	ID         string `json:"id,omitempty"`
	SectorSize int64  `json:"sector_size"`
	Verdict    string `json:"verdict"`
	Findings   int    `json:"findings"`
}

type volumeLine struct {
	volumeHead
	Verdict  string    `json:"verdict"`
	Reason   string    `json:"reason,omitempty"`
	Findings int       `json:"findings"`
	Stopped  bool      `json:"stopped,omitempty"`
	Stats    *statsDoc `json:"stats,omitempty"`
}

func (j *jsonlReporter) Image(d *checkDoc) {
	j.total.image(d)
	line := imageLine{Schema: "fatkit.check-image/1", Image: d.Image, Exit: d.Exit, DryRun: d.DryRun, Writes: d.Writes, Volumes: []volumeLine{}}
	if t := d.Table; t != nil {
		line.Table = &tableLine{t.Scheme, t.ID, t.SectorSize, t.Verdict, len(t.Findings)}
		for _, f := range t.Findings {
			j.a.printJSON(findingLine{Schema: "fatkit.finding/1", Image: d.Image, Volume: -1, Type: t.Scheme, findingDoc: f})
		}
	}
	for i, v := range d.Volumes {
		line.Volumes = append(line.Volumes, volumeLine{v.volumeHead, v.Verdict, v.Reason, len(v.Findings), v.Stopped, v.Stats})
		for _, f := range v.Findings {
			f.Partition = v.Partition
			j.a.printJSON(findingLine{"fatkit.finding/1", d.Image, i, v.Offset, v.Type, f})
		}
	}
	j.a.printJSON(line)
}

func (j *jsonlReporter) Failed(image string, err error) {
	j.total.Failed++
	kind, _ := classify(err)
	j.a.printJSON(newErrorDoc(kind, explainError(err), image))
}

// End prints the last line.
func (j *jsonlReporter) End(code int) {
	j.a.printJSON(struct {
		Schema string `json:"schema"`
		Exit   int    `json:"exit"`
		tally
	}{"fatkit.check-summary/1", code, j.total})
}
