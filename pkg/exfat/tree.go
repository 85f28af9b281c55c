package exfat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"unicode/utf16"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// tree reads the files of a volume. It is not safe for concurrent use, because
// of the window over the FAT.
type tree struct {
	d      dev.Device
	g      *Geometry
	t      *table
	up     *upcaseTable
	tables *tables // nil where the root directory cannot be read, and why
	why    error
	info   vol.Info
	flags  vol.FlagNames
}

// treeNode is a vol.Node and what it is found by, in one piece of memory.
type treeNode struct {
	vol.Node
	at chained
}

// chained is what a node of exFAT is found by: [exFAT] §6.4.
type chained struct {
	first  uint32
	length uint64
	noFat  bool
	root   bool // it has a chain, and no length
}

// read is Driver.Read. Where the up-case table cannot be used names are
// compared by the recommended one, as Linux does.
func read(_ context.Context, d dev.Device, _ vol.ReadOptions) (vol.Tree, error) {
	main, backup, err := readRegions(d)
	if err != nil {
		return nil, err
	}
	g := usableRegion(main, backup).g
	t := &tree{d: d, g: g, t: newTable(d, g)}
	if t.tables, err = readTables(t.t); err == nil {
		t.up, err = t.tables.readUpcase(t.t)
	}
	t.why = err
	if b, f := new(brokenChain), new(flaw); err != nil && !errors.As(err, &b) && !errors.As(err, &f) {
		return nil, err
	}
	if t.up == nil {
		t.up = standardTable()
	}
	t.info, err = describe(d)
	return t, err
}

// Info describes the volume.
func (t *tree) Info() vol.Info { return t.info }

// Root is the root directory, which has no entry, and so no times.
func (t *tree) Root() (*vol.Node, error) {
	n := &vol.Node{Path: "/", Nlink: 1, ID: uint64(t.g.RootCluster), Own: &chained{first: t.g.RootCluster, root: true}}
	n.Kind, n.Mode = vol.KindDir, 0o755
	return n, nil
}

// Fold makes names that the volume takes for the same the same.
func (t *tree) Fold(name string) string {
	u := utf16.Encode([]rune(name))
	for i := range u {
		u[i] = t.up.fold(u[i])
	}
	return decodeUnits(u)
}

// Lookup goes by the hashes of the names first, [exFAT] §7.6.4. A set that has
// the wrong one is found all the same.
func (t *tree) Lookup(dir *vol.Node, name string) (*vol.Node, error) {
	s, err := t.slots(dir)
	if err != nil {
		return nil, err
	}
	want := utf16.Encode([]rune(name))
	hash := t.up.hash(want)
	var found entrySet
	find := func(hashed bool) {
		var units []uint16
		eachSlotRun(s, func(r slotRun) bool {
			if r.kind != slotFile {
				return true
			}
			set := setAt(s, r.first)
			if set.nameLen() != len(want) || (set.stream().u16(offNameHash) == hash) != hashed {
				return true
			}
			if units = set.units(units[:0]); t.up.equalFold(units, want) {
				found = set
			}
			return found == nil
		})
	}
	if find(true); found == nil {
		find(false)
	}
	if found == nil {
		return nil, fs.ErrNotExist
	}
	return t.node(dir.Path, found), nil
}

// List calls fn for the sets of a directory. What cannot be, or is not known,
// is told when all else is listed.
func (t *tree) List(ctx context.Context, dir *vol.Node, fn func(*vol.Node) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := t.slots(dir)
	if err != nil {
		return err
	}
	var stop, odd error
	eachSlotRun(s, func(r slotRun) bool {
		switch {
		case r.kind == slotFile:
			stop = fn(t.node(dir.Path, setAt(s, r.first)))
		case r.kind == slotOdd && odd == nil:
			odd = vol.DamagedAt(dir.Path, "it holds %s, in slot %d", r.why, r.first)
		}
		return stop == nil
	})
	if stop != nil {
		return stop
	}
	return odd
}

// slots are those of a directory.
func (t *tree) slots(dir *vol.Node) (*vol.Slots, error) {
	es, err := t.extents(dir)
	if err != nil {
		return nil, err
	}
	return vol.ReadSlots(t.d, t.g.rangesOf(es), maxDirSlots)
}

