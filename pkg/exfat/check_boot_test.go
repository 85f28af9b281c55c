package exfat

import (
	"testing"
)

// TestRestoreKeepsFlags: a main boot region that is restored is dirty as long as
// there is something left to mend, and clean when there is not.
func TestRestoreKeepsFlags(t *testing.T) {
	for name, hit := range map[string]func(l *lab){
		"checksum": func(l *lab) { l.put(offVolumeFlags, flagDirty); l.put(300, 1) },
		"name":     func(l *lab) { l.put(offFileSystemName, 'x') },
		"zeros":    func(l *lab) { l.put(0, make([]byte, 12*l.sector)...) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "4k")
			hit(l)
			sound := l.clone(t)
			fsck(t, sound.m, lossless)
			if got := sound.get(offVolumeFlags); got != 0 {
				t.Errorf("flags of a volume of which all is mended: %#x", got)
			}
			l.setFAT(l.cells("/BIG.BIN")[2], 5_000_000)
			fsck(t, l.m, lossless)
			if got := l.get(offVolumeFlags); got != flagDirty {
				t.Errorf("flags of a volume with a broken chain: %#x", got)
			}
			for _, o := range fsck(t, l.m, nil).Outcomes {
				if o.Slug == "boot-region-lost" {
					t.Errorf("%s", line(o))
				}
			}
		})
	}
}
