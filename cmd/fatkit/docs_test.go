package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// manDir is where the manual pages are kept.
const manDir = "../../man"

// The pages in the tree are those that the program writes.
func TestManPagesAreUpToDate(t *testing.T) {
	pages := newApp(drivers(), strings.NewReader(""), io.Discard, io.Discard).manPages()
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		have, err := os.ReadFile(filepath.Join(manDir, name))
		if err != nil || string(have) != pages[name] {
			t.Errorf("man/%s is not what the program writes (%v); run: go run ./cmd/fatkit docs man man", name, err)
		}
	}
	files, err := os.ReadDir(manDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if pages[f.Name()] == "" {
			t.Errorf("man/%s is a page of nothing", f.Name())
		}
	}
}

// Every command, flag, exit code and problem is in the manual.
func TestManPagesAreComplete(t *testing.T) {
	a := newApp(drivers(), strings.NewReader(""), io.Discard, io.Discard)
	pages := a.manPages()
	for _, c := range a.commands() {
		text := pages["fatkit-"+c.Name+".8"]
		if manWords(c.Name).examples == "" && c.Name != "version" {
			t.Errorf("%s has no example", c.Name)
		}
		for _, f := range c.Flags {
			for _, n := range f.Names() {
				if !strings.Contains(text, bold(dashed(n))) {
					t.Errorf("the page of %s lacks %s", c.Name, dashed(n))
				}
			}
		}
		if !strings.Contains(pages["fatkit.8"], bold("fatkit-"+c.Name)) {
			t.Errorf("fatkit(8) lacks %s", c.Name)
		}
	}
	for _, d := range a.drivers {
		for _, row := range d.Problems {
			if !strings.Contains(pages["fatkit-problems.7"], roff(row.Code)+" ") {
				t.Errorf("fatkit-problems(7) lacks %s", row.Code)
			}
		}
	}
}

func TestDocsCommand(t *testing.T) {
	dir := t.TempDir()
	stale := filepath.Join(dir, "fatkit-gone.8")
	if err := os.WriteFile(stale, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]int{"docs man " + dir: exitOK, "docs": exitUsage, "docs html " + dir: exitUsage, "docs man " + dir + "/none": exitFailed} {
		a := newApp(drivers(), strings.NewReader(""), io.Discard, io.Discard)
		if got := a.run(t.Context(), append([]string{"fatkit"}, strings.Fields(args)...)); got != want {
			t.Errorf("%s: exit %d, want %d", args, got, want)
		}
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("a page of nothing is left")
	}
	if _, err := os.Stat(filepath.Join(dir, "fatkit-check.8")); err != nil {
		t.Error(err)
	}
}

func TestPageText(t *testing.T) {
	p := &page{}
	p.text("one - \\ two\n.three\n\n  literal -x\n  more\n\nfour")
	want := "one \\- \\e two\n\\&.three\n.PP\n.in +4n\n.nf\nliteral \\-x\nmore\n.fi\n.in\n.PP\nfour\n"
	if p.String() != want {
		t.Errorf("%q\nwant\n%q", p.String(), want)
	}
}
