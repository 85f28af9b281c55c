package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

const (
	// leastColumns is the narrowest terminal that is written for.
	leastColumns = 40
	// mostColumns is how far lines of prose go on a wide one.
	mostColumns = 120
)

// columnsOf is how wide the terminal is that v is; 0 where it is none or does not
// say.
func columnsOf(v any) int {
	f, ok := v.(*os.File)
	if !ok || !isTerminal(v) {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil || w <= 0 {
		return 0
	}
	return max(w, leastColumns)
}

// bold is s in bold where standard output takes colours.
func (a *app) bold(s string) string { return a.colour("1", s) }

// fit is prose broken into lines for the terminal, if there is one.
func (a *app) fit(text string) string {
	if a.columns == 0 {
		return text
	}
	return indented(text, 0, a.columns)
}

// hint is a note that is broken into lines as what it stands beside.
func (a *app) hint(format string, args ...any) {
	if !a.quiet {
		a.tell("%s\n", a.fit("fatkit: "+fmt.Sprintf(format, args...)))
	}
}

// width is how many columns s takes, without the sequences that colour it.
func width(s string) int {
	n := 0
	for {
		before, rest, found := strings.Cut(s, "\x1b[")
		n += uniseg.StringWidth(before)
		if !found {
			return n
		}
		_, s, _ = strings.Cut(rest, "m")
	}
}

// indented is text broken into lines that leave columns of blanks in front, and
// fit a terminal that is so wide. A list item, "- ...", hangs by its dash. A word
// that is too long for a line is left whole: it may be a name to be copied.
func indented(text string, columns, wide int) string {
	lead := strings.Repeat(" ", columns)
	hang := lead
	if strings.HasPrefix(text, "- ") {
		hang += "  "
	}
	limit := min(wide, mostColumns)
	var b strings.Builder
	b.WriteString(lead)
	at := columns
	for i, word := range strings.Split(text, " ") { // a name may have several of them, and in front
		w := width(word)
		switch {
		case i == 0:
		case at+1+w > limit && at > utf8.RuneCountInString(hang):
			b.WriteString("\n" + hang)
			at = utf8.RuneCountInString(hang)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += w
	}
	return b.String()
}

// printTable prints rows in columns that fit the terminal: all but the last take
// what they need, and the last is broken over lines, or stands below the others
// where there is no room. The first row is the heading, and what has nothing below it
// is left out.
func (a *app) printTable(rows [][]string) {
	rows = withoutEmpty(rows)
	widths := make([]int, len(rows[0])-1)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], width(row[i]))
		}
	}
	lead := 0
	for _, w := range widths {
		lead += w + 2
	}
	wide := max(a.columns, leastColumns)
	below := lead > wide/2
	if below {
		lead = widths[0] + 2
	}
	for n, row := range rows {
		line := ""
		for i, w := range widths {
			line += row[i] + strings.Repeat(" ", w-width(row[i])+2)
		}
		last := indented(row[len(row)-1], lead, wide)
		switch {
		case n == 0 && below:
			a.printf("%s\n", a.bold(strings.TrimRight(line, " ")))
		case n == 0:
			a.printf("%s\n", a.bold(line+strings.TrimLeft(last, " ")))
		case below:
			a.printf("%s\n%s\n", strings.TrimRight(line, " "), last)
		default:
			a.printf("%s%s\n", line, strings.TrimLeft(last, " "))
		}
	}
}

// withoutEmpty is rows without the columns of which only the heading is there; the first and
// the last stay.
func withoutEmpty(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i := range rows[0] {
		empty := i > 0 && i < len(rows[0])-1 &&
			!slices.ContainsFunc(rows[1:], func(row []string) bool { return row[i] != "" })
		for n, row := range rows {
			if !empty {
				out[n] = append(out[n], row[i])
			}
		}
	}
	return out
}
