package lfs

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestSuite holds the driver to what every format must do, as far as it does
// it: it does not change volumes yet.
func TestSuite(t *testing.T) {
	voltest.Run(t, voltest.Suite{
		Driver:   Driver(),
		Sizes:    map[string]int64{"f2fs": 64 << 20},
		ReadOnly: true,
		Reserve:  true,
		Damage: map[string]func(dev.Device) error{
			"root inode": func(d dev.Device) error {
				first, _, err := readSupers(d)
				if err != nil {
					return err
				}
				return vol.Patch(d, first.g.BlockOff(first.g.Main), first.g.BlockSize, func(b []byte) { nodeBlock(b).put32(inodeLinks, 9) })
			},
		},
	})
}
