package lfs

import (
	"slices"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// usualCold and usualHot are the extensions of files whose data F2FS keeps
// apart from the rest, because it is hardly ever written again, or all the
// time: [f2fs-tools] behaviour, the lists of mkfs.f2fs. The short ones are the
// start of many: mp of mp3 and mp4.
func usualCold() []string {
	return strings.Fields("mp wm og jp" +
		" avi m4v m4p mkv mov webm" + // films
		" wav m4a 3gp opus flac" + // sound
		" gif png svg webp" + // pictures
		" jar deb iso gz xz zst" + // archives
		" pdf pyc ttc ttf exe" +
		" apk cnt exo odex vdex so") // Android
}

func usualHot() []string {
	return strings.Fields("db vmdk vdi qcow2") // data bases and disks of virtual machines
}

// readExtensions adds the extensions that were given to the usual ones.
func (r *formatRequest) readExtensions() error {
	r.cold, r.hot = usualCold(), usualHot()
	for _, list := range []struct {
		name  string
		given []string
		to    *[]string
	}{{"cold-ext", r.o.ColdExtensions, &r.cold}, {"hot-ext", r.o.HotExtensions, &r.hot}} {
		for _, e := range list.given {
			if err := checkExtension(list.name, e); err != nil {
				return err
			}
			if !slices.Contains(*list.to, e) {
				*list.to = append(*list.to, e)
			}
		}
	}
	for _, e := range r.hot {
		if slices.Contains(r.cold, e) {
			return vol.Usagef("extension %q: it cannot be both hot and cold", e)
		}
	}
	if n := len(r.cold) + len(r.hot); n > maxExtensions {
		return vol.Refusef("%d extensions: there is room for %d, and %d are the usual ones", n, maxExtensions, len(usualCold())+len(usualHot()))
	}
	return nil
}

// checkExtension: an extension is 1 to 7 bytes that can be part of a name.
func checkExtension(list, e string) error {
	switch {
	case e == "" || len(e) >= extensionLen:
		return vol.Usagef("--%s %q: an extension has 1 to %d bytes", list, e, extensionLen-1)
	case e[0] == '.':
		return vol.Usagef("--%s %q: it is given without the dot", list, e)
	case strings.ContainsAny(e, "/\x00, "):
		return vol.Usagef("--%s %q: it cannot be part of a file's name", list, e)
	}
	return nil
}
