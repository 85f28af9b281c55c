package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Contexts labels files for SELinux, as selabel_file(5) says: of the lines that match
// the path and the kind of a file the last one counts, and a path without special
// characters goes before all patterns, wherever it stands.
type Contexts struct{ rules []rule } // what goes before others stands behind them

// rule is a line of it.
type rule struct {
	re      *regexp.Regexp // nil: prefix is the whole path
	prefix  string         // what every path begins with that matches
	plain   bool           // it has no special characters
	kind    vol.Kind       // 0: any
	context string         // "<<none>>": no label
}

// ReadContexts reads a file of contexts. Errors are ErrUsage with the line, those of
// reading, and that of ctx, for a pipe waits for who writes to it.
func ReadContexts(ctx context.Context, name string) (*Contexts, error) {
	return dev.Await(ctx, func() (*Contexts, error) { return readContexts(name) }, nil)
}

func readContexts(name string) (*Contexts, error) {
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

// maxContextLine is how long a line may be, in bytes.
const maxContextLine = 1 << 20

func parseContexts(r io.Reader) (*Contexts, error) {
	c := &Contexts{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxContextLine)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		rule, err := parseRule(line)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", vol.ErrUsage, n, err)
		}
		c.rules = append(c.rules, rule)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("%w: line %d has more than %d bytes", vol.ErrUsage, n+1, maxContextLine)
	}
	slices.SortStableFunc(c.rules, func(a, b rule) int {
		switch {
		case a.plain == b.plain:
			return 0
		case b.plain:
			return -1
		}
		return 1
	})
	return c, lines.Err()
}

// parseRule reads a line. As for libselinux it is ASCII; that also tells a file that was
// compiled, or begins with a mark of its byte order, which would be part of a path.
func parseRule(line string) (rule, error) {
	var r rule
	for i := range len(line) {
		if b := line[i]; b >= 0x80 || b == 0 {
			return r, fmt.Errorf("byte 0x%02x is no ASCII", b)
		}
	}
	kinds := map[string]vol.Kind{"--": vol.KindFile, "-d": vol.KindDir, "-l": vol.KindSymlink, "-p": vol.KindFIFO,
		"-s": vol.KindSocket, "-c": vol.KindChar, "-b": vol.KindBlock}
	fields := strings.Fields(line)
	if len(fields) > 3 && fields[3][0] == '#' {
		fields = fields[:3]
	}
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
	return r, r.compile(fields[0])
}

// compile takes a pattern for all of a path, in which a dot is any byte, and finds what
// can be compared without it: a policy has thousands of lines for each of all files.
func (r *rule) compile(pattern string) error {
	r.plain = plain(pattern)
	loose, err := regexp.Compile("(?s)" + pattern)
	if err != nil {
		return err
	}
	whole := false
	if r.prefix, whole = loose.LiteralPrefix(); whole {
		return nil
	}
	r.re, err = regexp.Compile("(?s)^(?:" + pattern + ")$")
	return err
}

// plain reports whether a pattern has no special characters, but those that are escaped.
func plain(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\':
			i++
		case strings.IndexByte(".^$?*+|[({", pattern[i]) >= 0:
			return false
		}
	}
	return true
}

// matches reports whether a path is one of r. It has a letter for each of its bytes.
func (r *rule) matches(path string) bool {
	if r.re == nil {
		return path == r.prefix
	}
	return strings.HasPrefix(path, r.prefix) && r.re.MatchString(path)
}

// perByte is s with a letter for each of its bytes, which is what patterns are about.
func perByte(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			letters := make([]rune, len(s))
			for k := range len(s) {
				letters[k] = rune(s[k])
			}
			return string(letters)
		}
	}
	return s
}

// Label gives e the attribute security.selinux that the rules say, in the place
// of one that it had.
func (c *Contexts) Label(e *vol.Entry) {
	path := perByte("/" + e.Path)
	for i := len(c.rules) - 1; i >= 0; i-- {
		r := &c.rules[i]
		if r.kind != 0 && r.kind != e.Kind || !r.matches(path) {
			continue
		}
		if r.context != "<<none>>" {
			e.Xattrs = vol.SetXattr(e.Xattrs, "security.selinux", append([]byte(r.context), 0))
		}
		return
	}
}
