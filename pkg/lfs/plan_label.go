package lfs

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/fatkit/fatkit/pkg/vol"
)

// encodeLabel is a volume label as the superblock keeps it: up to 512 units of
// UTF-16. Empty is no label.
func encodeLabel(s string) ([]uint16, error) {
	bad := func(why string, args ...any) ([]uint16, error) {
		if len(s) > 64 {
			s = strings.ToValidUTF8(s[:64], "") + "…"
		}
		return nil, fmt.Errorf("%w: label %q: %s", vol.ErrUsage, s, fmt.Sprintf(why, args...))
	}
	if !utf8.ValidString(s) {
		return bad("it is no UTF-8")
	}
	if i := strings.IndexFunc(s, unicode.IsControl); i >= 0 {
		return bad("%q must not be in it", s[i:i+1])
	}
	label := utf16.Encode([]rune(s))
	if len(label) > labelUnits {
		return bad("it takes %d units of UTF-16, more than %d", len(label), labelUnits)
	}
	return label, nil
}

// parseUUID reads the UUID of a volume.
func parseUUID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil || len(s) != 36 { // other spellings are for other places
		return uuid.Nil, vol.Usagef("volume id %q: must be a UUID, like 12345678-9abc-4def-8123-456789abcdef", s)
	}
	if id == uuid.Nil {
		return uuid.Nil, vol.Usagef("volume id %q: it must not be all zeros, which others take for none", s)
	}
	return id, nil
}

// stir makes the n-th number of a seed. Seeds that differ in a few bits only,
// as times do, give numbers that differ in many.
func stir(seed, n uint64) uint64 {
	const golden = 0x9E3779B97F4A7C15
	z := seed + (n+1)*golden
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// uuidFrom makes a UUID of a seed, in the form of a random one: version 4 of
// RFC 9562.
func uuidFrom(seed uint64) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:8], stir(seed, 0))
	binary.BigEndian.PutUint64(id[8:], stir(seed, 1))
	id[6] = id[6]&0x0F | 0x40
	id[8] = id[8]&0x3F | 0x80
	return id
}

// versionFrom makes the version of the first checkpoint of a seed: an odd
// number of 31 bits. It is not 1 each time, so that a log that an earlier
// volume left behind is not taken for one of this.
func versionFrom(seed uint64) uint64 { return stir(seed, 2)>>33 | 1 }
