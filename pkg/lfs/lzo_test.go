package lfs

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// lzoStream is a stream made by hand, with each instruction there is, and what it
// comes to.
func lzoStream() (src []byte, want string) {
	add := func(made string, b ...byte) { src, want = append(src, b...), want+made }
	add("", 0x11, 1)                                                        // LZO-RLE
	add("hello", append([]byte{17 + 5}, "hello"...)...)                     // literals before all
	add("helx", 0x40|4<<2|1, 0, 'x')                                        // 3 from 5 back, and a literal
	add("xx", 0, 0)                                                         // 2 from 1 back
	add("abcd", append([]byte{1}, "abcd"...)...)                            // 4 literals
	long := slices.Concat([]byte{0x20}, make([]byte, 140), []byte{5, 2, 0}) // 140 zeros stand for 255 each
	add(strings.Repeat("d", 31+140*255+5+2)+"yz", append(long, 'y', 'z')...)
	add("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00END", 0x18|3, 0xFF, 0xFF, 1, 'E', 'N', 'D')
	add("DDDDD", 0x80, 0)                                                           // 5 from 1 back
	add("12345678901234567890", append([]byte{0, 2}, "12345678901234567890"...)...) // 3+15+2 literals
	back := want[len(want)-2049-4:][:3]
	add(back, 0, 1)                                         // 3 from 2049+4 back, as more than 3 literals came last
	add(want[len(want)-16384-5:][:2+7+9], 0x10, 9, 5<<2, 0) // from 16384+5 back
	add(want[len(want)-16384-16384:][:3], 0x18|1, 0, 0)     // from 32768 back
	add("", 0x11, 0, 0)                                     // the end
	return src, want
}

func TestExpandLZO(t *testing.T) {
	src, want := lzoStream()
	dst := make([]byte, len(want))
	if err := expandLZO(dst, src); err != nil || string(dst) != want {
		t.Errorf("%v; equal up to %d of %d", err, commonPrefix(dst, want), len(want))
	}
	for n := range src {
		if err := expandLZO(make([]byte, len(want)), src[:n]); err == nil {
			t.Errorf("%d of %d bytes are enough", n, len(src))
		}
	}
	for name, c := range map[string]struct {
		size int
		src  []byte
	}{
		"beyond the end": {len(want) - 1, src},
		"too short":      {len(want) + 1, src},
		"bytes left":     {len(want), append(slices.Clone(src), 0)},
		"version 2":      {len(want), append([]byte{0x11, 2}, src[2:]...)},
		"before all":     {7, []byte{17 + 4, 'a', 'b', 'c', 'd', 0x40 | 4<<2, 0, 0x11, 0, 0}},
	} {
		if err := expandLZO(make([]byte, c.size), c.src); err == nil {
			t.Errorf("%s: it expands", name)
		}
	}
	// Of version 0 the distance that stands for zeros is a distance.
	if err := expandLZO(dst, src[2:]); err == nil && bytes.Equal(dst, []byte(want)) {
		t.Error("there are runs of zeros in version 0")
	}
}

func commonPrefix(a []byte, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// packedLZO is a stream of size bytes in which a pattern repeats itself.
func packedLZO(algo byte, pattern string, size int) (src []byte) {
	if algo == comprLZORLE {
		src = []byte{lzoVersioned, 1}
	}
	src = append(append(src, byte(lzoVersioned+len(pattern))), pattern...)
	rest := size - len(pattern) - 2 - 31
	src = append(append(src, 0x20), make([]byte, rest/255)...)
	return append(src, byte(rest%255), byte(len(pattern)-1)<<2, 0, 0x11, 0, 0)
}

func FuzzExpandLZO(f *testing.F) {
	src, want := lzoStream()
	f.Add(src)
	f.Fuzz(func(_ *testing.T, src []byte) { _ = expandLZO(make([]byte, len(want)), src) })
}
