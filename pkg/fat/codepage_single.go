package fat

import (
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// codepageNumbers are the code pages that short names can be read and written in.
func codepageNumbers() []int {
	return []int{437, 737, 775, 850, 852, 855, 857, 858, 860, 861, 862, 863, 864, 865, 866, 869, 874,
		932, 936, 949, 950, 1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258}
}

// singlePage is what the bytes of a page stand for in which each is a character;
// nil where there is no such page.
func singlePage(number int) *[256]uint16 {
	m := map[int]*charmap.Charmap{
		437: charmap.CodePage437, 850: charmap.CodePage850, 852: charmap.CodePage852, 855: charmap.CodePage855,
		858: charmap.CodePage858, 860: charmap.CodePage860, 862: charmap.CodePage862, 863: charmap.CodePage863,
		865: charmap.CodePage865, 866: charmap.CodePage866, 874: charmap.Windows874,
		1250: charmap.Windows1250, 1251: charmap.Windows1251, 1252: charmap.Windows1252, 1253: charmap.Windows1253,
		1254: charmap.Windows1254, 1255: charmap.Windows1255, 1256: charmap.Windows1256, 1257: charmap.Windows1257, 1258: charmap.Windows1258,
	}[number]
	if m != nil {
		return charmapUnits(m)
	}
	upper := map[int]string{737: page737, 775: page775, 857: page857, 861: page861, 864: page864, 869: page869}[number]
	if upper == "" {
		return nil
	}
	t, c := charmapUnits(charmap.CodePage437), 0x80
	for _, r := range upper {
		t[c] = definedUnit(r)
		c++
	}
	if number == 864 {
		t['%'] = 0x066A // [MICSFT] CP864.TXT: the Arabic one
	}
	return t
}

// charmapUnits is what the bytes of m stand for.
func charmapUnits(m *charmap.Charmap) *[256]uint16 {
	t := new([256]uint16)
	for c := range t {
		t[c] = definedUnit(m.DecodeByte(byte(c)))
	}
	return t
}

// definedUnit is r as a unit, 0 where it says that there is none.
func definedUnit(r rune) uint16 {
	if r == utf8.RuneError {
		return 0
	}
	return uint16(r)
}
