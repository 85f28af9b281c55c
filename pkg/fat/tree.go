package fat

import (
	"context"
	"io"
	"io/fs"
	"time"
	"unicode/utf16"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// tree reads the files of a volume. It is not safe for concurrent use, because
// of the window over the FAT.
type tree struct {
	d     dev.Device
	g     *Geometry
	t     *table
	info  vol.Info
	cp    codepage
	flags vol.FlagNames
}

// rootID is the cluster that stands for the root directory of FAT12 and FAT16:
// no cluster has that number.
const rootID = 1

// read is Driver.Read.
func read(_ context.Context, d dev.Device, o vol.ReadOptions) (vol.Tree, error) {
	_, g, err := readBoot(d)
	if err != nil {
		return nil, err
	}
	t := &tree{d: d, g: g, t: newTable(d, g, g.ActiveFat)}
	if t.cp, err = newCodepage(o.Codepage); err != nil {
		return nil, err
	}
	t.info, err = describe(d)
	return t, err
}

// Info describes the volume.
func (t *tree) Info() vol.Info { return t.info }

// Root is the root directory, which has no entry, and so no times.
func (t *tree) Root() (*vol.Node, error) {
	start := uint32(rootID)
	if t.g.Type == FAT32 {
		start = t.g.RootCluster
	}
	n := &vol.Node{Path: "/", Nlink: 1, ID: uint64(start)}
	n.Kind, n.Mode = vol.KindDir, 0o755
	return n, nil
}

// Fold makes names that Windows takes for the same the same.
func (*tree) Fold(name string) string {
	u := utf16.Encode([]rune(name))
	for i := range u {
		u[i] = foldUnit(u[i])
	}
	return decodeUnits(u)
}

// Lookup compares with the long and with the short names.
func (t *tree) Lookup(dir *vol.Node, name string) (found *vol.Node, err error) {
	want := utf16.Encode([]rune(name))
	var short []uint16
	err = t.entries(dir, func(e namedEntry) bool {
		short = t.cp.units(e.e.name(), short[:0])
		if !vol.EqualFolded(want, short, foldUnit) && (e.long == nil || !vol.EqualFolded(want, e.long, foldUnit)) {
			return true
		}
		found = t.node(dir.Path, e)
		return false
	})
	if err == nil && found == nil {
		err = fs.ErrNotExist
	}
	return found, err
}

// List calls fn for the entries of a directory.
func (t *tree) List(ctx context.Context, dir *vol.Node, fn func(*vol.Node) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var stop error
	err := t.entries(dir, func(e namedEntry) bool {
		if !e.isDot() {
			stop = fn(t.node(dir.Path, e))
		}
		return stop == nil
	})
	if stop != nil {
		return stop
	}
	return err
}

// isDot tells whether an entry is "." or "..", [FAT] "Directory Creation".
func (n namedEntry) isDot() bool { return isDotName(n.e.name()) }

// entries calls fn for the files and directories of dir until it returns false.
func (t *tree) entries(dir *vol.Node, fn func(namedEntry) bool) error {
	rs, err := t.ranges(dir)
	if err != nil {
		return err
	}
	s, err := vol.ReadSlots(t.d, rs, maxDirEntries)
	if err != nil {
		return err
	}
	eachEntry(s.Run(0, s.End()), func(e namedEntry) bool { return e.e.isVolume() || fn(e) })
	return nil
}

// ranges are the bytes of a directory.
func (t *tree) ranges(dir *vol.Node) ([]dev.Range, error) {
	start := uint32(dir.ID)
	if start == rootID && t.g.Type != FAT32 {
		return []dev.Range{t.g.rootRange()}, nil
	}
	es, err := t.t.dirClusters(dir.Path, start)
	if err != nil {
		return nil, err
	}
	return t.g.locator().Ranges(es), nil
}

// node makes a node of an entry.
func (t *tree) node(dir string, e namedEntry) *vol.Node {
	start := e.e.start(t.g.Type)
	n := &vol.Node{Nlink: 1, ID: uint64(start)}
	if e.long != nil {
		n.Path = vol.JoinUnits(dir, e.long)
	} else {
		n.Path = vol.JoinPath(dir, e.name(t.cp))
	}
	n.Kind, n.Mode = vol.KindFile, 0o644
	n.Flags = vol.FileFlags(e.e.attr()) & (vol.FlagReadOnly | vol.FlagHidden | vol.FlagSystem | vol.FlagArchive)
	n.Attributes = t.flags.Of(n.Flags)
	if e.e.isDir() {
		n.Kind, n.Mode = vol.KindDir, 0o755
	} else {
		n.Size = int64(e.e.size())
		n.Valid = n.Size
	}
	if n.Flags&vol.FlagReadOnly != 0 {
		n.Mode &^= 0o222
	}
	n.Modified = stamp{e.e.u16(offWrtDate), e.e.u16(offWrtTime)}.at(0)
	n.Born = stamp{e.e.u16(offCrtDate), e.e.u16(offCrtTime)}.at(e.e[offCrtTenth])
	n.Accessed = stamp{date: e.e.u16(offAccDate)}.at(0)
	return n
}

// at is the time of a stamp, taken as UTC; the zero Time where it is none. tenth
// is DIR_CrtTimeTenth: hundredths of a second, 0 to 199.
func (s stamp) at(tenth byte) time.Time {
	month, day := int(s.date>>5&15), int(s.date&31)
	if s.date == 0 || month < 1 || month > 12 || day < 1 {
		return time.Time{}
	}
	t := time.Date(1980+int(s.date>>9), time.Month(month), day,
		int(s.time>>11), int(s.time>>5&63), int(s.time&31)*2, 0, time.UTC)
	return t.Add(time.Duration(min(tenth, 199)) * 10 * time.Millisecond)
}

// Details has nothing to add on FAT.
func (*tree) Details(*vol.Node) error { return nil }

// Mappings are the extents of a file or directory.
func (t *tree) Mappings(n *vol.Node) ([]vol.Mapping, error) {
	start := uint32(n.ID)
	if n.IsDir() && start == rootID && t.g.Type != FAT32 {
		return []vol.Mapping{{FileExtent: vol.FileExtent{Off: t.g.RootOff(), Length: t.g.RootBytes()}}}, nil
	}
	var es []space.Extent
	var err error
	if n.IsDir() {
		es, err = t.t.dirClusters(n.Path, start)
	} else {
		es, _, err = t.t.fileClusters(n.Path, start, n.Size)
	}
	if err != nil {
		return nil, err
	}
	var ms []vol.Mapping
	pos := int64(0)
	for _, e := range es {
		at := t.g.ClusterRange(e.Start, e.Len)
		ms = append(ms, vol.Mapping{Pos: pos, FileExtent: vol.FileExtent{Extent: e, Off: at.Off, Length: at.Len}})
		pos += at.Len
	}
	return ms, nil
}

// Contents reads a file.
func (t *tree) Contents(n *vol.Node) (io.ReaderAt, error) { return vol.ReadMapped(t, t.d, n) }

// Uses goes over what is before the clusters, the clusters, and what is behind
// them.
func (t *tree) Uses(ctx context.Context, fn func(vol.UseRange) error) error {
	m, stats, err := loadMap(ctx, t.d, t.g, t.g.ActiveFat, 0)
	if err != nil {
		return err
	}
	if err := fn(vol.UseRange{Range: dev.Range{Len: t.g.DataOff()}, Use: vol.UseMetadata}); err != nil {
		return err
	}
	for at := uint64(0); at < m.Len(); {
		next, use := m.FreeRun, vol.UseFree
		if m.Used(uint32(at)) {
			next, use = m.UsedRun, vol.UseData
		}
		e, _ := next(at)
		at = e.End()
		e.Start += firstCluster
		if use == vol.UseData && stats.bad > 0 {
			err = t.usedAndBad(e, fn)
		} else {
			err = fn(vol.UseRange{Range: t.g.ClusterRange(e.Start, e.Len), Use: use})
		}
		if err != nil {
			return err
		}
	}
	end := t.g.ClusterOff(firstCluster) + int64(t.g.Clusters)*t.g.ClusterSize()
	if rest := t.g.VolumeBytes() - end; rest > 0 {
		return fn(vol.UseRange{Range: dev.Range{Off: end, Len: rest}, Use: vol.UseReserved})
	}
	return nil
}

// usedAndBad tells the clusters of e that are marked as bad from the others.
func (t *tree) usedAndBad(e space.Extent, fn func(vol.UseRange) error) error {
	run, bad := space.Extent{Start: e.Start}, false
	flush := func() error {
		if run.Len == 0 {
			return nil
		}
		use := vol.UseData
		if bad {
			use = vol.UseBad
		}
		return fn(vol.UseRange{Range: t.g.ClusterRange(run.Start, run.Len), Use: use})
	}
	for c := e.Start; uint64(c) < e.End(); c++ {
		v, err := t.t.get(c)
		if err != nil {
			return err
		}
		if is := v == entryBad; is != bad {
			if err := flush(); err != nil {
				return err
			}
			run, bad = space.Extent{Start: c}, is
		}
		run.Len++
	}
	return flush()
}
