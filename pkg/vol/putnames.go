package vol

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// PutNames gives the entries of a request, on a format of the FAT family, the
// names that they get: their own, or changed ones where that is wanted.
type PutNames struct {
	Format string // as people call it
	Most   int    // UTF-16 units of a name
	// Encode refuses a name that cannot be.
	Encode func(name string) ([]uint16, error)
}

// Name is the name for an entry whose own is name, which rename allows to
// change. taken tells what a name is of: of something that was there, of an
// entry of this request, or of nothing, which is "".
func (p *PutNames) Name(e *Entry, name string, rename bool, taken func(string) string) (string, error) {
	fit := name
	_, err := p.Encode(name)
	if err != nil && !rename {
		return "", EntryError(e, "%w", err)
	}
	if err != nil {
		fit = FitName(name, p.Most)
	}
	other := taken(fit)
	switch {
	case other == "":
		return fit, nil
	case !rename && path.Base(other) == path.Base(e.Name()):
		return "", EntryError(e, "%s has the same name there; --rename changes one of them", other)
	case !rename:
		return "", EntryError(e, "%s has the same name there, as upper and lower case do not count; --rename changes one of them", other)
	}
	return p.free(e, fit, taken)
}

// maxTries bounds the search for a name.
const maxTries = 1 << 16

// free is fit with a number before its extension.
func (p *PutNames) free(e *Entry, fit string, taken func(string) string) (string, error) {
	ext := path.Ext(fit)
	stem := strings.TrimSuffix(fit, ext)
	if stem == "" || len(ext) > 16 {
		stem, ext = fit, ""
	}
	for n := 1; n < maxTries; n++ {
		tail := "~" + strconv.Itoa(n) + ext
		name := FitName(stem, p.Most-utf8.RuneCountInString(tail)*2) + tail
		if taken(name) == "" {
			return name, nil
		}
	}
	return "", EntryError(e, "no name is left for it")
}
