package fat

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// filling is a change that makes entries.
type filling struct {
	*change
	r     *vol.PutRequest
	res   *vol.PutResult
	names vol.PutNames
	dirs  map[string]*folder // by path, as the request has it
	files []*growth          // by entry; nil for what is none
	made  map[place]int      // entries by where they are
}

// Put stages all entries of r, or fails. The clusters of files are where the
// result says, and have what free clusters have until vol.Pour fills them.
//
// After an error nothing that was staged may be committed.
func (v *volume) Put(ctx context.Context, r *vol.PutRequest) (*vol.PutResult, error) {
	c, err := v.begin(false)
	if err != nil {
		return nil, err
	}
	p := &filling{change: c, r: r, res: &vol.PutResult{Files: make([][]vol.Place, len(r.Entries))},
		names: vol.PutNames{Rename: r.Rename, Most: maxLongUnits, Encode: func(name string) error {
			_, err := encodeLong(name)
			return err
		}},
		dirs: map[string]*folder{"": c.ds.root}, files: make([]*growth, len(r.Entries)), made: make(map[place]int)}
	for i := range r.Entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.entry(i); err != nil {
			return nil, err
		}
	}
	p.dirs, p.made, c.many = nil, nil, true
	if err := c.run(ctx, vol.Placement{}); err != nil {
		return nil, err
	}
	p.places()
	return p.res, nil
}

// entry puts one entry into the change. The root directory has no entry that
// could have attributes.
func (p *filling) entry(i int) error {
	e := &p.r.Entries[i]
	if e.Path == "" {
		return nil
	}
	dir, err := p.folder(path.Dir(e.Path), e)
	if err != nil {
		return err
	}
	switch e.Kind {
	case vol.KindDir:
		return p.directory(dir, i)
	case vol.KindFile:
		return p.file(dir, i)
	}
	return vol.EntryError(e, "FAT has no place for a %s", e.Kind)
}

// folder is the directory of an entry.
func (p *filling) folder(name string, e *vol.Entry) (*folder, error) {
	if name == "." {
		name = ""
	}
	if f := p.dirs[name]; f != nil {
		return f, nil
	}
	parent, err := p.folder(path.Dir(name), e)
	if err != nil {
		return nil, err
	}
	f, err := p.ds.enter(parent, path.Base(name), e.Path, p.r.Parents)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &vol.MissingError{Path: "/" + e.Path, Dir: parent.path, Name: path.Base(name)}
	}
	if err == nil {
		p.dirs[name] = f
	}
	return f, err
}

// holder tells vol.PutNames what has a name.
func (p *filling) holder(dir *folder) func(string) string {
	return func(name string) string {
		slot, ok := dir.lookup(name)
		if !ok {
			return ""
		}
		if i, now := p.made[place{dir, slot}]; now {
			return p.r.Entries[i].Name()
		}
		return vol.JoinPath(dir.path, name)
	}
}

// directory makes a directory, or finds the one that is there.
func (p *filling) directory(dir *folder, i int) error {
	e := &p.r.Entries[i]
	name := path.Base(e.Path)
	if slot, ok := dir.lookup(name); ok && !p.isMade(dir, slot) {
		if p.r.New {
			return vol.EntryError(e, "it is there already: %w", fs.ErrExist)
		}
		f, err := p.ds.enter(dir, name, e.Path, false)
		if err == nil {
			p.dirs[e.Path] = f
		}
		return err
	}
	name, err := p.name(dir, i)
	if err != nil {
		return err
	}
	f, err := p.ds.makeFolder(dir, name)
	if err != nil {
		return vol.EntryError(e, "%w", err)
	}
	p.dirs[e.Path] = f
	p.made[place{dir, f.slot}] = i
	for _, slot := range []dirEntry{dir.at(f.slot), f.at(0), f.at(1)} {
		slot.describe(&e.Attr)
	}
	return nil
}

func (p *filling) isMade(dir *folder, slot int) bool {
	_, made := p.made[place{dir, slot}]
	return made
}

