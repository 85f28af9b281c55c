package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/fatkit/fatkit/pkg/vol"
)

// mostAlike is how many findings of one code are printed without -v: a damaged
// table can have thousands, and the first ones tell the story.
const mostAlike = 20

// textReporter prints checks for people: a line for each finding, which grep finds,
// or on a terminal a few lines that fit its width.
type textReporter struct {
	a     *app
	total tally
}

// Failed prints an image that could not be checked at all.
func (t *textReporter) Failed(image string, err error) {
	t.total.Failed++
	t.a.fail(image, err)
}

// End sums up what was more than one volume.
func (t *textReporter) End(int) {
	if !t.a.quiet && t.total.Volumes+t.total.Failed > 1 {
		t.a.printf("%s\n", t.a.fit(t.total.words()))
	}
}

// Image prints the findings, then what they come to and what to do.
func (t *textReporter) Image(d *checkDoc) {
	t.total.image(d)
	if d.Table != nil {
		t.findings(printable(d.Image), d.Table.Findings)
	}
	for _, v := range d.Volumes {
		name := region{part: v.Partition}.name(printable(d.Image))
		switch v.Verdict {
		case verdictSkipped:
			if !t.a.quiet && !t.tabular(d) {
				t.a.printf("%s: skipped: %s%s\n", name, printable(v.Reason), v.within())
			}
		case verdictUnreadable:
			t.a.tell("fatkit: %s: cannot be checked: %s\n", name, printable(v.Reason))
		default:
			t.volume(name, v, t.tabular(d))
		}
	}
	if t.tabular(d) && !t.a.quiet {
		t.table(d)
	}
	if d.DryRun {
		t.writes(d)
	}
	t.advise(d)
	_ = t.a.out.Flush() // bufio keeps the error for the last Flush
}

// tabular reports whether the volumes of d are shown as a table.
func (t *textReporter) tabular(d *checkDoc) bool { return t.a.columns > 0 && len(d.Volumes) > 1 }

// volume prints one volume; with row its last line is a row of a table that comes
// later.
func (t *textReporter) volume(name string, v *volumeDoc, row bool) {
	t.findings(name, v.Findings)
	if v.Reason != "" {
		t.a.tell("fatkit: %s: %s\n", name, printable(v.Reason))
	}
	if t.a.quiet {
		return
	}
	if !row {
		t.a.printf("%s\n", t.a.fit(fmt.Sprintf("%s: %s, %s: %s", t.a.bold(name), describe(v.volumeHead), t.verdict(v), statsLine(v))))
	}
	if t.a.verbose {
		t.a.printf("%s: %s of %s each, %s in more than one piece, %s read in %.2f s\n", name,
			plural(v.Stats.Clusters, "cluster", "clusters"), humanize.IBytes(uint64(max(v.info.ClusterSize, 0))),
			plural(v.Stats.FragmentedFiles, "file", "files"), humanize.IBytes(uint64(max(v.Stats.BytesRead, 0))), v.Stats.Seconds)
	}
}

// table prints a row for each volume of a disk.
func (t *textReporter) table(d *checkDoc) {
	if d.findings() > 0 {
		t.a.printf("\n")
	}
	rows := [][]string{append(headTitles(), "RESULT")}
	for _, v := range d.Volumes {
		result := v.Verdict
		switch v.Verdict {
		case verdictSkipped:
			result += ": " + v.Reason
		case verdictUnreadable:
			result = "cannot be checked"
		default:
			result = t.verdict(v) + ": " + statsLine(v)
		}
		rows = append(rows, append(v.columns(), result))
	}
	t.a.printTable(rows)
}

// sifted is a finding that is shown, and how many more like it are not.
type sifted struct {
	f    findingDoc
	more int // 0: it is shown itself
}

// sift takes of many findings with the same code and fate the first few, and
// says behind them how many more there are. all is that there are none.
func sift(fs []findingDoc, most int) (shown []sifted, all bool) {
	met := map[string]int{}
	for _, f := range fs {
		kind := f.Code + " " + f.Repaired
		if met[kind]++; met[kind] <= most {
			shown = append(shown, sifted{f: f})
		}
	}
	all = true
	for _, f := range fs {
		kind := f.Code + " " + f.Repaired
		if more := met[kind] - most; more > 0 {
			shown, all = append(shown, sifted{f, more}), false
			met[kind] = 0
		}
	}
	return shown, all
}

