package vol

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

func TestOverlaid(t *testing.T) {
	table := make([]byte, 512)
	copy(table[446:], []byte{0x80, 0, 2, 0, 7, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0})
	table[510], table[511] = 0x55, 0xAA
	bad := append([]byte(nil), table...)
	bad[446] = 0x90 // a boot flag that cannot be
	empty := append([]byte(nil), table...)
	empty[450] = 0 // no type
	for name, c := range map[string]struct {
		off  int64
		data []byte
		want bool
	}{
		"nothing": {}, "MBR": {0, table, true}, "code": {0, bad, false}, "empty table": {0, empty, false}, "unsigned": {0, table[:510], false},
		"XFS": {0, []byte("XFSB"), true}, "elsewhere": {512, []byte("XFSB"), false}, "F2FS": {1024, []byte{0x10, 0x20, 0xF5, 0xF2}, true},
		"ext": {1080, []byte{0x53, 0xEF}, true}, "swap": {4086, []byte("SWAPSPACE2"), true}, "Btrfs": {65600, []byte("_BHRfS_M"), true},
	} {
		d := dev.NewMem(128 << 10)
		if _, err := d.WriteAt(c.data, c.off); err != nil {
			t.Fatal(err)
		}
		if Overlaid(d) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
	for _, size := range []int64{0, 1, 511, 512, 1024} {
		if Overlaid(dev.NewMem(size)) {
			t.Errorf("%d zeros", size)
		}
	}
}
