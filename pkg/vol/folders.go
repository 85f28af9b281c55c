package vol

import "iter"

// FolderTree is the directories of a volume of the FAT family that a change has come
// by. D is one of them, a pointer. A slot is the place of an entry in its directory.
type FolderTree[D any] interface {
	Root() D
	Path(dir D) string
	// Lookup finds a name, as the format compares names.
	Lookup(dir D, name string) (slot int, ok bool)
	IsDir(dir D, slot int) bool
	// Names are those of the entries of dir, for who looks for one that is not there.
	Names(dir D) iter.Seq[string]
	// NewFile and NewFolder make what dir does not have yet.
	NewFile(dir D, name string) (slot int, err error)
	NewFolder(dir D, name string) (kid D, err error)
	// Kid is the directory in a slot, whose path is at; it is read where that was not
	// done before.
	Kid(dir D, slot int, at string) (kid D, err error)
}

// EnterFolder goes from dir into its directory name, which it makes with create set,
// if there is none. at is the path that it is for, for messages.
func EnterFolder[D any](t FolderTree[D], dir D, name, at string, create bool) (kid D, err error) {
	slot, ok := t.Lookup(dir, name)
	switch {
	case !ok && !create:
		return kid, NoSuch(at, t.Path(dir), name, t.Names(dir))
	case !ok:
		return t.NewFolder(dir, name)
	case !t.IsDir(dir, slot):
		return kid, Refusef("%s: %q in %s is not a directory", at, name, t.Path(dir))
	}
	return t.Kid(dir, slot, JoinPath(t.Path(dir), name))
}

// FindFile finds the file at the path p. With create what is missing is made, and
// made tells whether the file was.
func FindFile[D any](t FolderTree[D], p string, create bool) (dir D, slot int, made bool, err error) {
	parts, err := SplitPath(p)
	if err != nil {
		return dir, 0, false, err
	}
	dir = t.Root()
	for _, name := range parts[:len(parts)-1] {
		if dir, err = EnterFolder(t, dir, name, p, create); err != nil {
			return dir, 0, false, err
		}
	}
	name := parts[len(parts)-1]
	slot, ok := t.Lookup(dir, name)
	switch {
	case !ok && !create:
		err = NoSuch(p, t.Path(dir), name, t.Names(dir))
	case !ok:
		slot, err = t.NewFile(dir, name)
	case t.IsDir(dir, slot):
		err = Refusef("%s is a directory", p)
	}
	return dir, slot, !ok, err
}
