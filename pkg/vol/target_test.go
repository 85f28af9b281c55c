package vol

import (
	"errors"
	"strings"
	"testing"
)

func TestChooseSector(t *testing.T) {
	for _, c := range []struct {
		device int
		asked  int64
		want   int64
		err    error
	}{
		{0, 0, 512, nil}, {512, 0, 512, nil}, {4096, 0, 4096, nil}, {128, 0, 512, nil}, {0, 2048, 2048, nil}, {1024, 1024, 1024, nil},
		{520, 0, 0, ErrRequest}, {8192, 0, 0, ErrRequest}, {8192, 8192, 0, ErrRequest}, {4096, 512, 0, ErrRequest},
		{0, 256, 0, ErrUsage}, {0, 513, 0, ErrUsage}, {0, -512, 0, ErrUsage}, {0, 8192, 0, ErrUsage},
	} {
		got, err := Target{SectorSize: c.device}.ChooseSector(c.asked, "FAT")
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%d on a device of %d: %d, %v", c.asked, c.device, got, err)
		}
	}
	if _, err := (Target{SectorSize: 520}).ChooseSector(0, "exFAT"); !strings.Contains(err.Error(), "sectors of 520 bytes; exFAT takes") {
		t.Error(err)
	}
}

func TestSectorsBefore(t *testing.T) {
	if n, err := (Target{Offset: 63 * 512}).SectorsBefore(512); n != 63 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := (Target{Offset: 63 * 512}).SectorsBefore(4096); !errors.Is(err, ErrRequest) {
		t.Error(err)
	}
}

func TestCheckAlign(t *testing.T) {
	for align, ok := range map[int64]bool{0: true, 512: true, 12 << 10: true, 1 << 44: true, 1<<44 + 512: false, 513: false, -512: false} {
		if err := (&FormatOptions{Align: align}).CheckAlign(512); (err == nil) != ok || err != nil && !errors.Is(err, ErrUsage) {
			t.Errorf("%d: %v", align, err)
		}
	}
}
