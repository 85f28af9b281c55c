package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/dustin/go-humanize"

	"github.com/fatkit/fatkit/pkg/vol"
)

// mostAlike is how many findings of one code are printed without -v: a damaged
// table can have thousands, and the first ones tell the story.
const mostAlike = 20

// textReporter prints checks for people.
type textReporter struct{ a *app }

func (t textReporter) Failed(image string, err error) { t.a.fail(image, err) }

// Image prints one line for each finding, then what it comes to and what to do.
func (t textReporter) Image(d *checkDoc) {
	for _, v := range d.Volumes {
		name := region{part: v.Partition}.name(printable(d.Image))
		switch v.Verdict {
		case verdictSkipped:
			if !t.a.quiet {
				t.a.printf("%s: skipped: %s\n", name, printable(v.Reason))
			}
		case verdictUnreadable:
			t.a.tell("fatkit: %s: cannot be checked: %s\n", name, printable(v.Reason))
		default:
			t.volume(name, v)
		}
	}
	if d.DryRun {
		t.writes(d)
	}
	t.advise(d)
	_ = t.a.out.Flush() // bufio keeps the error for the last Flush
}

func (t textReporter) volume(name string, v *volumeDoc) {
	t.findings(name, v.Findings)
	if v.Reason != "" {
		t.a.tell("fatkit: %s: %s\n", name, printable(v.Reason))
	}
	if t.a.quiet {
		return
	}
	t.a.printf("%s: %s, %s: %s\n", name, describe(v.volumeHead), t.verdict(v), statsLine(v))
	if t.a.verbose {
		t.a.printf("%s: %s of %s each, %s in more than one piece, %s read in %.2f s\n", name,
			plural(v.Stats.Clusters, "cluster", "clusters"), humanize.IBytes(uint64(max(v.info.ClusterSize, 0))),
			plural(v.Stats.FragmentedFiles, "file", "files"), humanize.IBytes(uint64(max(v.Stats.BytesRead, 0))), v.Stats.Seconds)
	}
}

// findings prints them; of many with the same code and fate only the first,
// unless the user wants them all.
func (t textReporter) findings(name string, fs []findingDoc) {
	shown := map[string]int{}
	for _, f := range fs {
		kind := f.Code + " " + f.Repaired
		if shown[kind]++; shown[kind] <= mostAlike || t.a.verbose {
			t.a.printf("%s: %s %s %s%s%s\n", name, t.severity(f.severity), f.Code,
				where(f.locationDoc), printable(f.Message), fate(f))
		}
	}
	if t.a.verbose {
		return
	}
	for _, f := range fs {
		kind := f.Code + " " + f.Repaired
		if more := shown[kind] - mostAlike; more > 0 {
			t.a.printf("%s: %s %s and %d more like it%s (-v lists all)\n", name, t.severity(f.severity), f.Code, more, fate(f))
			shown[kind] = 0
		}
	}
}

