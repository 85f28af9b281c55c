package fat

import (
	"encoding/binary"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestSuite holds the driver to what every format must do.
func TestSuite(t *testing.T) {
	voltest.Run(t, voltest.Suite{
		Driver: Driver(),
		Sizes:  map[string]int64{"fat12": 2 << 20, "fat16": 16 << 20, "fat32": 40 << 20},
		Spoil:  func(t testing.TB, d dev.Device, n uint32) { spoiled(t, d.(*dev.Mem), n) },
		Damage: map[string]func(dev.Device) error{
			"FATs": func(d dev.Device) error { return pokeFAT(d, 1, 5, 0x123) },
			"lost": func(d dev.Device) error {
				for k := range 2 {
					for c := uint32(2000); c < 2010; c++ {
						if err := pokeFAT(d, k, c, entryLast); err != nil {
							return err
						}
					}
				}
				return nil
			},
		},
	})
}

// pokeFAT sets an entry of one FAT, whatever the others say.
func pokeFAT(d dev.Device, k int, c, v uint32) error {
	_, g, err := readBoot(d)
	if err != nil {
		return err
	}
	off := g.FatOff(k) + int64(c)*int64(g.Type)/8
	b := make([]byte, 4)
	if _, err := d.ReadAt(b, off); err != nil {
		return err
	}
	switch g.Type {
	case FAT12:
		w := binary.LittleEndian.Uint16(b)
		if c&1 == 1 {
			w = w&0x000F | uint16(v)<<4
		} else {
			w = w&0xF000 | uint16(v)&0xFFF
		}
		binary.LittleEndian.PutUint16(b, w)
	case FAT16:
		binary.LittleEndian.PutUint16(b, uint16(v))
	default:
		binary.LittleEndian.PutUint32(b, v)
	}
	_, err = d.WriteAt(b, off)
	return err
}
