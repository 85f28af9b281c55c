package main

import (
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/source"
)

// filling is entries of a source on their way into a volume of one format.
type filling struct {
	a       *app
	src     *source.Source
	entries []vol.Entry
	from    []int // which of the source's each one is
	lost    map[string]bool
	skipped uint64
}

// adaptTo makes of a source what a format can hold. What it cannot hold and may not
// be left out is an error, before anything is written.
func (a *app) adaptTo(src *source.Source, h vol.Holds, f inFlags) (*filling, error) {
	// What listing a million files has left behind would count, until the next
	// collection, as what is in use.
	runtime.GC()
	// The source's own list is changed: what is kept of it moves to its start.
	l := &filling{a: a, src: src, lost: map[string]bool{}, entries: src.Entries[:0], from: make([]int, 0, len(src.Entries))}
	at := make([]int, len(src.Entries)) // where each went
	for i := range src.Entries {
		e, from := src.Entries[i], i
		var keep bool
		var err error
		if e.Same >= 0 {
			from, keep = l.again(&e, at[e.Same], from, h.HardLinks)
		} else if keep, err = l.adapt(&e, h, f); err != nil {
			return nil, err
		}
		if !keep {
			l.skipped++
			at[i] = -1
			continue
		}
		at[i] = len(l.entries)
		l.entries, l.from = append(l.entries, e), append(l.from, from)
	}
	return l, nil
}

// again makes e another name of the entry that went to first; where there is no such
// thing it becomes a file of its own with the same contents. What was left out, -1, is
// left out under every name. from is which of the source's has the contents.
func (l *filling) again(e *vol.Entry, first, own int, hardLinks bool) (from int, keep bool) {
	if first < 0 {
		return own, false
	}
	if hardLinks {
		e.Same = first
		return own, true
	}
	path, origin := e.Path, e.Origin
	*e = l.entries[first]
	e.Path, e.Origin = path, origin
	return l.from[first], true
}

// adapt changes one entry to what there is a place for, and tells whether it is
// to be kept.
func (l *filling) adapt(e *vol.Entry, h vol.Holds, f inFlags) (keep bool, err error) {
	switch e.Kind {
	case vol.KindFile:
		if e.Size > h.MaxSize {
			return false, vol.EntryError(e, "%d bytes are more than the %d that a file can have", e.Size, h.MaxSize)
		}
	case vol.KindDir:
	case vol.KindSymlink:
		if f.links == "skip" {
			return false, nil
		}
		if f.links == "error" || !h.Links {
			return false, vol.EntryError(e, "it is a symbolic link to %q; --links follow or skip says what is to become of it", e.Link)
		}
	default:
		if !h.Special && f.links == "skip" {
			return false, nil
		}
		if !h.Special {
			return false, vol.EntryError(e, "there is no place for a %s; --links skip leaves it out", e.Kind)
		}
	}
	if f.owner != nil {
		e.UID, e.GID = f.owner[0], f.owner[1]
	}
	if f.contexts != nil {
		f.contexts.Label(e)
	}
	l.drop(e, h)
	return true, nil
}

// drop takes from an entry what there is no place for, and remembers what that
// was.
func (l *filling) drop(e *vol.Entry, h vol.Holds) {
	if !h.Owners {
		l.lost["owners"] = l.lost["owners"] || e.UID != 0 || e.GID != 0
		e.UID, e.GID = 0, 0
	}
	if !h.Modes {
		l.lost["modes"] = l.lost["modes"] || !commonMode(e.Mode)
		if e.Mode&0o200 == 0 && e.Kind == vol.KindFile && h.Flags {
			e.Flags |= vol.FlagReadOnly
		}
	}
	if !h.Xattrs {
		l.lost["extended attributes"] = l.lost["extended attributes"] || len(e.Xattrs) > 0
		e.Xattrs = nil
	}
	if h.Flags && e.Kind == vol.KindFile {
		e.Flags |= vol.FlagArchive
	}
}

// commonMode tells whether a mode says no more than files without modes do: all
// may read, only the owner may write, and no bit is set that makes programs run as
// somebody else. Whether programs may run is not looked at: where there are no
// modes, a mount says that of all files.
func commonMode(mode uint32) bool { return mode&0o7022 == 0 && mode&0o044 == 0o044 }

// tell says in one line what was left out.
func (l *filling) tell(image string) {
	var lost []string
	for _, what := range []string{"owners", "modes", "extended attributes"} {
		if l.lost[what] {
			lost = append(lost, what)
		}
	}
	if len(lost) > 0 {
		l.a.note("%s: no place for %s: not kept", image, strings.Join(lost, ", "))
	}
	for _, name := range l.src.Left {
		l.a.note("%s: %s is the image itself: left out", image, printable(name))
	}
	if l.skipped > 0 {
		l.a.note("%s: %s left out", image, plural(l.skipped, "link or special file", "links or special files"))
	}
}

// open opens the contents of entry i.
func (l *filling) open(i int) (vol.Contents, error) { return l.src.Open(l.from[i]) }

// findHoles makes holes of zeros where the format has such, so that it does not
// matter what the source knows of them.
func (l *filling) findHoles(ctx context.Context, h vol.Holds) error {
	if h.HoleUnit == 0 {
		return nil
	}
	return source.FindHoles(ctx, l.entries, l.open, h.HoleUnit, h.Inside)
}

// dataBytes are what the contents come to without their holes.
func (l *filling) dataBytes() (n int64) {
	for i := range l.entries {
		e := &l.entries[i]
		switch {
		case e.Kind != vol.KindFile || e.Same >= 0:
		case e.Data == nil:
			n += e.Size
		default:
			for _, r := range e.Data {
				n += r.Len
			}
		}
	}
	return n
}

// bytes are what the contents come to.
func (l *filling) bytes() (n int64) {
	for i := range l.entries {
		if e := &l.entries[i]; e.Kind == vol.KindFile && e.Same < 0 {
			n += e.Size
		}
	}
	return n
}

// put stages entries on a volume, and copies their contents to raw; nil writes
// nothing.
func (l *filling) put(ctx context.Context, v vol.Volume, d, raw dev.Device, req *vol.PutRequest, image string) (*vol.PutResult, error) {
	req.Entries, req.Open = l.entries, l.open
	res, err := v.Put(ctx, req)
	if err != nil {
		return nil, err
	}
	for _, r := range res.Renamed {
		l.a.note("%s: %s is called %s there", image, printable(l.entries[r.Entry].Name()), printable(r.Path))
	}
	if raw == nil {
		return res, nil
	}
	m := l.a.newMeter("copying")
	defer m.clear()
	total, done := l.dataBytes(), int64(0)
	err = vol.Pour(ctx, d, raw, req, res, func(n int64) {
		done += n
		m.update(done, total)
	})
	return res, err
}

// sourceOptions are those of reading a source that goes into the image to.
func (a *app) sourceOptions(f inFlags, to place) (o source.Options, err error) {
	if fi, err := os.Stat(to.path); err == nil {
		o.Image = fi
	}
	o.Follow = f.links == "follow"
	seconds, set, err := a.epoch()
	if set && err == nil {
		o.Latest = unixTime(seconds)
	}
	return o, err
}

// count is how many files, or what is none, and directories there are.
func (l *filling) count() (files, dirs uint64) {
	for i := range l.entries {
		switch e := &l.entries[i]; {
		case e.Kind != vol.KindDir:
			files++
		case e.Path != "":
			dirs++
		}
	}
	return files, dirs
}
