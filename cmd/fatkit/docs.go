package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/vol"
)

// docsCommand writes the manual pages and the completions of shells, from what the
// program itself says of its commands and problems. It is for those who build
// fatkit, so it is hidden.
func (a *app) docsCommand() *cli.Command {
	return &cli.Command{
		Name:      "docs",
		Usage:     "write the manual pages or the completions to a directory",
		ArgsUsage: "man|completions DIR",
		Hidden:    true,
		Action: func(c *cli.Context) error {
			files, ours := a.manPages, "fatkit*.[78]"
			switch {
			case c.NArg() != 2:
				return usagef("docs wants \"man\" or \"completions\", and a directory")
			case c.Args().First() == "completions":
				files, ours = a.completionFiles, "*fatkit*"
			case c.Args().First() != "man":
				return usagef("docs: there is no %q, but man and completions", c.Args().First())
			}
			return writeDocs(c.Args().Get(1), ours, files())
		},
	}
}

// writeDocs writes files by name and removes those that are ours by the pattern and
// that there is nothing for any more.
func writeDocs(dir, ours string, pages map[string]string) error {
	old, err := filepath.Glob(filepath.Join(dir, ours))
	if err != nil {
		return err
	}
	for _, path := range old {
		if _, ok := pages[filepath.Base(path)]; !ok {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(pages[name]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manPages are all manual pages by file name.
func (a *app) manPages() map[string]string {
	top := a.cli()
	pages := map[string]string{"fatkit.8": mainPage(top), "fatkit-problems.7": problemsPage(a.catalogues())}
	for _, c := range visible(top) {
		pages["fatkit-"+c.Name+".8"] = commandPage(c)
	}
	return pages
}

// visible are the commands that users are told of.
func visible(top *cli.App) []*cli.Command {
	var cs []*cli.Command
	for _, c := range top.Commands {
		if !c.Hidden && c.Name != "help" {
			cs = append(cs, c)
		}
	}
	return cs
}

// offered tells whether users are told of a flag.
func offered(f cli.Flag) bool {
	v, ok := f.(cli.VisibleFlag)
	return !ok || v.IsVisible()
}

// page is a manual page being written, in the man macros of roff.
type page struct{ strings.Builder }

func newPage(name string, section int) *page {
	p := &page{}
	p.macro("TH", strings.ToUpper(name), fmt.Sprint(section), "", "fatkit "+versionNumber, "fatkit manual")
	return p
}

// macro writes a request with its arguments.
func (p *page) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, arg := range args {
		p.WriteString(` "` + strings.ReplaceAll(roff(arg), `"`, `\(dq`) + `"`)
	}
	p.WriteByte('\n')
}

// section begins one and writes its text.
func (p *page) section(title, text string) {
	p.macro("SH", title)
	p.text(text)
}

// text writes prose. A blank line ends a paragraph; one whose lines begin with
// a blank keeps its lines as they are.
func (p *page) text(s string) {
	for i, par := range strings.Split(strings.TrimRight(s, "\n"), "\n\n") {
		if i > 0 {
			p.macro("PP")
		}
		literal := strings.HasPrefix(par, " ")
		if literal {
			p.WriteString(".in +4n\n.nf\n")
		}
		for _, line := range strings.Split(par, "\n") {
			p.line(strings.TrimLeft(line, " "))
		}
		if literal {
			p.WriteString(".fi\n.in\n")
		}
	}
}

// line writes one line of text, which must not be taken for a request.
func (p *page) line(s string) {
	s = roff(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	p.WriteString(s + "\n")
}

// item is an entry of a list: what it is about, in roff, and words on it.
func (p *page) item(tag, text string) {
	p.WriteString(".TP\n" + tag + "\n")
	p.line(text)
}

// roff is s as roff has it.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
}

func bold(s string) string   { return `\fB` + roff(s) + `\fR` }
func italic(s string) string { return `\fI` + roff(s) + `\fR` }

// mainPage is fatkit(8).
func mainPage(top *cli.App) string {
	p := newPage("fatkit", 8)
	p.section("NAME", "fatkit - "+top.Usage)
	p.macro("SH", "SYNOPSIS")
	p.WriteString(bold("fatkit") + " " + italic("COMMAND") + " [options] " + italic("IMAGE") + "...\n")
	p.section("DESCRIPTION", mainText())
	p.macro("SH", "COMMANDS")
	for _, c := range visible(top) {
		p.item(bold("fatkit-"+c.Name)+"(8)", capital(c.Usage)+".")
	}
	p.macro("SH", "OPTIONS OF EVERY COMMAND")
	p.flags(top.Flags)
	p.exitStatus()
	for _, s := range mainSections() {
		p.section(s.title, s.text)
	}
	p.seeAlso("fatkit-problems(7)", "fsck(8)", "mkfs(8)", "fallocate(1)", "mtools(1)")
	return p.String()
}

// commandPage is the page of one command.
func commandPage(c *cli.Command) string {
	p := newPage("fatkit-"+c.Name, 8)
	p.section("NAME", "fatkit-"+c.Name+" - "+c.Usage)
	p.macro("SH", "SYNOPSIS")
	for i, line := range synopsis(c) {
		if i > 0 {
			p.WriteString(".br\n")
		}
		p.line(line)
	}
	words := manWords(c.Name)
	p.macro("SH", "DESCRIPTION")
	p.text(capital(c.Usage) + ".")
	for _, t := range []string{c.Description, words.description} {
		if t != "" {
			p.macro("PP")
			p.text(t)
		}
	}
	p.macro("SH", "OPTIONS")
	p.flags(c.Flags)
	p.exitStatus()
	if words.examples != "" {
		p.section("EXAMPLES", words.examples)
	}
	p.seeAlso(append([]string{"fatkit(8)"}, words.also...)...)
	return p.String()
}

// synopsis is how a command is called, one line for each way.
func synopsis(c *cli.Command) []string {
	if c.UsageText != "" {
		return strings.Split(c.UsageText, "\n")
	}
	return []string{strings.TrimSpace("fatkit " + c.Name + " [options] " + strings.TrimSpace(c.ArgsUsage))}
}

// flags lists what a command takes.
func (p *page) flags(flags []cli.Flag) {
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		if !ok || !offered(f) || f == cli.HelpFlag { // which comes last
			continue
		}
		value, usage := placeholder(d.GetUsage())
		var names []string
		for _, n := range f.Names() {
			names = append(names, bold(dashed(n)))
		}
		slices.SortStableFunc(names, func(a, b string) int { return len(a) - len(b) }) // -s, --size
		tag := strings.Join(names, ", ")
		if d.TakesValue() {
			tag += " " + italic(value)
		}
		p.item(tag, capital(usage)+defaultWords(f, d)+".")
	}
	p.item(bold("-h")+", "+bold("--help"), "Show help.")
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// placeholder takes the name of the value out of a usage, where it stands
// between back quotes.
func placeholder(usage string) (value, text string) {
	before, rest, ok := strings.Cut(usage, "`")
	name, after, closed := strings.Cut(rest, "`")
	if !ok || !closed {
		return "value", usage
	}
	return name, before + name + after
}

// defaultWords says what holds where the flag is not given.
func defaultWords(f cli.Flag, d cli.DocGenerationFlag) string {
	if _, toggles := f.(*cli.BoolFlag); toggles || d.GetDefaultText() == "" {
		return ""
	}
	return " (default: " + strings.Trim(d.GetDefaultText(), `"`) + ")"
}

// exitStatus is the table of exit codes, the same for all.
func (p *page) exitStatus() {
	p.macro("SH", "EXIT STATUS")
	for _, e := range exitTable() {
		p.item(bold(fmt.Sprint(e.code)), e.text)
	}
	p.macro("PP")
	p.text("Over several images or partitions the codes are ORed.")
}

func (p *page) seeAlso(names ...string) {
	p.macro("SH", "SEE ALSO")
	for i, n := range names {
		name, section, _ := strings.Cut(n, "(")
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		p.WriteString(bold(name) + "(" + section + comma + "\n")
	}
}

// problemsPage is fatkit-problems(7): the catalogues.
func problemsPage(catalogues []catalogue) string {
	p := newPage("fatkit-problems", 7)
	p.section("NAME", "fatkit-problems - what fatkit check finds, and how it repairs it")
	p.section("DESCRIPTION", problemsText())
	for _, c := range catalogues {
		p.macro("SH", c.name)
		problems := slices.Clone(c.problems)
		slices.SortFunc(problems, func(a, b vol.Problem) int { return strings.Compare(a.Code, b.Code) })
		for _, row := range problems {
			p.problem(row)
		}
	}
	p.seeAlso("fatkit(8)", "fatkit-check(8)", "fatkit-explain(8)")
	return p.String()
}

func (p *page) problem(row vol.Problem) {
	p.macro("SS", fmt.Sprintf("%s %s (%s)", row.Code, row.Slug, row.Severity))
	p.text(capital(row.Title) + ".")
	if row.Explain != "" {
		p.text(row.Explain)
	}
	if row.Cause != "" {
		p.macro("PP")
		p.text("How it comes about: " + row.Cause)
	}
	for _, r := range row.Repairs {
		p.item("repair "+bold(r.Name), capital(r.Title)+lossWords(r.Loss.String())+".")
	}
	if len(row.Repairs) == 0 {
		p.macro("PP")
		p.text("There is no repair.")
	}
	if row.Elsewhere != "" {
		p.macro("PP")
		p.text("Elsewhere: " + row.Elsewhere)
	}
	if row.Source != "" {
		p.macro("PP")
		p.text("Source: " + row.Source + ".")
	}
}

// capital is s with its first letter in upper case.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
