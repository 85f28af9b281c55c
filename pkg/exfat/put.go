package exfat

import (
	"context"
	"fmt"
	"path"

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
	c, err := v.begin()
	if err != nil {
		return nil, err
	}
	c.many = true
	c.files = make([]*growth, 0, len(r.Entries))
	p := &filling{change: c, folders: c.ds, r: r}
	return vol.PutEntries(ctx, r, p, vol.PutNames{Format: "exFAT", Most: maxName, Encode: encodeName})
}

// Places is vol.PutFolders.
func (p *filling) Places(k int) []vol.Place { return p.v.g.locator().Places(p.files[k].Add) }

// Fits is vol.PutFolders.
func (p *filling) Fits(e *vol.Entry) error {
	if _, ok := p.v.g.ClustersFor(uint64(e.Size)); !ok || e.Size < 0 {
		return fmt.Errorf("%d bytes are more than the %d clusters of %d bytes that the volume has", e.Size, p.v.g.Clusters, p.v.g.ClusterSize)
	}
	return nil
}

// MakeFolder is vol.PutFolders.
func (p *filling) MakeFolder(dir *folder, name string, e *vol.Entry) (*folder, int, error) {
	f, err := p.NewFolder(dir, name)
	if err != nil {
		return nil, 0, err
	}
	setAt(dir.slots, f.slot).describe(e)
	f.dated = true
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
// not used again by this change. Benign entries behind its name stay, [exFAT]
// §8.2.
func (p *filling) Replace(dir *folder, slot, i int, at string) error {
	f := file{dir: dir, slot: slot, path: at}
	if err := p.usable(f); err != nil {
		return err
	}
	old, err := p.clustersOf(at, f.set())
	if err != nil {
		return err
	}
	p.Free(at, old.Old)
	f.set().allocate(0, 0, 0, false)
	p.take(dir, slot, i, at)
	return nil
}

// take makes the set in a slot, which has no clusters, the one of entry i.
func (p *filling) take(dir *folder, slot, i int, at string) {
	e := &p.r.Entries[i]
	g := &growth{file: file{dir: dir, slot: slot, path: vol.TailOf(e.Origin, at)}, wantSize: e.Size, wantValid: e.Size, put: true}
	g.set().describe(e)
	g.set().seal()
	g.file.changed()
	p.files = append(p.files, g)
}

// describe sets the attributes and times of a set, [exFAT] §7.4.4 to §7.4.10.
func (s entrySet) describe(a *vol.Entry) {
	const user = vol.FlagReadOnly | vol.FlagHidden | vol.FlagSystem | vol.FlagArchive
	f := s.file()
	f.put16(offAttributes, f.attributes()&attrDirectory|uint16(a.Flags&user))
	others := a.AllTimes()
	f.create(stampOf(others.Born))
	f.put32(offAccess, stampOf(others.Accessed).when)
	f.touch(stampOf(a.Modified))
}

// need is Driver.Need: [exFAT] §7.4, two slots for an entry and one for every
// 15 units of its name.
func need(p *vol.Plan, _ vol.ReadOptions, entries []vol.Entry) (uint64, error) {
	// Label, bitmap, up-case table and GUID, all of which there may be.
	slots := map[string]int64{"": 4}
	cs := int64(p.ClusterSize)
	clusters := -int64(rootClusters) // those count as used
	for i := range entries {
		e := &entries[i]
		if e.Path == "" {
			continue
		}
		units, err := encodeName(vol.FitName(path.Base(e.Path), maxName))
		if err != nil {
			return 0, vol.EntryError(e, "%w", err)
		}
		slots[vol.Parent(e.Path)] += 2 + int64(nameEntries(len(units)))
		if e.Kind == vol.KindDir {
			slots[e.Path] += 0 // also of an empty one: it takes a cluster
		} else if clusters += vol.DivUp(e.Size, cs); clusters > maxClusters {
			return 0, vol.EntryError(e, "with it there are more than the %d clusters that a volume can have", int64(maxClusters))
		}
	}
	for dir, n := range slots {
		if n > maxDirSlots {
			return 0, vol.Refusef("/%s: a directory on exFAT has at most %d entries, and it needs %d", dir, maxDirSlots, n)
		}
		clusters += max(1, vol.DivUp(n*entryLen, cs))
	}
	return uint64(clusters), nil
}
