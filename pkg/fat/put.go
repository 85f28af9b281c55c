package fat

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/fatkit/fatkit/pkg/vol"
)

// filling is a change that makes entries.
type filling struct {
	*change
	*folders
	r *vol.PutRequest
}

// Put is vol.Volume.
func (v *volume) Put(ctx context.Context, r *vol.PutRequest) (*vol.PutResult, error) {
	c, err := v.begin(false)
	if err != nil {
		return nil, err
	}
	c.many = true
	c.files = make([]*growth, 0, len(r.Entries))
	p := &filling{change: c, folders: c.ds, r: r}
	return vol.PutEntries(ctx, r, p, vol.PutNames{Format: "FAT", Most: maxLongUnits, Encode: encodeLong})
}

// Places is vol.PutFolders.
func (p *filling) Places(k int) []vol.Place { return p.v.g.locator().Places(p.files[k].Add) }

// Fits is vol.PutFolders.
func (*filling) Fits(e *vol.Entry) error {
	if e.Size > maxFileSize {
		return fmt.Errorf("a file on FAT has at most %d bytes (4 GiB - 1), not %d", int64(maxFileSize), e.Size)
	}
	return nil
}

// MakeFolder is vol.PutFolders.
func (p *filling) MakeFolder(dir *folder, name string, e *vol.Entry) (*folder, int, error) {
	f, err := p.NewFolder(dir, name)
	if err != nil {
		return nil, 0, err
	}
	for _, slot := range []dirEntry{dir.at(f.slot), f.at(0), f.at(1)} {
		slot.describe(e)
	}
	return f, f.slot, nil
}

// MakeFile is vol.PutFolders.
func (p *filling) MakeFile(dir *folder, name string, i int) (int, error) {
	slot, err := p.NewFile(dir, name)
	if err == nil {
		p.take(dir, slot, i, vol.JoinPath(dir.path, name))
	}
	return slot, err
}

// Replace is vol.PutFolders. The old clusters of the file become free, and are
// not used again by this change.
func (p *filling) Replace(dir *folder, slot, i int, at string) error {
	old, err := p.clustersOf(at, dir.at(slot))
	if err != nil {
		return err
	}
	p.Free(at, old)
	g := p.take(dir, slot, i, at)
	g.entry().setStart(p.v.g.Type, 0)
	g.entry().setSize(0)
	return nil
}

// take makes the slot the one of entry i.
func (p *filling) take(dir *folder, slot, i int, at string) *growth {
	e := &p.r.Entries[i]
	g := &growth{file: file{dir: dir, slot: slot, path: vol.TailOf(e.Origin, at)}, want: e.Size, put: true}
	dir.at(slot).describe(e)
	dir.slots.Mark(slot, 1)
	p.files = append(p.files, g)
	return g
}

// describe sets the attributes and times of an entry, [FAT] "Date and Time
// Formats": the last change in steps of two seconds, the creation in hundredths,
// the access in days, all taken as UTC.
func (e dirEntry) describe(a *vol.Entry) {
	const user = vol.FlagReadOnly | vol.FlagHidden | vol.FlagSystem | vol.FlagArchive
	e[offAttr] = e[offAttr]&attrDirectory | byte(a.Flags&user)
	e.touch(newStamp(a.Modified.Unix()))
	others := a.AllTimes()
	born := others.Born
	s := newStamp(born.Unix())
	e.put16(offCrtTime, s.time)
	e.put16(offCrtDate, s.date)
	e[offCrtTenth] = 0
	if s.at(0).Equal(born.Truncate(2 * time.Second)) {
		e[offCrtTenth] = byte(born.Second()%2*100 + born.Nanosecond()/1e7)
	}
	e.put16(offAccDate, newStamp(others.Accessed.Unix()).date)
}

// need is Driver.Need. [FAT] "Long Directory Entries": a name takes a slot, and
// another one for every 13 units where it is not a short one.
func need(p *vol.Plan, o vol.ReadOptions, entries []vol.Entry) (uint64, error) {
	cp, err := newCodepage(o.Codepage)
	if err != nil {
		return 0, err
	}
	cs := int64(p.ClusterSize)
	slots := map[string]int64{"": 0}
	var clusters int64
	for i := range entries {
		e := &entries[i]
		if e.Path == "" {
			continue
		}
		units, err := encodeLong(vol.FitName(path.Base(e.Path), maxLongUnits))
		if err != nil {
			return 0, vol.EntryError(e, "%w", err)
		}
		n := int64(1)
		if _, _, short := cp.fits(units); !short {
			n += vol.DivUp(int64(len(units)), ldirChars)
		}
		slots[vol.Parent(e.Path)] += n
		if e.Kind == vol.KindDir {
			slots[e.Path] += 2
		} else {
			clusters += vol.DivUp(e.Size, cs)
		}
	}
	return rootNeeds(p, slots, clusters)
}

// rootNeeds adds the directories to the clusters of files. Those of FAT12 and
// FAT16 have their root outside of the clusters, and that of FAT32 has one that
// counts as used.
func rootNeeds(p *vol.Plan, slots map[string]int64, clusters int64) (uint64, error) {
	cs := int64(p.ClusterSize)
	for dir, n := range slots {
		if dir == "" && p.Label != "" {
			n++
		}
		switch limit := int64(maxDirEntries); {
		case n > limit:
			return 0, vol.Refusef("/%s: a directory on FAT has at most %d entries, and it needs %d", dir, limit, n)
		case dir == "" && p.Type != FAT32.String():
		case dir == "":
			clusters += max(0, vol.DivUp(n*entryLen, cs)-1)
		default:
			clusters += vol.DivUp(n*entryLen, cs)
		}
	}
	return uint64(clusters), nil
}
