package exfat

import (
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/fatkit/fatkit/pkg/vol"
)

// encodeLabel is a volume label as its entry keeps it, [exFAT] §7.3.2 and
// §7.3.3: up to 11 units of UTF-16, without the characters that no name of a
// file may hold. Its case stays. Empty is no label.
func encodeLabel(s string) ([]uint16, error) {
	bad := func(why string, args ...any) ([]uint16, error) {
		return nil, fmt.Errorf("%w: label %q: %s", vol.ErrUsage, s, fmt.Sprintf(why, args...))
	}
	if !utf8.ValidString(s) {
		return bad("it is no UTF-8")
	}
	label := utf16.Encode([]rune(s))
	for _, u := range label {
		if badUnit(u) {
			return bad("%q must not be in it", rune(u))
		}
	}
	if len(label) > labelUnits {
		return bad("it takes %d units of UTF-16, more than %d", len(label), labelUnits)
	}
	return label, nil
}

// parseGUID reads a volume GUID, uuid.Nil for none.
func parseGUID(s string) (uuid.UUID, error) {
	if s == "" {
		return uuid.Nil, nil
	}
	id, err := uuid.Parse(s)
	if err != nil || uuid.Validate(s) != nil {
		return uuid.Nil, vol.Usagef("volume GUID %q: must be like 12345678-9abc-def0-1234-56789abcdef0", s)
	}
	// [exFAT] §7.5.5: the null GUID is the one value that cannot be.
	if id == uuid.Nil {
		return uuid.Nil, vol.Usagef("volume GUID %q: it must not be all zeros", s)
	}
	return id, nil
}

// swapGUID turns a GUID from the order of its text to that in which Microsoft
// stores it, or back: the first three of its fields are numbers, and so their
// low byte comes first.
func swapGUID(id uuid.UUID) uuid.UUID {
	slices.Reverse(id[0:4])
	slices.Reverse(id[4:6])
	slices.Reverse(id[6:8])
	return id
}