// name is what entry i is called in dir.
func (p *filling) name(dir *folder, i int) (string, error) {
	e := &p.r.Entries[i]
	own := path.Base(e.Path)
	name, err := p.names.Name(e, own, p.holder(dir))
	if err == nil && name != own {
		p.res.Renamed = append(p.res.Renamed, vol.Renamed{Entry: i, Path: vol.JoinPath(dir.path, name)})
	}
	return name, err
}

// file makes a file, or takes the place of one that is there.
func (p *filling) file(dir *folder, i int) error {
	e := &p.r.Entries[i]
	if e.Size > maxFileSize {
		return vol.EntryError(e, "a file on FAT has at most %d bytes (4 GiB - 1), not %d", int64(maxFileSize), e.Size)
	}
	own := path.Base(e.Path)
	if slot, ok := dir.lookup(own); ok && !p.isMade(dir, slot) {
		return p.replace(dir, slot, i)
	}
	name, err := p.name(dir, i)
	if err != nil {
		return err
	}
	slot, err := p.ds.create(dir, name, attrArchive)
	if err != nil {
		return vol.EntryError(e, "%w", err)
	}
	p.take(dir, slot, i, vol.JoinPath(dir.path, name))
	return nil
}

// replace gives the entry of a file the contents of another one. Its old
// clusters become free, and are not used again by this change.
func (p *filling) replace(dir *folder, slot, i int) error {
	e := &p.r.Entries[i]
	there := vol.JoinPath(dir.path, path.Base(e.Path))
	switch {
	case dir.at(slot).isDir():
		return vol.EntryError(e, "%s is a directory that is there", there)
	case !p.r.Replace:
		return vol.EntryError(e, "%s is there already; --replace puts a file in its place: %w", there, fs.ErrExist)
	}
	old := &growth{file: file{dir: dir, slot: slot, path: there}, size: int64(dir.at(slot).size())}
	if err := p.readChain(old); err != nil {
		return err
	}
	p.free(there, old.old)
	g := p.take(dir, slot, i, there)
	g.entry().setStart(p.v.g.Type, 0)
	g.entry().setSize(0)
	return nil
}

// take makes the slot the one of entry i.
func (p *filling) take(dir *folder, slot, i int, at string) *growth {
	e := &p.r.Entries[i]
	g := &growth{file: file{dir: dir, slot: slot, path: at}, want: e.Size, put: true}
	dir.at(slot).describe(&e.Attr)
	dir.slots.Mark(slot, 1)
	p.made[place{dir, slot}] = i
	p.files[i] = g
	p.change.files = append(p.change.files, g)
	return g
}

// describe sets the attributes and times of an entry, [FAT] "Date and Time
// Formats": the last change in steps of two seconds, the creation in hundredths,
// the access in days, all taken as UTC.
func (e dirEntry) describe(a *vol.Attr) {
	const user = vol.FlagReadOnly | vol.FlagHidden | vol.FlagSystem | vol.FlagArchive
	e[offAttr] = e[offAttr]&attrDirectory | byte(a.Flags&user)
	e.touch(newStamp(a.Modified.Unix()))
	born, accessed := a.Born, a.Accessed
	if born.IsZero() {
		born = a.Modified
	}
	if accessed.IsZero() {
		accessed = a.Modified
	}
	s := newStamp(born.Unix())
	e.put16(offCrtTime, s.time)
	e.put16(offCrtDate, s.date)
	e[offCrtTenth] = 0
	if s.at(0).Equal(born.Truncate(2 * time.Second)) {
		e[offCrtTenth] = byte(born.Second()%2*100 + born.Nanosecond()/1e7)
	}
	e.put16(offAccDate, newStamp(accessed.Unix()).date)
}

// places says where the contents belong.
func (p *filling) places() {
	for i, g := range p.files {
		if g == nil {
			continue
		}
		pos := int64(0)
		for _, r := range p.v.g.locator().Ranges(g.add) {
			p.res.Files[i] = append(p.res.Files[i], vol.Place{Pos: pos, At: r})
			pos += r.Len
		}
	}
	p.res.ClustersAllocated = space.Units(p.taken)
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
		slots[strings.TrimPrefix(path.Dir(e.Path), ".")] += n
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
