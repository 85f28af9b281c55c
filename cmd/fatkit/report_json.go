package main

import (
	"encoding/json"

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
	Partition int    `json:"partition,omitempty"`
	Offset    int64  `json:"offset"`
	Size      int64  `json:"size"`
	Type      string `json:"type"`
	Label     string `json:"label"`
	ID        string `json:"id"`
}

// head describes the volume in r as far as info knows it.
func head(r region, info vol.Info) volumeHead {
	h := volumeHead{Partition: r.part, Offset: r.at.Off, Size: r.at.Len,
		Type: info.Type, Label: info.Label, ID: info.ID}
	if info.Size > 0 {
		h.Size = info.Size
	}
	if h.Type == "" {
		h.Type = r.id.Type
	}
	return h
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

// checkReporter prints checks as JSON documents.
type jsonReporter struct{ a *app }

func (j jsonReporter) Image(d *checkDoc) { j.a.printJSON(d) }

func (j jsonReporter) Failed(image string, err error) { j.a.fail(image, err) }
