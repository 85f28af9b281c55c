package lfs

import (
	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Driver is the F2FS driver.
func Driver() *vol.Driver {
	return &vol.Driver{
		Name:      "F2FS",
		Types:     []string{"f2fs"},
		Problems:  Problems(),
		Probe:     probe,
		Plan:      planFormat,
		Open:      open,
		Describe:  describe,
		Check:     newChecker,
		MountScan: mountScan,
		Read:      read,
		Settle:    settleLog,
		Need:      need,
		Marks:     marks,
		Holds:     vol.Holds{Links: true, HardLinks: true, Special: true, Owners: true, Modes: true, Xattrs: true, HoleUnit: minBlock, Inside: surelyInline(), MaxSize: maxFileBytes()},
	}
}

// marks are the blocks that the checkpoint packs begin with: each checkpoint is written
// over the older one of two, and counts on blocks that the newer one, and what was
// written with it, had left. So the one before must not be taken back from under it.
// (Linux f2fs_do_checkpoint(): the next pack is the other one.)
func marks(d dev.Device) []dev.Range {
	first, second, _ := readSupers(d)
	g := first.g
	if g == nil {
		g = second.g
	}
	if g == nil {
		return nil
	}
	return []dev.Range{g.BlockRange(g.PackBlock(0), 1), g.BlockRange(g.PackBlock(1), 1)}
}
