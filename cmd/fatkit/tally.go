package main

import (
	"fmt"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// tally counts what a check of several images came to.
type tally struct {
	Images     int `json:"images"` // that were checked
	Failed     int `json:"failed"` // images that could not be checked at all
	Volumes    int `json:"volumes"`
	Clean      int `json:"clean"`
	Corrected  int `json:"corrected"`
	Uncorrect  int `json:"uncorrected"`
	Unreadable int `json:"unreadable"`
	Skipped    int `json:"skipped"`
	Errors     int `json:"errors"` // findings that are left
	Warnings   int `json:"warnings"`
	Infos      int `json:"infos"`
	Repaired   int `json:"repaired"`
}

// image counts an image.
func (t *tally) image(d *checkDoc) {
	t.Images++
	if d.Table != nil {
		t.findings(d.Table.Findings)
	}
	for _, v := range d.Volumes {
		t.Volumes++
		switch v.Verdict {
		case verdictClean:
			t.Clean++
		case verdictCorrected:
			t.Corrected++
		case verdictUncorrected:
			t.Uncorrect++
		case verdictUnreadable:
			t.Unreadable++
		case verdictSkipped:
			t.Skipped++
		}
		t.findings(v.Findings)
	}
}

func (t *tally) findings(fs []findingDoc) {
	for _, f := range fs {
		switch {
		case f.Repaired != "":
			t.Repaired++
		case f.severity == vol.SevError:
			t.Errors++
		case f.severity == vol.SevWarning:
			t.Warnings++
		default:
			t.Infos++
		}
	}
}

// words are the tally in a line for people.
func (t *tally) words() string {
	var vs, fs []string
	count := func(to *[]string, n int, words string) {
		if n > 0 {
			*to = append(*to, fmt.Sprintf("%d %s", n, words))
		}
	}
	count(&vs, t.Clean, "clean")
	count(&vs, t.Corrected, "repaired")
	count(&vs, t.Uncorrect, "with something left")
	count(&vs, t.Unreadable, "that cannot be read")
	count(&vs, t.Skipped, "skipped")
	count(&fs, t.Repaired, "repaired")
	for _, n := range []struct {
		n         int
		one, many string
	}{{t.Errors, "error left", "errors left"}, {t.Warnings, "warning left", "warnings left"}} {
		if n.n > 0 {
			fs = append(fs, plural(uint64(n.n), n.one, n.many))
		}
	}
	s := plural(uint64(t.Images+t.Failed), "image", "images") + ", " + plural(uint64(t.Volumes), "volume", "volumes")
	if len(vs) > 0 {
		s += ": " + strings.Join(vs, ", ")
	}
	if len(fs) > 0 {
		s += "; " + strings.Join(fs, ", ")
	}
	if t.Failed > 0 {
		s += "; " + plural(uint64(t.Failed), "image", "images") + " could not be checked"
	}
	return s
}