// findings prints them; of many with the same code and fate only the first,
// unless the user wants them all.
func (t *textReporter) findings(name string, fs []findingDoc) {
	most := mostAlike
	if t.a.verbose {
		most = len(fs)
	}
	shown, _ := sift(fs, most)
	for _, s := range shown {
		switch {
		case s.more > 0:
			t.a.printf("%s: %s %s and %d more like it%s (-v lists all)\n", name, t.severity(s.f.severity), s.f.Code, s.more, fate(s.f))
		case t.a.columns > 0:
			t.block(name, s.f)
		default:
			t.a.printf("%s: %s %s %s%s%s\n", name, t.severity(s.f.severity), s.f.Code,
				where(s.f.locationDoc), printable(s.f.Message), fate(s.f))
		}
	}
}

// block prints a finding as lines that fit the terminal: what it is and where, in
// words, and what can be done about it.
func (t *textReporter) block(name string, f findingDoc) {
	const indent = 2
	head := fmt.Sprintf("%s %s  %s", t.severity(f.severity), t.a.bold(f.Code), name)
	place := strings.TrimSuffix(where(f.locationDoc), ": ")
	switch {
	case place != "" && width(head)+2+width(place) <= t.a.columns:
		head += ", " + place
	case place != "":
		head += "\n" + indented(place, indent, t.a.columns)
	}
	t.a.printf("%s\n", head)
	t.a.printf("%s\n", indented(printable(f.Message), indent, t.a.columns))
	for _, line := range t.ways(f) {
		t.a.printf("%s\n", indented("- "+line, indent, t.a.columns))
	}
}

