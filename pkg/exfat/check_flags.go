package exfat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/vol"
)

// checkFlags looks at the marks that ask for this check. They go only when
// nothing else is left, [exFAT] §3.1.13.2.
func (c *checker) checkFlags(_ context.Context, r *vol.Report) error {
	if c.main.off != 0 {
		return nil // the main region is lost, and only it has the marks
	}
	var b [bootSectorLen]byte
	if _, err := c.d.ReadAt(b[:], 0); err != nil {
		return err
	}
	boot := bootSector(b[:])
	if got, want := b[offPercentInUse], c.g.percent(c.stats.Free); got != want && got != percentUnknown {
		r.Found(c.cat.Found("percent-in-use", vol.At(offPercentInUse, 1), vol.GotWant(got, want)),
			vol.Always(func() error { return c.patch(offPercentInUse, 1, func(b []byte) { b[0] = want }) }))
	}
	broken := r.Left(vol.SevError) > 0
	for _, f := range []struct {
		slug string
		bit  uint16
	}{{"dirty", flagDirty}, {"media-failure", flagMediaFailure}} {
		if boot.u16(offVolumeFlags)&f.bit == 0 {
			continue
		}
		fix := c.clearFlag(f.bit)
		if broken || f.bit == flagMediaFailure {
			// [exFAT] §3.1.13.3: only those who scan the whole volume for media
			// failures, and record them in the FAT, may clear that.
			fix = nil
		}
		r.Found(c.cat.Found(f.slug, vol.At(offVolumeFlags, 2)), fix)
	}
	return nil
}
