package source

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// Contexts labels files for SELinux, as file_contexts(5) says: of the lines that
// match the path and the kind of a file the last one counts.
type Contexts struct{ rules []rule }

// rule is a line of it.
type rule struct {
	re      *regexp.Regexp
	kind    vol.Kind // 0: any
	context string   // "<<none>>": no label
}

// ReadContexts reads a file of contexts.
func ReadContexts(name string) (*Contexts, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	c, err := parseContexts(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

func parseContexts(r io.Reader) (*Contexts, error) {
	c := &Contexts{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		rule, err := parseRule(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", vol.ErrUsage, n, err)
		}
		c.rules = append(c.rules, rule)
	}
	return c, lines.Err()
}

func parseRule(fields []string) (rule, error) {
	var r rule
	kinds := map[string]vol.Kind{"--": vol.KindFile, "-d": vol.KindDir, "-l": vol.KindSymlink, "-p": vol.KindFIFO,
		"-s": vol.KindSocket, "-c": vol.KindChar, "-b": vol.KindBlock}
	switch len(fields) {
	case 2:
		r.context = fields[1]
	case 3:
		kind, ok := kinds[fields[1]]
		if !ok {
			return r, fmt.Errorf("%q is no kind of file", fields[1])
		}
		r.kind, r.context = kind, fields[2]
	default:
		return r, fmt.Errorf("%d fields: it is a pattern, perhaps a kind, and a context", len(fields))
	}
	var err error
	r.re, err = regexp.Compile("^(?:" + fields[0] + ")$")
	return r, err
}

// Label gives e the attribute security.selinux that the rules say, in the place
// of one that it had.
func (c *Contexts) Label(e *vol.Entry) {
	path := "/" + e.Path
	for i := len(c.rules) - 1; i >= 0; i-- {
		r := &c.rules[i]
		if r.kind != 0 && r.kind != e.Kind || !r.re.MatchString(path) {
			continue
		}
		if r.context != "<<none>>" {
			e.Xattrs = vol.SetXattr(e.Xattrs, "security.selinux", append([]byte(r.context), 0))
		}
		return
	}
}
