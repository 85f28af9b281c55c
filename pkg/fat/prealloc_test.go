package fat

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

func TestPreallocSmoke(t *testing.T) {
	for _, tt := range []struct {
		typ           string
		size, cluster int64
	}{{"fat12", 2 << 20, 1024}, {"fat16", 64 << 20, 2048}, {"fat32", 64 << 20, 512}, {"fat32", 8 << 30, 4096}} {
		t.Run(tt.typ, func(t *testing.T) {
			m := formatted(t, tt.typ, tt.size, tt.cluster)
			res := preallocated(t, m, newFiles(map[string]int64{"a/b/Long name here.txt": 300000, "/A.TXT": 1, "::/x/y/z": 0}, "a/b/Long name here.txt", "/A.TXT", "::/x/y/z"))
			t.Logf("%+v", res)
			sound(t, m)
			fsckSilent(t, m)
		})
	}
	_ = dev.Range{}
}
