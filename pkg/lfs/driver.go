package lfs

import "github.com/fatkit/fatkit/pkg/vol"

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
		Holds:     vol.Holds{Links: true, HardLinks: true, Special: true, Owners: true, Modes: true, Xattrs: true, HoleUnit: minBlock, Inside: surelyInline(), MaxSize: maxFileBytes()},
	}
}