// ways are fates in more words: of each repair also what it loses, and with which
// option it is carried out.
func (t *textReporter) ways(f findingDoc) []string {
	if f.Repaired != "" || f.WouldRepair != "" || f.severity == vol.SevInfo || !f.mendable {
		return fates(f)
	}
	var lines []string
	safe := f.safe()
	for i, r := range f.Repairs {
		var flags []string
		if r.Loss == vol.LossNone.String() && safe {
			flags, safe = append(flags, "-p"), false
		}
		if i == 0 {
			flags = append(flags, "-y")
		}
		if len(flags) == 0 {
			flags = append(flags, "-r")
		}
		loss := lossWords(r.Loss)
		if loss == "" {
			loss = losesNothing
		}
		lines = append(lines, "repair with "+strings.Join(flags, " or ")+": "+r.Title+loss)
	}
	return lines
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

// fate is what was, would be or can be done about a finding, behind its message.
func fate(f findingDoc) string {
	s := ""
	for _, line := range fates(f) {
		s += "; " + line
	}
	return s
}

// fates is the same as a list: each repair with what it may lose.
func fates(f findingDoc) []string {
	switch {
	case f.Repaired != "":
		return []string{"repaired: " + repairTitle(f, f.Repaired)}
	case f.WouldRepair != "":
		return []string{"would be repaired: " + repairTitle(f, f.WouldRepair)}
	case f.severity == vol.SevInfo:
		return nil
	}
	var lines []string
	for i, r := range f.Repairs {
		can := "or: "
		switch {
		case i == 0 && f.mendable:
			can = "can be repaired: "
		case i == 0:
			can = "what would be right: "
		}
		lines = append(lines, can+r.Title+lossWords(r.Loss))
	}
	return lines
}

func repairTitle(f findingDoc, name string) string {
	for _, r := range f.Repairs {
		if r.Name == name {
			return r.Title
		}
	}
	return name
}

// losesNothing is what a person who chooses between repairs is told of one.
const losesNothing = " (loses nothing)"

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
func (t *textReporter) severity(s vol.Severity) string {
	word := fmt.Sprintf("%-7s", s)
	switch s {
	case vol.SevError:
		return t.a.colour("1;31", word)
	case vol.SevWarning:
		return t.a.colour("1;35", word) // yellow cannot be read on white
	}
	return word
}

// verdict is what became of the findings, in words.
func (t *textReporter) verdict(v *volumeDoc) string {
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
	switch {
	case len(words) == 0:
		return t.a.colour("32", "clean")
	case faults > 0:
		return t.a.colour("1;31", strings.Join(words, ", "))
	case warnings > 0:
		return t.a.colour("1;35", strings.Join(words, ", "))
	}
	return t.a.colour("32", strings.Join(words, ", "))
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
	return s + ", " + humanize.IBytes(uint64(max(h.Size, 0))) + h.within()
}

// within says what the partition is called that a volume is in, if it has a name.
func (h volumeHead) within() string {
	if h.PartitionName == "" {
		return ""
	}
	return ", partition" + called(h.PartitionName)
}

// headTitles are the headings of columns that describe volumes.
func headTitles() []string { return []string{"PART", "NAME", "TYPE", "LABEL", "SIZE"} }

// columns are what h has in these.
func (h volumeHead) columns() []string {
	return []string{fmt.Sprint(h.Partition), printable(h.PartitionName), strings.ToUpper(h.Type), printable(h.Label), humanize.IBytes(uint64(max(h.Size, 0)))}
}

// statsLine says what a check saw. One that could not go on to its end saw some of it
// or nothing, which must not read as an empty volume.
func statsLine(v *volumeDoc) string {
	if v.Stopped {
		return "the check could not go on to its end"
	}
	s := plural(v.Stats.Files, "file", "files") + ", " + plural(v.Stats.Directories, "directory", "directories")
	if v.Stats.Clusters > 0 {
		s += fmt.Sprintf(", %.0f %% used", 100*float64(v.Stats.UsedClusters)/float64(v.Stats.Clusters))
	}
	return s
}

// writes prints what a dry run would have written.
func (t *textReporter) writes(d *checkDoc) {
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
func (t *textReporter) advise(d *checkDoc) {
	if t.a.quiet || len(d.Writes) > 0 {
		return
	}
	safe, lossy, hopeless, rescue := 0, 0, 0, ""
	for _, v := range d.Volumes {
		for _, f := range v.Findings {
			switch {
			case f.Repaired != "" || f.severity == vol.SevInfo:
			case len(f.Repairs) == 0 || !f.mendable:
				hopeless++
			case f.safe():
				safe++
			default:
				lossy++
			}
			if f.Repaired == "" && isOrphans(f.Slug) {
				rescue = " --orphans rescue"
			}
		}
	}
	name := shellWord(d.Image)
	if safe > 0 && d.mode == modeReport {
		t.a.hint("\"fatkit check -p %s\" repairs what loses nothing (%d of %d)", name, safe, safe+lossy+hopeless)
	}
	if lossy > 0 && d.mode != modeAll {
		all := "all"
		if hopeless > 0 {
			all = fmt.Sprintf("all but %d", hopeless)
		}
		t.a.hint("\"fatkit check -y%s --keep-undo %s\" repairs %s, and \"fatkit undo %s\" takes that back; copy what you need from the volume first", rescue, name, all, name)
	}
	if d.Table != nil && len(d.Table.Findings) > 0 {
		t.a.hint("fatkit does not change partition tables; \"fatkit explain %s\" says what does", d.Table.Findings[0].Code)
	}
	if hopeless > 0 {
		t.a.hint("%s cannot be repaired by fatkit; \"fatkit explain CODE\" says what it means", plural(uint64(hopeless), "problem", "problems"))
	}
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
	plain := 0
	for plain < len(s) && ' ' <= s[plain] && s[plain] <= '~' {
		plain++
	}
	rest := s[plain:] // nothing, of most names
	if utf8.ValidString(rest) && strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// shellWord is s as one word for a shell: what would act on a terminal is spelled as
// $'...' has it (POSIX.1-2024, 2.2.4), and nothing that begins with a dash is an option.
func shellWord(s string) string {
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	shown := printable(s)
	switch {
	case s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@+,") == "":
		return s
	case shown != s:
		return "$'" + strings.ReplaceAll(shown, "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
