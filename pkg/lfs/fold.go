package lfs

import (
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// foldName is a name as a directory that folds case takes it, [Linux] behaviour
// f2fs_init_casefolded_name() and utf8_casefold(): decomposed, with case folded
// in full, by Unicode 12.1. What cannot be folded is taken as it is. ok is false
// where that depends on the version of Unicode, or of the kernel: some ignore
// characters that cannot be seen.
func foldName(buf, name []byte) (folded []byte, ok bool) {
	folded, able, ok := foldWhole(buf, name)
	if ok && !able {
		return name, true
	}
	return folded, ok
}

// foldWhole is foldName of what can be folded; able is false for what is no
// UTF-8, and for a name that has as many bytes as a name can when it is folded,
// or more: [Linux] behaviour utf8_casefold(), whose room is for a final zero, too.
func foldWhole(buf, name []byte) (folded []byte, able, ok bool) {
	ascii := true
	for _, c := range name {
		ascii = ascii && c < utf8.RuneSelf
	}
	if ascii {
		return appendLower(buf, name), len(name) < maxNameLen, true
	}
	if !utf8.Valid(name) {
		return nil, false, true
	}
	for _, r := range string(name) {
		if !foldsAlike(r) {
			return nil, false, false
		}
	}
	folded = norm.NFD.Bytes(cases.Fold().Bytes(norm.NFD.Bytes(name)))
	return folded, len(folded) < maxNameLen, true
}

// appendLower adds ASCII letters in lower case, and all else as it is.
func appendLower(to, name []byte) []byte {
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		to = append(to, c)
	}
	return to
}

// foldsAlike tells whether all versions of Unicode from 12.1 on fold r alike, as
// far as it is simple to say: Latin, Greek and Cyrillic letters, Kana, ideographs
// of Han, and Hangul.
func foldsAlike(r rune) bool {
	const softHyphen, graphemeJoiner = 0xAD, 0x34F // are ignored by some
	switch {
	case r == softHyphen || r == graphemeJoiner:
		return false
	case r < 0x500, 0x1E00 <= r && r < 0x2000, 0x3041 <= r && r < 0x3100, 0x4E00 <= r && r < 0x9FF0, 0xAC00 <= r && r < 0xD7A4:
		return true
	}
	return false
}
