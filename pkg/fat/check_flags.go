package fat

import (
	"context"

	"github.com/fatkit/fatkit/pkg/vol"
)

// checkFlags looks at the marks that ask for this check, and at the label in
// the boot sector. The marks go only when nothing else is left: a volume that
// is still broken keeps asking.
func (c *checker) checkFlags(_ context.Context, r *vol.Report) error {
	c.checkLabel(r)
	broken := r.Left(vol.SevError) > 0
	clearable := func(f vol.Fix) vol.Fix {
		if broken {
			return nil
		}
		return f
	}
	off := int64(c.boot.off(offFlags16, offFlags32))
	state := c.boot.state()
	if state&stateDirty != 0 {
		r.Found(c.cat.Found("dirty-boot", vol.At(off, 1)), clearable(c.clearState(off, stateDirty)))
	}
	if state&stateSurfaceTest != 0 {
		r.Found(c.cat.Found("surface-test", vol.At(off, 1)), clearable(c.clearState(off, stateSurfaceTest)))
	}
	return c.checkFATFlags(r, clearable)
}

func (c *checker) clearState(off int64, bit byte) vol.Fix {
	return vol.Always(func() error { return c.patch(off, 1, func(b []byte) { b[0] &^= bit }) })
}

// checkFATFlags looks at the two flags in FAT entry 1; FAT12 has none.
func (c *checker) checkFATFlags(r *vol.Report, clearable func(vol.Fix) vol.Fix) error {
	if c.g.Type == FAT12 {
		return nil
	}
	e1, err := c.walk.tab.raw(1)
	if err != nil {
		return err
	}
	ones, flags := headBits(c.g.Type)
	if (e1|flags)&ones != ones {
		return nil // entry1-garbage: its bits are no flags
	}
	clean, hard := uint32(cleanShutdown16), uint32(noHardError16)
	if c.g.Type == FAT32 {
		clean, hard = cleanShutdown32, noHardError32
	}
	place := vol.At(c.g.FatOff(c.fat)+int64(c.g.Type)/8, int64(c.g.Type)/8)
	set := func(bit uint32) vol.Fix {
		return clearable(vol.Always(func() error {
			v, err := newTable(c.d, c.g, c.fat).raw(1)
			if err != nil {
				return err
			}
			return c.setHead(1, v&entryMask|bit)
		}))
	}
	if e1&clean == 0 {
		r.Found(c.cat.Found("dirty-fat", place), set(clean))
	}
	if e1&hard == 0 {
		r.Found(c.cat.Found("hard-error", place), set(hard))
	}
	return nil
}

// checkLabel compares the label of the boot sector with that of the root
// directory, which is the one that counts.
func (c *checker) checkLabel(r *vol.Report) {
	if !c.boot.hasExt() {
		return
	}
	off := int64(c.boot.off(offVolLab16, offVolLab32))
	boot := string(c.boot.label())
	if c.label == nil {
		if l := labelText(c.boot.label()); l != noName && l != "" {
			r.Found(c.cat.Found("label-boot-only", vol.At(off, 11), vol.Detail("%s", quote(l))), nil)
		}
		return
	}
	want := string(c.label)
	if want[0] == entryKanji {
		want = "\xE5" + want[1:]
	}
	if boot != want {
		r.Found(c.cat.Found("label-mismatch", vol.At(off, 11), vol.GotWant(quote(labelText([]byte(boot))), quote(labelText([]byte(want))))),
			vol.Always(func() error { return c.patch(off, 11, func(b []byte) { copy(b, want) }) }))
	}
}
