package main

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// githubReporter prints workflow commands of GitHub Actions, which make
// annotations of them.
type githubReporter struct{ a *app }

// Image prints a line for each finding; of many alike only the first.
func (g *githubReporter) Image(d *checkDoc) {
	if d.Table != nil {
		g.findings(d.Image, d.Image, d.Table.Findings)
	}
	for _, v := range d.Volumes {
		name := region{part: v.Partition}.name(d.Image)
		if v.Verdict == verdictUnreadable {
			g.line("error", d.Image, "cannot be checked", printable(name+": "+v.Reason))
		}
		g.findings(d.Image, name, v.Findings)
	}
	_ = g.a.out.Flush() // bufio keeps the error for the last Flush
}

func (g *githubReporter) findings(image, name string, fs []findingDoc) {
	shown, _ := sift(fs, mostAlike)
	for _, s := range shown {
		f, level := s.f, "error"
		switch {
		case s.more > 0:
			g.line("notice", image, f.Code+" "+f.Slug, fmt.Sprintf("%s: and %d more like it", printable(name), s.more))
			continue
		case f.Repaired != "" || f.severity == vol.SevInfo:
			level = "notice"
		case f.severity == vol.SevWarning:
			level = "warning"
		}
		g.line(level, image, f.Code+" "+f.Slug, printable(name)+": "+where(f.locationDoc)+printable(f.Message)+fate(f))
	}
}

// line prints one command. Values of properties are escaped further than what
// stands behind them.
func (g *githubReporter) line(level, image, title, text string) {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	g.a.printf("::%s file=%s,title=%s::%s\n", level, property.Replace(printable(imagePath(image))), property.Replace(title), data.Replace(text))
}

// Failed prints an image that could not be checked.
func (g *githubReporter) Failed(image string, err error) {
	g.line("error", image, "cannot be checked", printable(image+": "+explainError(err)))
	_ = g.a.out.Flush() // bufio keeps the error for the last Flush
}

// End has nothing to add.
func (g *githubReporter) End(int) {}

// What JUnit made the usual form of test results: as Jenkins and GitLab read it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		File       string          `xml:"file,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr"`
		Time    string        `xml:"time,attr"`
		Skipped *junitMessage `xml:"skipped"`
		Error   *junitMessage `xml:"error"`
		Failure *junitMessage `xml:"failure"`
		Out     *junitText    `xml:"system-out"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",cdata"`
	}
	junitText struct {
		Text string `xml:",cdata"`
	}
)

// junitReporter makes a suite of each volume, with a case for the check and one
// for each code that was met. A case fails by what --fail-on says.
type junitReporter struct {
	a       *app
	failOn  vol.Severity
	suites  []junitSuite
	seconds float64
}

// Image adds its volumes.
func (j *junitReporter) Image(d *checkDoc) {
	if t := d.Table; t != nil {
		s := newSuite(d.Image, d.Image, 0, junitProperty{"table", t.Scheme})
		s.Cases = append(s.Cases, junitCase{Name: "partition table"})
		j.add(s, t.Findings)
	}
	for _, v := range d.Volumes {
		seconds := 0.0
		if v.Stats != nil {
			seconds = v.Stats.Seconds
		}
		j.seconds += seconds
		s := newSuite(region{part: v.Partition}.name(d.Image), d.Image, seconds,
			junitProperty{"type", v.Type}, junitProperty{"label", printable(v.Label)}, junitProperty{"id", v.ID})
		c := junitCase{Name: "check"}
		switch v.Verdict {
		case verdictSkipped:
			c.Skipped = &junitMessage{Message: printable(v.Reason)}
		case verdictUnreadable:
			c.Error = &junitMessage{Message: printable(v.Reason), Type: verdictUnreadable}
		default:
			c.Out = &junitText{describe(v.volumeHead) + ": " + statsLine(v) + "\n"}
		}
		s.Cases = append(s.Cases, c)
		j.add(s, v.Findings)
	}
}

// Failed adds an image that could not be checked.
func (j *junitReporter) Failed(image string, err error) {
	kind, _ := classify(err)
	s := newSuite(image, image, 0)
	s.Cases = append(s.Cases, junitCase{Name: "check", Error: &junitMessage{Message: printable(explainError(err)), Type: kind}})
	j.add(s, nil)
}

func newSuite(name, image string, seconds float64, ps ...junitProperty) junitSuite {
	return junitSuite{Name: printable(name), File: printable(imagePath(image)), Time: fmt.Sprintf("%.3f", seconds), Properties: ps}
}

// add adds a suite with a case for each code among fs.
func (j *junitReporter) add(s junitSuite, fs []findingDoc) {
	at := map[string]int{}
	for _, f := range fs {
		i, ok := at[f.Code]
		if !ok {
			i = len(s.Cases)
			at[f.Code] = i
			s.Cases = append(s.Cases, junitCase{Name: f.Code + " " + f.Slug})
		}
		c, line := &s.Cases[i], fmt.Sprintf("%s: %s%s%s\n", f.Severity, where(f.locationDoc), printable(f.Message), fate(f))
		switch {
		case (f.Repaired != "" || f.severity < j.failOn) && c.Out == nil:
			c.Out = &junitText{line}
		case f.Repaired != "" || f.severity < j.failOn:
			c.Out.Text += line
		case c.Failure == nil:
			c.Failure = &junitMessage{Message: printable(f.Message), Type: f.Code, Text: line}
		default:
			c.Failure.Text += line
		}
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Class, c.File, c.Time = s.Name, s.File, "0.000"
		if i == 0 {
			c.Time = s.Time
		}
		s.Tests++
		s.Failures += count(c.Failure)
		s.Errors += count(c.Error)
		s.Skipped += count(c.Skipped)
	}
	j.suites = append(j.suites, s)
}

// count is 1 for a message that is there.
func count(m *junitMessage) int {
	if m == nil {
		return 0
	}
	return 1
}

// End prints the document.
func (j *junitReporter) End(int) {
	all := junitSuites{Name: "fatkit check", Time: fmt.Sprintf("%.3f", j.seconds), Suites: j.suites}
	for _, s := range j.suites {
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
	}
	b, err := xml.MarshalIndent(all, "", "  ")
	if err != nil { // it is made of strings and numbers
		j.a.fail("", err)
		return
	}
	j.a.printf("%s%s\n", xml.Header, b)
}
