package fat

import (
	"bytes"

	"golang.org/x/text/encoding/charmap"
)

// labelText is a label of 11 bytes as text: code page 437, blanks at the end
// trimmed.
func labelText(b []byte) string {
	s := make([]rune, 0, 11)
	for _, c := range bytes.TrimRight(b, " \x00") {
		s = append(s, charmap.CodePage437.DecodeByte(c))
	}
	return string(s)
}
