package fat

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fatkit/fatkit/pkg/vol"
)

// stamp is a time as directory entries hold it, [FAT] "Date and Time Formats":
// two-second steps from 1980 to 2107.
type stamp struct{ date, time uint16 }

// newStamp is the nearest stamp to unix, seconds since 1970, taken as UTC.
func newStamp(unix int64) stamp {
	date, clock, _ := vol.DOSTime(unix)
	return stamp{date: date, time: clock}
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

// room finds n adjacent free slots.
func (f *folder) room(n int) (slot int, err error) {
	slot, ok := f.slots.Room(n)
	switch {
	case !ok && f.fixed:
		return 0, vol.Refusef("the root directory is full: it has %d entries, and they cannot become more on this type of volume", f.slots.Limit())
	case !ok:
		return 0, vol.Refusef("%s is full: a directory has at most %d entries", f.path, f.slots.Limit())
	}
	err = f.slots.Growing(slot, n, func(s []byte) bool { e := dirEntry(s); return !e.isEnd() && !e.isFree() })
	if errors.Is(err, vol.ErrBehindEnd) {
		return 0, vol.DamagedAt(f.path, "%w", err)
	}
	return slot, err
}

// create adds an entry for name, which is not there yet, with its long name
// where it needs one.
func (ds *folders) create(f *folder, name string, attr byte) (slot int, err error) {
	units, err := encodeLong(name)
	if err != nil {
		return 0, err
	}
	short, nt, fits := ds.cp.fits(units)
	var long [][entryLen]byte
	if !fits {
		var buf [12]uint16
		short, err = ds.cp.alias(units, func(n [11]byte) bool {
			_, taken := f.names.Find(ds.cp.units(n[:], buf[:0]))
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
	f.slots.Mark(slot, len(long)+1)
	for _, s := range long {
		copy(f.at(slot), s[:])
		slot++
	}
	copy(f.at(slot), newEntry(short, nt, attr, ds.now))
	f.addNames(slot, !fits)
	return slot, nil
}

// NewFolder is vol.FolderTree: it adds a directory. Where it lies is settled later, by place.
func (ds *folders) NewFolder(parent *folder, name string) (*folder, error) {
	slot, err := ds.create(parent, name, attrDirectory)
	if err != nil {
		return nil, err
	}
	f := &folder{path: vol.JoinPath(parent.path, name), parent: parent, slot: slot, fresh: true,
		slots: vol.NewSlots(maxDirEntries), kids: make(map[int]*folder)}
	ds.nameless(f)
	if _, err := f.room(2); err != nil {
		return nil, err
	}
	copy(f.at(0), newEntry([11]byte([]byte(dotName)), 0, attrDirectory, ds.now))
	copy(f.at(1), newEntry([11]byte([]byte(dotdotName)), 0, attrDirectory, ds.now))
	f.slots.Mark(0, 2)
	parent.kids[slot] = f
	ds.all = append(ds.all, f)
	return f, nil
}

// missing is how many clusters f needs beyond those it has.
func (f *folder) missing(clusterSize int64) uint32 {
	if f.fixed {
		return 0
	}
	need := vol.DivUp(int64(f.slots.End())*entryLen, clusterSize)
	return uint32(max(0, need-int64(f.Count())))
}

// place says in the entries of a new directory where it and its parent have
// come to lie. Parents come before their children.
func (ds *folders) place(f *folder) {
	if !f.fresh {
		return
	}
	f.parent.at(f.slot).setStart(ds.g.Type, f.First())
	f.parent.slots.Mark(f.slot, 1)
	f.at(0).setStart(ds.g.Type, f.First())
	// [FAT] "Directories": ".." of a directory in the root has cluster 0.
	if f.parent != ds.root {
		f.at(1).setStart(ds.g.Type, f.parent.First())
	}
}

// store writes what has changed of f.
func (ds *folders) store(f *folder) error { return f.slots.Store(ds.d, ds.ranges(f)) }