// extents are the clusters of a file or directory.
func (t *tree) extents(n *vol.Node) (es []space.Extent, err error) {
	switch at, ok := n.Own.(*chained); {
	case !ok:
		return nil, fmt.Errorf("%s: %w", n.Path, fs.ErrInvalid)
	case at.root:
		es, err = t.t.rootClusters()
	case n.IsDir() && at.length > maxDirBytes:
		// §7.6.7: a directory has at most 256 MiB.
		return nil, vol.DamagedAt(n.Path, "a directory cannot have %d bytes", at.length)
	default:
		es, err = t.t.clustersOf(at.first, at.length, at.noFat)
	}
	return es, damagedChain(n.Path, err)
}

// node makes a node of a set.
func (t *tree) node(dir string, set entrySet) *vol.Node {
	f, st := set.file(), set.stream()
	var name [maxName + nameUnits]uint16
	n := &treeNode{at: chained{first: st.first(), length: st.length(), noFat: st.noFatChain()}}
	n.Path, n.Nlink, n.ID, n.Own = vol.JoinUnits(dir, set.units(name[:0])), 1, uint64(st.first()), &n.at
	n.Kind, n.Mode = vol.KindFile, 0o644
	n.Flags = vol.FileFlags(f.attributes()) & (vol.FlagReadOnly | vol.FlagHidden | vol.FlagSystem | vol.FlagArchive)
	n.Attributes = t.flags.Of(n.Flags)
	if set.isDir() {
		n.Kind, n.Mode = vol.KindDir, 0o755
	} else {
		// More than the volume holds is damage where the contents are asked for.
		n.Size = int64(min(st.length(), math.MaxInt64))
		n.Valid = int64(min(st.valid(), uint64(n.Size)))
	}
	if n.Flags&vol.FlagReadOnly != 0 {
		n.Mode &^= 0o222
	}
	n.Modified = f.time(offModify, f[offModify10ms], f[offModifyUTC])
	n.Born = f.time(offCreate, f[offCreate10ms], f[offCreateUTC])
	n.Accessed = f.time(offAccess, 0, f[offAccessUTC])
	return &n.Node
}

// Details has nothing to add on exFAT.
func (*tree) Details(*vol.Node) error { return nil }

// Mappings are the extents of a file or directory. [exFAT] §7.6.5: from
// ValidDataLength on nothing was written, which may begin inside a cluster: the
// two mappings have that cluster both.
func (t *tree) Mappings(n *vol.Node) ([]vol.Mapping, error) {
	es, err := t.extents(n)
	if err != nil {
		return nil, err
	}
	valid := n.Valid
	if n.IsDir() || valid == n.Size {
		valid = math.MaxInt64
	}
	var ms []vol.Mapping
	pos := int64(0)
	for _, e := range es {
		at := t.g.ClusterRange(e.Start, e.Len)
		cut := min(max(valid-pos, 0), at.Len)
		if cut > 0 {
			ms = append(ms, t.mapping(e, pos, dev.Range{Off: at.Off, Len: cut}))
		}
		if cut < at.Len {
			m := t.mapping(e, pos+cut, dev.Range{Off: at.Off + cut, Len: at.Len - cut})
			m.Unwritten = true
			ms = append(ms, m)
		}
		pos += at.Len
	}
	return ms, nil
}

// mapping is the part r of the clusters e.
func (t *tree) mapping(e space.Extent, pos int64, r dev.Range) vol.Mapping {
	from := t.g.ClusterOff(e.Start)
	first := (r.Off - from) / t.g.ClusterSize
	end := vol.DivUp(r.End()-from, t.g.ClusterSize)
	e = space.Extent{Start: e.Start + uint32(first), Len: uint32(end - first)}
	return vol.Mapping{Pos: pos, FileExtent: vol.FileExtent{Extent: e, Off: r.Off, Length: r.Len}}
}

// Contents reads a file.
func (t *tree) Contents(n *vol.Node) (io.ReaderAt, error) { return vol.ReadMapped(t, t.d, n) }
