package vol

import "testing"

func TestSizes(t *testing.T) {
	for n, want := range map[int64]struct{ text, flag string }{
		0: {"0 bytes", "0"}, 512: {"512 bytes", "512"}, 1 << 10: {"1 KiB", "1K"}, 1536: {"1.5 KiB", "1K"}, 128 << 10: {"128 KiB", "128K"},
		1 << 20: {"1 MiB", "1M"}, 3<<30 + 1: {"3 GiB", "3072M"}, 5 << 40: {"5 TiB", "5242880M"}, 128 << 50: {"128 PiB", "137438953472M"},
	} {
		if text, flag := SizeText(n), SizeFlag(n); text != want.text || flag != want.flag {
			t.Errorf("%d is %q and %q, should be %q and %q", n, text, flag, want.text, want.flag)
		}
	}
	for n, want := range map[int64]string{0: "KiB", 4<<20 - 1: "KiB", 4 << 20: "MiB", 4<<30 - 1: "MiB", 4 << 30: "GiB", 4<<50 - 1: "GiB", 4 << 50: "TiB"} {
		unit, name := SizeUnit(n)
		if name != want || SizeText(unit) != "1 "+name {
			t.Errorf("%d is given in %s of %d", n, name, unit)
		}
	}
}

func TestClusterFlag(t *testing.T) {
	for want, works := range map[string]func(int64) bool{
		"":             func(int64) bool { return false },
		"-c 4K":        func(c int64) bool { return c == 4<<10 },
		"-c 512 to 2K": func(c int64) bool { return c <= 2<<10 },
		"-c 1K to 32M": func(c int64) bool { return c > 512 },
	} {
		if got := ClusterFlag(512, 32<<20, works); got != want {
			t.Errorf("%q, should be %q", got, want)
		}
	}
}
