package vol

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// Folders are what of a FolderTree a change needs that makes entries or takes them
// away.
type Folders[D comparable] interface {
	Root() D
	Path(dir D) string
	Lookup(dir D, name string) (slot int, ok bool)
	// Enter is EnterFolder.
	Enter(dir D, name, at string, create bool) (D, error)
	// Run carries the change out on the transaction: it allocates, stages and
	// verifies, or fails; then what is staged must not be committed.
	Run(ctx context.Context) error
}

// PutFolders are Folders that entries can be put in. Errors need not say which
// entry they are about.
type PutFolders[D comparable] interface {
	Folders[D]
	// Fits refuses a file that the volume can never hold.
	Fits(e *Entry) error
	// MakeFolder makes the directory name in dir with the attributes of e.
	MakeFolder(dir D, name string, e *Entry) (kid D, slot int, err error)
	// MakeFile makes the file name in dir for entry i of the request.
	MakeFile(dir D, name string, i int) (slot int, err error)
	IsDir(dir D, slot int) bool
	// Replace gives what the file has that is in the slot back, and makes it
	// the one of entry i. at is its path.
	Replace(dir D, slot, i int, at string) error
	// Places are where Run has put file k of those that MakeFile and Replace were
	// called for, in that order.
	Places(k int) []Place
	// Allocated is how many clusters Run has taken.
	Allocated() uint64
}

// putting is one call of PutEntries.
type putting[D comparable] struct {
	PutFolders[D]
	names PutNames
	r     *PutRequest
	res   *PutResult
	files []int32       // the entries that are files, in the order in which they were made
	dirs  map[string]D  // by path, as the request has it
	made  map[D][]int32 // entries of the request by slot, and 1
}

// PutEntries stages the entries of r in directories of the FAT family, or fails:
// it is Volume.Put for them. The clusters of files have what free ones have until
// Pour fills them.
//
// After an error nothing that was staged may be committed.
func PutEntries[D comparable](ctx context.Context, r *PutRequest, f PutFolders[D], names PutNames) (*PutResult, error) {
	p := &putting[D]{PutFolders: f, names: names, r: r, res: &PutResult{}, files: make([]int32, 0, len(r.Entries)),
		dirs: map[string]D{"": f.Root()}, made: make(map[D][]int32)}
	for i := range r.Entries {
		err := ctx.Err()
		if err == nil {
			err = p.entry(i)
		}
		if err != nil {
			return nil, err
		}
	}
	p.dirs, p.made = nil, nil // what follows takes the most memory
	if err := f.Run(ctx); err != nil {
		return nil, err
	}
	p.res.Files = make([][]Place, len(r.Entries))
	for k, i := range p.files {
		p.res.Files[i] = f.Places(k)
	}
	p.res.ClustersAllocated = f.Allocated()
	return p.res, nil
}

// entry makes one entry. The root directory has none that could have
// attributes.
func (p *putting[D]) entry(i int) error {
	e := &p.r.Entries[i]
	if e.Path == "" {
		return nil
	}
	if err := TooDeep(e.Path); err != nil {
		return EntryError(e, "%w", err)
	}
	if e.Kind != KindDir && e.Kind != KindFile {
		return EntryError(e, "%s has no place for a %s", p.names.Format, e.Kind)
	}
	dir, err := p.folder(path.Dir(e.Path), e)
	switch {
	case err != nil:
		return err
	case e.Kind == KindDir:
		return p.directory(dir, i)
	}
	if err := p.Fits(e); err != nil {
		return EntryError(e, "%w", err)
	}
	return p.file(dir, i)
}

// folder is the directory of an entry.
func (p *putting[D]) folder(name string, e *Entry) (dir D, err error) {
	if name == "." {
		name = ""
	}
	if dir, known := p.dirs[name]; known {
		return dir, nil
	}
	parent, err := p.folder(path.Dir(name), e)
	if err != nil {
		return dir, err
	}
	dir, err = p.Enter(parent, path.Base(name), e.Path, p.r.Parents)
	if errors.Is(err, fs.ErrNotExist) {
		return dir, NoSuch(e.Path, p.Path(parent), path.Base(name), NoNames)
	}
	if err == nil {
		p.dirs[name] = dir
	}
	return dir, err
}

