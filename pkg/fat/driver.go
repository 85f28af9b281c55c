package fat

import "github.com/fatkit/fatkit/pkg/vol"

// Driver is the FAT driver: FAT12, FAT16 and FAT32.
func Driver() *vol.Driver {
	return &vol.Driver{
		Name:      "FAT",
		Types:     []string{"fat", "fat12", "fat16", "fat32"},
		Problems:  Problems(),
		Probe:     probe,
		Plan:      planFormat,
		Open:      open,
		Describe:  describe,
		Check:     newChecker,
		MountScan: mountScan,
		Read:      read,
		Need:      need,
		Holds:     vol.Holds{Flags: true, Codepages: codepageNumbers(), MaxSize: maxFileSize},
	}
}
