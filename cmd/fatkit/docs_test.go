package main

import (
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// manDir is where the manual pages are kept.
const manDir = "../../man"

// The pages in the tree are those that the program writes.
func TestManPagesAreUpToDate(t *testing.T) {
	upToDate(t, manDir, newApp(drivers(), strings.NewReader(""), io.Discard, io.Discard).manPages(), "docs man man")
}

// upToDate holds the files in dir against those that the program writes there when
// it is called with command.
func upToDate(t *testing.T, dir string, files map[string]string, command string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(have) != files[name] {
			t.Errorf("%s/%s is not what the program writes (%v); run: go run ./cmd/fatkit %s", dir, name, err, command)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if files[e.Name()] == "" {
			t.Errorf("%s/%s is about nothing that the program has", dir, e.Name())
		}
	}
}

// Every command, flag, exit code and problem is in the manual.
func TestManPagesAreComplete(t *testing.T) {
	a := newApp(drivers(), strings.NewReader(""), io.Discard, io.Discard)
	pages := a.manPages()
	for _, c := range a.commands() {
		text := pages["fatkit-"+c.Name+".8"]
		if manWords(c.Name).examples == "" {
			t.Errorf("%s has no example", c.Name)
		}
		for _, f := range c.Flags {
			if d := f.(cli.DocGenerationFlag); d.TakesValue() {
				if value, _ := placeholder(d.GetUsage()); value == "value" || d.GetDefaultText() == "" {
					t.Errorf("%s %s: what the value is, or what holds without it, is not said: %q, %q", c.Name, f.Names()[0], d.GetUsage(), d.GetDefaultText())
				}
			}
			for _, n := range f.Names() {
				if strings.Contains(text, bold(dashed(n))) != offered(f) {
					t.Errorf("the page of %s lacks %s, or has it and should not", c.Name, dashed(n))
				}
			}
		}
		if !strings.Contains(pages["fatkit.8"], bold("fatkit-"+c.Name)) {
			t.Errorf("fatkit(8) lacks %s", c.Name)
		}
	}
	for _, c := range a.catalogues() {
		for _, row := range c.problems {
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

// Of every problem all is said that explain is for: what it means, how it comes about,
// what each repair does, what others do, and which rule is broken.
func TestProblemsAreExplained(t *testing.T) {
	a := newApp(drivers(), strings.NewReader(""), io.Discard, io.Discard)
	page := strings.NewReplacer(`\-`, "-", `\e`, `\`, `\&`, "").Replace(a.manPages()["fatkit-problems.7"])
	for _, c := range a.catalogues() {
		for _, p := range c.problems {
			out, code := runNamed(t, "fatkit", "explain", p.Code)
			flat := strings.Join(strings.Fields(out), " ")
			for name, text := range map[string]string{
				"title": p.Title, "explanation": p.Explain, "cause": p.Cause, "what others do": p.Elsewhere, "source": p.Source,
			} {
				switch {
				case text == "":
					t.Errorf("%s has no %s", p.Code, name)
				case code != exitOK || !strings.Contains(flat, strings.Join(strings.Fields(text), " ")):
					t.Errorf("explain %s lacks the %s", p.Code, name)
				case !strings.Contains(page, text) && !strings.Contains(page, capital(text)):
					t.Errorf("fatkit-problems(7) lacks the %s of %s", name, p.Code)
				}
			}
			for _, r := range p.Repairs {
				if r.Title == "" || !strings.Contains(out, r.Name) || !strings.Contains(out, r.Title) {
					t.Errorf("%s: repair %s is not explained", p.Code, r.Name)
				}
			}
		}
	}
}

// The examples of the manual pages, which --help shows, too, do what they say: each
// command ends well, in a directory with what it is about.
func TestExamples(t *testing.T) {
	for _, tool := range []string{"sh", "jq", "seq"} {
		voltest.Peer(t, tool)
	}
	a := newApp(drivers(), strings.NewReader(""), io.Discard, io.Discard)
	texts := map[string]string{"main": mainSections()[len(mainSections())-1].text}
	for _, c := range a.commands() {
		texts[c.Name] = manWords(c.Name).examples
		if out, code := runNamed(t, "fatkit", c.Name, "--help"); code != exitOK || !strings.Contains(out, "EXAMPLES:") {
			t.Errorf("%s --help: exit %d\n%s", c.Name, code, out)
		}
	}
	for name, text := range texts {
		dir := t.TempDir()
		writeDisk(t, filepath.Join(dir, "disk.img"))
		for _, file := range []string{"rootfs/boot/kernel", "overlays/a.dtbo", "config.txt", "photos/old.jpg"} {
			file = filepath.Join(dir, filepath.FromSlash(file))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("x"), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if name != "format" && name != "main" {
			image := filepath.Join(dir, "card.img")
			boot := filepath.Join(dir, "boot.img")
			for _, args := range []string{"format -t fat32 -s 4G " + image, "prealloc --create -l 1M " + image + " DCIM/CLIP0001.BIN",
				"prealloc --create -l 4K " + image + " LOG/1.TXT TMP/X", "format -t fat16 -s 32M " + boot, "prealloc --create -l 4K " + boot + " old.txt",
				"copy " + filepath.Join(dir, "config.txt") + " " + boot + "::config.txt"} {
				if name == "copy" && strings.HasPrefix(args, "copy ") {
					continue // that is what its example does
				}
				if out, code := runNamed(t, append([]string{"fatkit"}, strings.Fields(args)...)...); code != exitOK {
					t.Fatal(out)
				}
			}
			if name == "undo" { // there must be something to take back
				damageAt(t, image, 32*512+4000)
			}
		}
		for _, line := range strings.Split(text, "\n") {
			command, ok := strings.CutPrefix(line, "  ")
			if !ok {
				continue
			}
			if name == "format" { // each makes it anew
				_ = os.Remove(filepath.Join(dir, "card.img"))
			}
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != exitOK && !(name == "undo" && code == exitCorrected) {
				t.Errorf("%s: %s: %v\n%s", name, command, err, out)
			}
		}
	}
}

// The pages are what man(1) renders without a complaint.
func TestManPagesRender(t *testing.T) {
	man := voltest.Peer(t, "man")
	pages, err := filepath.Glob(manDir + "/*.[78]")
	if err != nil || len(pages) == 0 {
		t.Fatal(err, pages)
	}
	for _, page := range pages {
		cmd := exec.Command(man, "--warnings", "-l", page)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80", "MANPAGER=cat", "MANROFFOPT=")
		var out, errw strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errw
		if err := cmd.Run(); err != nil || errw.Len() > 0 {
			t.Errorf("%s: %v: %s", page, err, errw.String())
		}
		for _, heading := range []string{"NAME", "DESCRIPTION"} {
			if !strings.Contains(out.String(), "\n"+heading) {
				t.Errorf("%s has no %s when rendered", page, heading)
			}
		}
	}
}