// there is the slot that has a name, unless it is of this request.
func (p *putting[D]) there(dir D, name string) (slot int, ok bool) {
	slot, ok = p.Lookup(dir, name)
	if !ok {
		return 0, false
	}
	_, made := p.madeIn(dir, slot)
	return slot, !made
}

// madeIn is the entry of the request that is in a slot.
func (p *putting[D]) madeIn(dir D, slot int) (i int, ok bool) {
	if in := p.made[dir]; slot < len(in) {
		i = int(in[slot]) - 1
		return i, i >= 0
	}
	return 0, false
}

// note has entry i be in a slot.
func (p *putting[D]) note(dir D, slot, i int) {
	in := p.made[dir]
	if n := slot + 1 - len(in); n > 0 {
		in = append(in, make([]int32, n)...)
		p.made[dir] = in
	}
	in[slot] = int32(i) + 1
}

// name is what entry i is called in dir.
func (p *putting[D]) name(dir D, i int) (string, error) {
	e := &p.r.Entries[i]
	own := path.Base(e.Path)
	name, err := p.names.Name(e, own, p.r.Rename, func(name string) string {
		slot, ok := p.Lookup(dir, name)
		if !ok {
			return ""
		}
		if i, made := p.madeIn(dir, slot); made {
			return p.r.Entries[i].Name()
		}
		return JoinPath(p.Path(dir), name)
	})
	if err == nil && name != own {
		p.res.Renamed = append(p.res.Renamed, Renamed{Entry: i, Path: JoinPath(p.Path(dir), name)})
	}
	return name, err
}

// directory makes a directory, or finds the one that is there.
func (p *putting[D]) directory(dir D, i int) error {
	e := &p.r.Entries[i]
	own := path.Base(e.Path)
	if _, ok := p.there(dir, own); ok {
		if p.r.New {
			return EntryError(e, "%w", Existsf("it is there already"))
		}
		kid, err := p.Enter(dir, own, e.Path, false)
		if err == nil {
			p.dirs[e.Path] = kid
		}
		return err
	}
	name, err := p.name(dir, i)
	if err != nil {
		return err
	}
	kid, slot, err := p.MakeFolder(dir, name, e)
	if err != nil {
		return unmade(e, err)
	}
	p.dirs[e.Path] = kid
	p.note(dir, slot, i)
	return nil
}

// unmade is why an entry could not be made, which may be damage.
func unmade(e *Entry, err error) error {
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%s: %w", e.Name(), err)
	}
	return EntryError(e, "%w", err)
}

// file makes a file, or takes the place of one that is there.
func (p *putting[D]) file(dir D, i int) error {
	e := &p.r.Entries[i]
	own := path.Base(e.Path)
	if slot, ok := p.there(dir, own); ok {
		return p.replace(dir, slot, i)
	}
	name, err := p.name(dir, i)
	if err != nil {
		return err
	}
	slot, err := p.MakeFile(dir, name, i)
	if err != nil {
		return unmade(e, err)
	}
	p.note(dir, slot, i)
	p.files = append(p.files, int32(i))
	return nil
}

// replace puts a file in the place of one that is there.
func (p *putting[D]) replace(dir D, slot, i int) error {
	e := &p.r.Entries[i]
	at := JoinPath(p.Path(dir), path.Base(e.Path))
	switch {
	case p.IsDir(dir, slot):
		return EntryError(e, "%s is a directory that is there", at)
	case !p.r.Replace:
		return EntryError(e, "%w", Existsf("%s is there already; --replace puts a file in its place", at))
	}
	p.note(dir, slot, i)
	p.files = append(p.files, int32(i))
	return p.Replace(dir, slot, i, at)
}
