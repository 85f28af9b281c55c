package fat

import (
	"context"
	"errors"
	"testing"
	"unicode/utf16"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// With a named code page letters beyond ASCII are in short names, too, and read
// back in it; without one they are not.
func TestCodepage(t *testing.T) {
	cp, err := newCodepage(850)
	must(t, err)
	u := func(s string) []uint16 { return utf16.Encode([]rune(s)) }
	for name, want := range map[string]string{"GRÜSSE.TXT": "GR\x9aSSE  TXT", "ÅRET": "\x8fRET       "} {
		short, _, ok := cp.fits(u(name))
		if !ok || string(short[:]) != want {
			t.Errorf("%s fits as %q, %v", name, short, ok)
		}
		if got := cp.decode(short[:], 0); got != name {
			t.Errorf("%s reads back as %s", name, got)
		}
		if _, _, ok := dosPage().fits(u(name)); ok {
			t.Errorf("%s fits in a page that nobody named", name)
		}
	}
	for _, name := range []string{"grüsse.txt", "日本.TXT", "Ж"} {
		if short, _, ok := cp.fits(u(name)); ok {
			t.Errorf("%s fits as %q", name, short)
		}
	}
	short, err := cp.alias(u("Grüße aus München.txt"), func([11]byte) bool { return false })
	if err != nil || string(short[:]) != "GR\x9a\xe1EA~1TXT" {
		t.Errorf("alias %q, %v", short, err)
	}
	// Õ (0xE5 in page 850) at the start is stored as 0x05: [FAT] DIR_Name[0].
	if short, _, ok := cp.fits(u("ÕX")); !ok || short[0] != entryKanji || cp.decode(short[:], 0) != "ÕX" {
		t.Errorf("ÕX fits as %q, %v", short, ok)
	}
	if _, err := newCodepage(12345); !errors.Is(err, vol.ErrUsage) {
		t.Errorf("code page 12345: %v", err)
	}
}

// What was put with a code page is found with it.
func TestPutInCodepage(t *testing.T) {
	m := formatted(t, "fat16", 9<<20, 2048)
	ctx := context.Background()
	txn := dev.Begin(m)
	o := vol.ReadOptions{Codepage: 866}
	v, err := open(ctx, txn, vol.OpenOptions{Raw: m, ReadOptions: o})
	must(t, err)
	e := vol.Entry{Path: "ПРИВЕТ.ТХТ", Same: -1}
	e.Kind = vol.KindFile
	_, err = v.(vol.Filler).Put(ctx, &vol.PutRequest{Entries: []vol.Entry{e}})
	must(t, err)
	_, err = txn.Commit(ctx, dev.CommitOptions{})
	must(t, err)
	sound(t, m)
	for page, found := range map[int]bool{866: true, 850: false} {
		tree, err := read(ctx, m, vol.ReadOptions{Codepage: page})
		must(t, err)
		if _, err := vol.Resolve(tree, "привет.тхт"); (err == nil) != found {
			t.Errorf("page %d: %v", page, err)
		}
	}
}