// where is the place of a finding, with a colon behind it.
func where(l locationDoc) string {
	var parts []string
	if l.Path != "" {
		parts = append(parts, printable(l.Path))
	}
	if l.Cluster != 0 {
		parts = append(parts, fmt.Sprintf("cluster %d", l.Cluster))
	}
	if l.Offset != nil {
		parts = append(parts, fmt.Sprintf("byte %d", *l.Offset))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": "
}

// fate is what was, would be or can be done about a finding.
func fate(f findingDoc) string {
	switch {
	case f.Repaired != "":
		return "; repaired: " + repairTitle(f, f.Repaired)
	case f.WouldRepair != "":
		return "; would be repaired: " + repairTitle(f, f.WouldRepair)
	case len(f.Repairs) > 0 && f.severity > vol.SevInfo:
		r, can := f.Repairs[0], "; can be repaired: "
		if !f.mendable {
			can = "; what would be right: "
		}
		return can + r.Title + lossWords(r.Loss)
	}
	return ""
}

func repairTitle(f findingDoc, name string) string {
	for _, r := range f.Repairs {
		if r.Name == name {
			return r.Title
		}
	}
	return name
}

// lossWords says what a repair may cost, in brackets; nothing where it is nothing.
func lossWords(loss string) string {
	switch loss {
	case vol.LossData.String():
		return " (contents may be lost)"
	case vol.LossMetadata.String():
		return " (a name, time or label may be lost)"
	}
	return ""
}

// severity is a word of constant width, in colour where that is wanted.
func (t textReporter) severity(s vol.Severity) string {
	word := fmt.Sprintf("%-7s", s)
	switch s {
	case vol.SevError:
		return t.a.colour("31", word)
	case vol.SevWarning:
		return t.a.colour("33", word)
	}
	return word
}

// verdict is what became of the findings, in words.
func (t textReporter) verdict(v *volumeDoc) string {
	var repaired, would, warnings, faults uint64
	for _, f := range v.Findings {
		switch {
		case f.Repaired != "":
			repaired++
		case f.WouldRepair != "":
			would++
		case f.severity == vol.SevWarning:
			warnings++
		case f.severity == vol.SevError:
			faults++
		}
	}
	var words []string
	if repaired > 0 {
		words = append(words, fmt.Sprintf("%d repaired", repaired))
	}
	if would > 0 {
		words = append(words, fmt.Sprintf("%d would be repaired", would))
	}
	if faults > 0 {
		words = append(words, plural(faults, "error left", "errors left"))
	}
	if warnings > 0 {
		words = append(words, plural(warnings, "warning left", "warnings left"))
	}
	if len(words) == 0 {
		return t.a.colour("32", "clean")
	}
	return strings.Join(words, ", ")
}

// describe names a volume.
func describe(h volumeHead) string {
	s := strings.ToUpper(h.Type)
	if h.Label != "" {
		s += " " + strconv.Quote(h.Label)
	}
	if h.ID != "" {
		s += " " + h.ID
	}
	return s + ", " + humanize.IBytes(uint64(max(h.Size, 0)))
}

func statsLine(v *volumeDoc) string {
	s := plural(v.Stats.Files, "file", "files") + ", " + plural(v.Stats.Directories, "directory", "directories")
	if v.Stats.Clusters > 0 {
		s += fmt.Sprintf(", %.0f %% used", 100*float64(v.Stats.UsedClusters)/float64(v.Stats.Clusters))
	}
	return s
}

// writes prints what a dry run would have written.
func (t textReporter) writes(d *checkDoc) {
	var total int64
	for i, w := range d.Writes {
		total += w.Length
		if i < mostAlike || t.a.verbose {
			t.a.printf("%s: would write %d bytes at byte %d\n", printable(d.Image), w.Length, w.Offset)
		}
	}
	if more := len(d.Writes) - mostAlike; more > 0 && !t.a.verbose {
		t.a.printf("%s: and %d more (-v lists all)\n", printable(d.Image), more)
	}
	t.a.printf("%s: dry run: %s in %s would be written, nothing was\n", printable(d.Image),
		humanize.IBytes(uint64(total)), plural(uint64(len(d.Writes)), "place", "places"))
}

// advise says what a person can do about what is left.
func (t textReporter) advise(d *checkDoc) {
	if t.a.quiet || len(d.Writes) > 0 {
		return
	}
	safe, lossy, hopeless := 0, 0, 0
	for _, v := range d.Volumes {
		for _, f := range v.Findings {
			switch {
			case f.Repaired != "" || f.severity == vol.SevInfo:
			case len(f.Repairs) == 0 || !f.mendable:
				hopeless++
			case hasLossless(f.Repairs):
				safe++
			default:
				lossy++
			}
		}
	}
	name := shellWord(d.Image)
	if safe > 0 && d.mode == modeReport {
		t.a.note("\"fatkit check -p %s\" repairs what loses nothing (%d of %d)", name, safe, safe+lossy+hopeless)
	}
	if lossy > 0 && d.mode != modeAll {
		all := "all"
		if hopeless > 0 {
			all = fmt.Sprintf("all but %d", hopeless)
		}
		t.a.note("\"fatkit check -y --keep-undo %s\" repairs %s, and \"fatkit undo %s\" takes that back; copy what you need from the volume first", name, all, name)
	}
	if hopeless > 0 {
		t.a.note("%s cannot be repaired by fatkit; \"fatkit explain CODE\" says what it means", plural(uint64(hopeless), "problem", "problems"))
	}
}

func hasLossless(rs []repairDoc) bool {
	for _, r := range rs {
		if r.Loss == vol.LossNone.String() {
			return true
		}
	}
	return false
}

// colour wraps s in the SGR code, on a terminal and unless NO_COLOR is set.
func (a *app) colour(code, s string) string {
	if !a.colours {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// printable is s without what would act on a terminal: names on a damaged
// volume may hold anything.
func printable(s string) string {
	for _, r := range s {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			q := strconv.Quote(s)
			return q[1 : len(q)-1]
		}
	}
	return s
}

// shellWord is s as one word for a shell.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@+,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(printable(s), "'", `'\''`) + "'"
}
