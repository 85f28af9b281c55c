package exfat

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestSuite holds the driver to what every format must do.
func TestSuite(t *testing.T) {
	voltest.Run(t, voltest.Suite{
		Driver: Driver(),
		Sizes:  map[string]int64{"exfat": 8 << 20},
		Spoil:  func(t testing.TB, d dev.Device, n uint32) { spoiled(t, d.(*dev.Mem), n) },
		Damage: map[string]func(dev.Device) error{
			"lost": func(d dev.Device) error { return pokeHeap(d, 2, 100, 0xFF) },
			"boot": func(d dev.Device) error {
				return vol.Patch(d, 100, 4, func(b []byte) { b[0] ^= 1 })
			},
			"free": func(d dev.Device) error { return pokeHeap(d, 2, 0, 0) },
		},
	})
}

// pokeHeap sets a byte of a cluster.
func pokeHeap(d dev.Device, cluster uint32, at int64, v byte) error {
	main, err := readMain(d)
	if err != nil {
		return err
	}
	_, err = d.WriteAt([]byte{v}, main.g.ClusterOff(cluster)+at)
	return err
}
