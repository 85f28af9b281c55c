package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/vol"
)

// explainDoc is what explain --json prints.
type explainDoc struct {
	Schema   string       `json:"schema"`
	Problems []problemDoc `json:"problems"`
}

type problemDoc struct {
	Code      string      `json:"code"`
	Slug      string      `json:"slug"`
	Severity  string      `json:"severity"`
	Title     string      `json:"title"`
	Explain   string      `json:"explain"`
	Cause     string      `json:"cause"` // how it comes about
	Source    string      `json:"source"`
	Repairs   []repairDoc `json:"repairs"`
	Elsewhere string      `json:"elsewhere"` // what other tools and systems do with it
}

func (a *app) explainCommand() *cli.Command {
	return &cli.Command{
		Name:        "explain",
		Usage:       "explain what a check finds",
		ArgsUsage:   "[CODE...]",
		Description: "CODE is as check prints it, such as FAT-0138, or the name that --json calls slug.\nWithout one all codes are listed.",
		Action:      a.explain,
	}
}

func (a *app) explain(c *cli.Context) error {
	var ps []vol.Problem
	for _, code := range c.Args().Slice() {
		found := a.problems(code)
		if len(found) == 0 {
			return usagef("there is no problem with the code or name %q%s; \"fatkit explain\" lists all", code, a.nearProblem(code))
		}
		ps = append(ps, found...)
	}
	all := c.NArg() == 0
	if all {
		for _, c := range a.catalogues() {
			ps = append(ps, c.problems...)
		}
	}
	switch {
	case a.json:
		a.printJSON(newExplainDoc(ps))
	case all && !a.verbose:
		for _, p := range ps {
			a.printf("%-9s %-8s %-26s %s\n", p.Code, p.Severity, p.Slug, p.Title)
		}
	default:
		for i, p := range ps {
			if i > 0 {
				a.printf("\n")
			}
			a.printProblem(p)
		}
	}
	return nil
}

// nearProblem asks about the code or name that may have been meant.
func (a *app) nearProblem(code string) string {
	var have []string
	for _, c := range a.catalogues() {
		for _, p := range c.problems {
			have = append(have, p.Code, p.Slug)
		}
	}
	return didYouMean(code, have)
}

// problems are those with a code or name, in all catalogues: a name may stand
// for the same thing in several.
func (a *app) problems(code string) []vol.Problem {
	var ps []vol.Problem
	for _, c := range a.catalogues() {
		if p := vol.Find(c.problems, strings.ToUpper(code)); p != nil {
			ps = append(ps, *p)
		} else if p := vol.Find(c.problems, strings.ToLower(code)); p != nil {
			ps = append(ps, *p)
		}
	}
	return ps
}

func newExplainDoc(ps []vol.Problem) explainDoc {
	d := explainDoc{Schema: "fatkit.explain/1", Problems: []problemDoc{}}
	for _, p := range ps {
		out := problemDoc{p.Code, p.Slug, p.Severity.String(), p.Title, p.Explain, p.Cause, p.Source, []repairDoc{}, p.Elsewhere}
		for _, r := range p.Repairs {
			out.Repairs = append(out.Repairs, newRepairDoc(r))
		}
		d.Problems = append(d.Problems, out)
	}
	return d
}

func (a *app) printProblem(p vol.Problem) {
	a.printf("%s %s (%s)\n%s\n", p.Code, p.Slug, p.Severity, p.Title)
	if p.Explain != "" {
		a.printf("\n%s\n", wrap(p.Explain, 78))
	}
	if p.Cause != "" {
		a.printf("\n%s\n", wrap("How it comes about: "+p.Cause, 78))
	}
	if len(p.Repairs) == 0 {
		a.printf("\nfatkit has no repair for it.\n")
	} else {
		a.printf("\nRepairs, the first one preferred:\n")
	}
	for _, r := range p.Repairs {
		a.printf("  %-10s %s%s\n", r.Name, r.Title, lossWords(r.Loss.String()))
	}
	if p.Elsewhere != "" {
		a.printf("\n%s\n", wrap("Elsewhere: "+p.Elsewhere, 78))
	}
	if p.Source != "" && !a.quiet {
		a.printf("\nSource: %s\n", p.Source)
	}
}

// wrap breaks text into lines of at most width bytes, where words allow it.
func wrap(text string, width int) string {
	var b strings.Builder
	line := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case line+1+len(word) > width:
			b.WriteByte('\n')
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len(word)
	}
	return b.String()
}
