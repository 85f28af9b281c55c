package fat

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/fatkit/fatkit/pkg/vol"
)

const labelLen = 11

func padLabel(s string) []byte {
	return append([]byte(s), bytes.Repeat([]byte{' '}, labelLen-len(s))...)
}

// encodeLabel is a volume label as the boot sector keeps it, nil for none.
// [FAT] BS_VolLab and DIR_Name: 11 bytes of the code page in upper case, with
// the characters of a short name, padded with spaces.
func encodeLabel(s string) ([]byte, error) {
	bad := func(why string, args ...any) ([]byte, error) {
		return nil, fmt.Errorf("%w: label %q: %s", vol.ErrUsage, s, fmt.Sprintf(why, args...))
	}
	if !utf8.ValidString(s) {
		return bad("it is no UTF-8")
	}
	var b []byte
	for _, r := range s {
		if unicode.IsControl(r) {
			return bad("%q must not be in it", r)
		}
		up := unicode.ToUpper(r)
		c, ok := charmap.CodePage437.EncodeRune(up)
		if !ok {
			return bad("%q is not in code page 437 in upper case", r)
		}
		switch classifyShort(c, len(b)) {
		case shortLeading:
			return bad("it must not start with a space")
		case shortIllegal, shortLongOnly:
			return bad("%q must not be in it", r)
		}
		b = append(b, c)
	}
	b = b[:trimSpaces(b)]
	if len(b) > labelLen {
		return bad("it is %d characters long, more than %d", len(b), labelLen)
	}
	// [FAT] BS_VolLab: this text says that there is no label.
	if len(b) == 0 || string(b) == noName {
		return nil, nil
	}
	return padLabel(string(b)), nil
}

// labelEntryName is the label as its directory entry keeps it: [FAT]
// DIR_Name[0], 0xE5 would mark a free slot and is written as 0x05.
func labelEntryName(label []byte) []byte {
	name := bytes.Clone(label)
	if name[0] == entryDeleted {
		name[0] = entryKanji
	}
	return name
}

// labelText is the label as a user sees it, "" for none.
func (r *formatRequest) labelText() string { return labelText(r.label) }
