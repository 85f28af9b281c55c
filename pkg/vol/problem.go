package vol

import (
	"fmt"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Severity of a problem.
type Severity int

const (
	SevInfo    Severity = iota // worth knowing
	SevWarning                 // legal but suspicious
	SevError                   // structure is wrong or data at risk
)

func (s Severity) String() string { return [...]string{"info", "warning", "error"}[s] }

// Loss says what a repair may cost.
type Loss int

const (
	LossNone     Loss = iota // nothing a user could miss
	LossMetadata             // a name, a time, a label; no file contents
	LossData                 // contents may go
)

func (l Loss) String() string { return [...]string{"none", "metadata", "data"}[l] }

// Problem is a row of a format's catalogue. Codes are permanent: a code is
// never given to another problem, nor taken away.
type Problem struct {
	Code, Slug string
	Severity   Severity
	Title      string // what is wrong, in a few words
	Explain    string // what it means
	Source     string // the rule that is broken: document and section
	Cause      string // how it comes about
	Elsewhere  string // what other tools and systems do with it
	Repairs    []Repair
}

// Words are the codes of several problems, with blanks between, and a text on them:
// what one fault has for its cause others of its kind have, too.
type Words [2]string

// Describe puts causes, and what others do, into the rows of a catalogue. A code of
// which there is no row is a mistake of the package, and panics.
func Describe(ps []Problem, causes, elsewhere []Words) []Problem {
	fill := func(ws []Words, field func(*Problem) *string) {
		for _, w := range ws {
			for _, code := range strings.Fields(w[0]) {
				p := Find(ps, code)
				if p == nil {
					panic("there is no problem " + code)
				}
				*field(p) = w[1]
			}
		}
	}
	fill(causes, func(p *Problem) *string { return &p.Cause })
	fill(elsewhere, func(p *Problem) *string { return &p.Elsewhere })
	return ps
}

// Repair is one way to mend a problem, the preferred one first.
type Repair struct {
	Name, Title string
	Loss        Loss
}

// Location is where a finding is. Offsets are bytes from the start of the
// volume; the zero value of a field means that it does not apply.
type Location struct {
	Path    string
	Cluster uint32 // 0: none; no format numbers a data cluster 0
	Range   dev.Range
	// Same is what tells the place apart where its bytes move whenever they are
	// written, as those of a table with two copies do; else "".
	Same string
}

// Finding is a problem met on a volume.
type Finding struct {
	*Problem
	Loc       Location
	Related   []Location
	Detail    string // what is there and what should be, in words
	Got, Want any    // the values, where there are two
	// Offer names the repairs of the problem that are possible here; nil is
	// all of them.
	Offer []string
}

// Key tells findings apart over the rounds of a check.
func (f *Finding) Key() string {
	if f.Loc.Same != "" {
		return f.Code + "|" + f.Loc.Same
	}
	return fmt.Sprintf("%s|%s|%d|%d", f.Code, f.Loc.Path, f.Loc.Cluster, f.Loc.Range.Off)
}

// Message is the finding in one line, without its place.
func (f *Finding) Message() string {
	s := f.Title
	if f.Detail != "" {
		s += ": " + f.Detail
	}
	if f.Got != nil && f.Want != nil {
		s += fmt.Sprintf(" (is %v, should be %v)", f.Got, f.Want)
	} else if f.Got != nil {
		s += fmt.Sprintf(" (%v)", f.Got)
	}
	return s
}

// Offered are the repairs that are possible for f.
func (f *Finding) Offered() []Repair {
	if f.Offer == nil {
		return f.Repairs
	}
	var out []Repair
	for _, name := range f.Offer {
		for _, r := range f.Repairs {
			if r.Name == name {
				out = append(out, r)
			}
		}
	}
	return out
}

// Find is the problem with this code or slug, or nil.
func Find(ps []Problem, codeOrSlug string) *Problem {
	for i := range ps {
		if ps[i].Code == codeOrSlug || ps[i].Slug == codeOrSlug {
			return &ps[i]
		}
	}
	return nil
}

// NewReason is the row of ps that slug names, with what was found.
func NewReason(ps []Problem, slug, format string, args ...any) Reason {
	r := Reason{Message: fmt.Sprintf(format, args...)}
	if p := Find(ps, slug); p != nil {
		r.Code = p.Code
	}
	return r
}
