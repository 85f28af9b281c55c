package fat

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// What iconv(1) of glibc makes of every character beyond ASCII of every page, with
// which mtools reads and writes short names, is what we make of it, both ways.
func TestCodepagesPeer(t *testing.T) {
	iconv := voltest.Peer(t, "iconv")
	if out, err := exec.Command(iconv, "--version").Output(); err != nil || !strings.Contains(string(out), "GLIBC") && !strings.Contains(string(out), "GNU libc") {
		needs.Lacks(t, "iconv of glibc")
	}
	convert := func(from, to string, lines [][]byte) [][]byte {
		cmd := exec.Command(iconv, "-c", "-f", from, "-t", to)
		cmd.Stdin = bytes.NewReader(append(bytes.Join(lines, []byte("\n")), '\n'))
		out, _ := cmd.Output() // that it left something out is an error
		return bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n"))
	}
	for _, number := range codepageNumbers() {
		cp, err := newCodepage(number)
		must(t, err)
		var codes, texts [][]byte
		for u := range 1 << 16 {
			// glibc leaves 0xCA of page 1255 out, and Windows does not.
			if code, ok := cp.codes[uint16(u)]; ok && (number != 1255 || code != 0xCA) {
				b := []byte{byte(code)}
				if code > 0xFF {
					b = []byte{byte(code >> 8), byte(code)}
				}
				codes = append(codes, b)
				texts = append(texts, []byte(string(rune(u))))
			}
		}
		page := fmt.Sprintf("CP%d", number)
		if got := convert(page, "UTF-8", codes); !slices.EqualFunc(got, texts, bytes.Equal) {
			t.Errorf("page %d is read otherwise by iconv: %s", number, firstOdd(got, texts))
		}
		if got := convert("UTF-8", page, texts); !slices.EqualFunc(got, codes, bytes.Equal) {
			t.Errorf("page %d is written otherwise by iconv: %s", number, firstOdd(got, codes))
		}
	}
}

// firstOdd is the first of got that is not as in want.
func firstOdd(got, want [][]byte) string {
	for i := range min(len(got), len(want)) {
		if !bytes.Equal(got[i], want[i]) {
			return fmt.Sprintf("%q (% X), not %q (% X)", got[i], got[i], want[i], want[i])
		}
	}
	return fmt.Sprintf("%d of %d lines", len(got), len(want))
}
