package fat

import "testing"

// TestLabelText: [FAT] DIR_Name[0], 0x05 at the start stands for 0xE5.
func TestLabelText(t *testing.T) {
	for stored, want := range map[string]string{
		"\x05A\x05B       ": "σA\x05B", "\xE5A B       ": "σA B", "NO NAME    ": "NO NAME", "           ": "",
	} {
		if got := labelText([]byte(stored)); got != want {
			t.Errorf("%q is %q, want %q", stored, got, want)
		}
	}
}
