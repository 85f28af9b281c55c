package fat

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// stamp is a time as directory entries hold it, [FAT] "Date and Time Formats":
// two-second steps from 1980 to 2107.
type stamp struct{ date, time uint16 }

// newStamp is the nearest stamp to unix, seconds since 1970, taken as UTC.
func newStamp(unix int64) stamp {
	t := time.Unix(unix, 0).UTC()
	if first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); t.Before(first) {
		t = first
	}
	if last := time.Date(2107, 12, 31, 23, 59, 58, 0, time.UTC); t.After(last) {
		t = last
	}
	return stamp{
		date: uint16((t.Year()-1980)<<9 | int(t.Month())<<5 | t.Day()),
		time: uint16(t.Hour()<<11 | t.Minute()<<5 | t.Second()/2),
	}
}

func (e dirEntry) put16(off int, v uint16) { binary.LittleEndian.PutUint16(e[off:], v) }

// touch sets the time of the last write.
func (e dirEntry) touch(s stamp) {
	e.put16(offWrtTime, s.time)
	e.put16(offWrtDate, s.date)
}

// newEntry is a slot for something that is made now.
func newEntry(name [11]byte, nt, attr byte, s stamp) dirEntry {
	e := dirEntry(make([]byte, entryLen))
	copy(e, name[:])
	e[offAttr], e[offNTRes] = attr, nt
	e.put16(offCrtTime, s.time)
	e.put16(offCrtDate, s.date)
	e.put16(offAccDate, s.date)
	e.touch(s)
	return e
}

// addGap notes free slots under their length, or under the longest that an
// entry can need.
func (f *folder) addGap(g gap) {
	if g.n > 0 {
		k := min(g.n, len(f.gaps)-1)
		f.gaps[k] = append(f.gaps[k], g)
	}
}

// room finds n adjacent free slots: the smallest gap that holds them, else
// behind the end. As gaps are kept by length, that does not depend on how many
// there are.
func (f *folder) room(n int) (slot int, err error) {
	for k := n; k < len(f.gaps); k++ {
		last := len(f.gaps[k]) - 1
		if last < 0 {
			continue
		}
		g := f.gaps[k][last]
		f.gaps[k] = f.gaps[k][:last]
		f.addGap(gap{g.first + n, g.n - n})
		return g.first, nil
	}
	if f.end+n > f.limit {
		if f.fixed {
			return 0, fmt.Errorf("%w: the root directory is full: it has %d entries, and they cannot become more on this type of volume", vol.ErrRequest, f.limit)
		}
		return 0, fmt.Errorf("%w: %s is full: a directory has at most %d entries", vol.ErrRequest, f.path, f.limit)
	}
	slot = f.end
	f.end += n
	f.extend()
	return slot, nil
}

// extend makes the memory for the slots up to the end, and ends them: what
// lies behind the end mark on the disk may be anything.
func (f *folder) extend() {
	need := f.end + 1
	if f.end == f.limit {
		need = f.end
	}
	if grow := vol.RoundUp(int64(need)*entryLen, blockLen) - int64(len(f.slots)); grow > 0 {
		f.slots = append(f.slots, make([]byte, grow)...)
	}
	if need > f.end {
		clear(f.at(f.end))
		f.mark(f.end)
	}
}

// mark notes that a slot has changed.
func (f *folder) mark(slot int) {
	b := slot * entryLen / blockLen
	for len(f.dirty) <= b {
		f.dirty = append(f.dirty, false)
	}
	f.dirty[b] = true
}

// changed tells whether a slot was marked.
func (f *folder) changed() bool { return slices.Contains(f.dirty, true) }

