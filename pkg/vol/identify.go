package vol

import "github.com/fatkit/fatkit/pkg/dev"

// Identify asks every driver and returns the one that is surest, or nil.
// Among equals the first in the list wins.
func Identify(d dev.Device, drivers []*Driver) (*Driver, Identity) {
	var best *Driver
	var id Identity
	for _, drv := range drivers {
		if got := drv.Probe(d); got.Confidence > id.Confidence {
			best, id = drv, got
		}
	}
	return best, id
}
