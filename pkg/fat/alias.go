package fat

import (
	"errors"
	"hash/fnv"
	"strconv"
	"unicode"
)

// basisName is the start of a short name that is made from a long one, [FAT]
// "The Basis-Name Generation Algorithm".
type basisName struct {
	base, ext []byte // up to 8 and 3 bytes
	// lossy: the short name does not say all that the long one says, so that
	// it needs a numeric tail.
	lossy bool
}

// basis makes the basis of a short name for units. Where nobody said which code
// page will be used to read it, letters beyond ASCII are taken for such as it
// does not have, and become '_'.
func (cp codepage) basis(units []uint16) basisName {
	var b basisName
	// Leading periods and all spaces go.
	for len(units) > 0 && (units[0] == '.' || units[0] == ' ') {
		units = units[1:]
		b.lossy = true
	}
	dot := -1
	for i, u := range units {
		if u == '.' {
			dot = i
		}
	}
	stem, ext := units, []uint16(nil)
	if dot >= 0 {
		stem, ext = units[:dot], units[dot+1:]
	}
	b.base = b.part(cp, stem, 8, 0)
	b.ext = b.part(cp, ext, 3, 8)
	if len(b.base) == 0 {
		b.base, b.lossy = []byte{'_'}, true
	}
	return b
}

// part is at most n bytes of one side of the period, which begins at byte first.
func (b *basisName) part(cp codepage, units []uint16, n, first int) []byte {
	var out []byte
	for _, u := range units {
		if u == ' ' || u == '.' {
			b.lossy = true
			continue
		}
		if len(out) == n {
			b.lossy = true
			break
		}
		had := len(out)
		var ok bool
		if out, ok = cp.encode(out, foldUnit(u), first+had); !ok {
			out, b.lossy = append(out[:had], '_'), true
		}
		if len(out) > n { // no character is cut in two
			out, b.lossy = out[:had], true
			break
		}
	}
	return out
}

// with is the 11 bytes of the name: as many characters of base as leave room for
// tail.
func (b *basisName) with(cp codepage, base []byte, tail string) [11]byte {
	name := [11]byte([]byte("           "))
	n := copy(name[:], base[:cp.cut(base, 8-len(tail))])
	copy(name[n:8], tail)
	copy(name[8:], b.ext)
	return name
}

// Numeric tails: NAME~1 to NAME~4, then two letters and a hash of the long
// name, as Windows NT does: counting on would look at every file of a
// directory that holds thousands of similar names, for each new one.
const (
	plainTails  = 4
	hashTails   = 9
	hashRetries = 1 << 12 // bounds the search; a directory has 65536 slots
)

var errNoAlias = errors.New("no 8.3 name is left for it")

// alias is a short name for the long name units that is not taken. It
// does not depend on the clock or on chance.
func (cp codepage) alias(units []uint16, taken func([11]byte) bool) ([11]byte, error) {
	b := cp.basis(units)
	if !b.lossy {
		if name := b.with(cp, b.base, ""); !taken(name) {
			return name, nil
		}
	}
	for n := 1; n <= plainTails; n++ {
		if name := b.with(cp, b.base, "~"+strconv.Itoa(n)); !taken(name) {
			return name, nil
		}
	}
	const digits = "0123456789ABCDEF"
	stem := b.base[:cp.cut(b.base, 2)]
	for try := range hashRetries {
		h := hashUnits(units, byte(try), byte(try>>8))
		base := append(append([]byte(nil), stem...), digits[h>>12], digits[h>>8&15], digits[h>>4&15], digits[h&15])
		for n := 1; n <= hashTails; n++ {
			if name := b.with(cp, base, "~"+strconv.Itoa(n)); !taken(name) {
				return name, nil
			}
		}
	}
	return [11]byte{}, errNoAlias
}

// hashUnits is 16 bits of a hash of units and salt.
func hashUnits(units []uint16, salt ...byte) uint16 {
	f := fnv.New32a()
	for _, u := range units {
		f.Write([]byte{byte(u), byte(u >> 8)})
	}
	f.Write(salt)
	h := f.Sum32()
	return uint16(h ^ h>>16)
}

// fits is the short name that says all of units by itself, so that no long name
// is needed: ASCII in one case for each side of the period, the case kept in the
// bits of DIR_NTRes, which Windows NT and Linux read. Letters beyond ASCII do
// need one, as the code page they were written in is recorded nowhere, unless
// the user named it: then capitals are taken.
func (cp codepage) fits(units []uint16) (name [11]byte, nt byte, ok bool) {
	name = [11]byte([]byte("           "))
	pos, limit := 0, 8
	var upper, lower bool
	flush := func(bit byte) bool {
		if lower {
			nt |= bit
		}
		fits := !(upper && lower)
		upper, lower = false, false
		return fits
	}
	for i, u := range units {
		if u == '.' {
			if limit != 8 || pos == 0 || i == len(units)-1 || !flush(lcaseBase) {
				return name, 0, false
			}
			pos, limit = 8, 11
			continue
		}
		f := foldUnit(u)
		var buf [2]byte
		c, ok := cp.encode(buf[:0], f, pos)
		if pos+len(c) > limit || f == ' ' || !ok || f >= 0x7F && f != u {
			return name, 0, false
		}
		// Who does not know the page, as fsck.fat 4.2 does not, renames it.
		if len(c) == 2 && classifyShort(c[1], 1) == shortIllegal {
			return name, 0, false
		}
		lower = lower || f != u
		upper = upper || f == u && unicode.ToLower(rune(f)) != rune(f)
		pos += copy(name[pos:], c)
	}
	bit := byte(lcaseBase)
	if limit == 11 {
		bit = lcaseExtension
	}
	return name, nt, pos > 0 && flush(bit)
}
