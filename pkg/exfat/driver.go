package exfat

import (
	"math"

	"github.com/fatkit/fatkit/pkg/vol"
)

// Driver is the exFAT driver.
func Driver() *vol.Driver {
	return &vol.Driver{
		Name:      "exFAT",
		Types:     []string{"exfat"},
		Problems:  Problems(),
		Probe:     probe,
		Plan:      planFormat,
		Open:      open,
		Describe:  describe,
		Check:     newChecker,
		MountScan: mountScan,
		Read:      read,
		Need:      need,
		Holds:     vol.Holds{Flags: true, MaxSize: math.MaxInt64},
	}
}