// create adds an entry for name, which is not there yet, with its long name
// where it needs one.
func (ds *folders) create(f *folder, name string, attr byte) (slot int, err error) {
	units, err := encodeLong(name)
	if err != nil {
		return 0, err
	}
	short, nt, fits := fitsShort(units)
	var long [][entryLen]byte
	if !fits {
		var buf [12]uint16
		short, err = shortAlias(units, func(n [11]byte) bool {
			_, taken := f.names[nameKey(shortUnits(n[:], buf[:0]))]
			return taken
		})
		if err != nil {
			return 0, fmt.Errorf("%w: %q in %s: %w", vol.ErrRequest, name, f.path, err)
		}
		long = longSlots(units, nameSum(short[:]))
	}
	slot, err = f.room(len(long) + 1)
	if err != nil {
		return 0, err
	}
	for _, s := range long {
		copy(f.at(slot), s[:])
		f.mark(slot)
		slot++
	}
	copy(f.at(slot), newEntry(short, nt, attr, ds.now))
	f.mark(slot)
	f.addName(units, slot)
	f.addName(shortUnits(short[:], nil), slot)
	return slot, nil
}

// makeFolder adds a directory. Where it lies is settled later, by place.
func (ds *folders) makeFolder(parent *folder, name string) (*folder, error) {
	slot, err := ds.create(parent, name, attrDirectory)
	if err != nil {
		return nil, err
	}
	f := &folder{path: vol.JoinPath(parent.path, name), parent: parent, slot: slot, fresh: true, limit: maxDirEntries,
		names: make(map[string]int32), kids: make(map[int]*folder)}
	if _, err := f.room(2); err != nil {
		return nil, err
	}
	copy(f.at(0), newEntry([11]byte([]byte(".          ")), 0, attrDirectory, ds.now))
	copy(f.at(1), newEntry([11]byte([]byte("..         ")), 0, attrDirectory, ds.now))
	f.mark(0)
	parent.kids[slot] = f
	ds.all = append(ds.all, f)
	return f, nil
}

// missing is how many clusters f needs beyond those it has.
func (f *folder) missing(clusterSize int64) uint32 {
	if f.fixed {
		return 0
	}
	need := vol.RoundUp(int64(f.end)*entryLen, clusterSize) / clusterSize
	return uint32(max(0, need-int64(len(f.clusters))))
}

// place appends the clusters that f was given. Parents come before their
// children.
func (ds *folders) place(f *folder) {
	for _, e := range f.added {
		for i := range e.Len {
			f.clusters = append(f.clusters, e.Start+i)
		}
	}
	if !f.fresh {
		return
	}
	f.parent.at(f.slot).setStart(ds.g.Type, f.start())
	f.parent.mark(f.slot)
	f.at(0).setStart(ds.g.Type, f.start())
	// [FAT] "Directories": ".." of a directory in the root has cluster 0.
	if f.parent != ds.root {
		f.at(1).setStart(ds.g.Type, f.parent.start())
	}
}

// store writes the blocks of f that have changed.
func (ds *folders) store(f *folder) error {
	for b := 0; b < len(f.dirty); {
		if !f.dirty[b] {
			b++
			continue
		}
		from := b
		for b < len(f.dirty) && f.dirty[b] {
			b++
		}
		if err := ds.write(f, int64(from)*blockLen, int64(b)*blockLen); err != nil {
			return err
		}
	}
	f.dirty, f.fresh = nil, false
	return nil
}

// write writes the bytes from … to of the slots, in one piece for each run of
// clusters. A block that only holds the end mark may have no place: the end of
// the chain is mark enough.
func (ds *folders) write(f *folder, from, to int64) error {
	to = min(to, int64(len(f.slots)))
	ranges := []dev.Range{{Off: ds.g.RootOff(), Len: vol.RoundUp(ds.g.RootBytes(), ds.g.SectorSize)}}
	if !f.fixed {
		ranges = ds.ranges(f.clusters)
	}
	pos := int64(0)
	for _, r := range ranges {
		part := dev.Range{Off: from, Len: to - from}.Intersect(dev.Range{Off: pos, Len: r.Len})
		if !part.Empty() {
			if _, err := ds.d.WriteAt(f.slots[part.Off:part.End()], r.Off+part.Off-pos); err != nil {
				return err
			}
		}
		pos += r.Len
	}
	return nil
}
