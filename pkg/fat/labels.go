package fat

import (
	"bytes"

	"golang.org/x/text/encoding/charmap"
)

// labelText is a label of 11 bytes as text: code page 437, blanks at the end
// trimmed, and 0x05 at its start for what it stands for, see entryByte.
func labelText(b []byte) string {
	s := make([]rune, 0, 11)
	for i, c := range bytes.TrimRight(b, " \x00") {
		s = append(s, charmap.CodePage437.DecodeByte(entryByte(c, i)))
	}
	return string(s)
}
