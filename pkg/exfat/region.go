package exfat

import (
	"bytes"
	"encoding/binary"

	"github.com/fatkit/fatkit/pkg/dev"
)

// region is one of the two boot regions as it was read, [exFAT] §3.
type region struct {
	off   int64
	raw   []byte // 12 sectors; nil where they could not be read
	err   error  // of the device, which is why
	g     *Geometry
	fault *fault // what is wrong with its fields
	sumOK bool
}

// good: the region could be used by itself.
func (r *region) good(size int64) bool {
	return r.g != nil && r.sumOK && r.g.VolumeBytes() <= size
}

func (r *region) boot() bootSector { return bootSector(r.raw[:bootSectorLen]) }

// readMain reads the main boot region, in sectors of the size that it states, or
// of 512 bytes where that cannot be: then it is not good, whatever it holds. The
// error is of a device that is too short; one that does not read is told by the
// region, for which the backup can stand in.
func readMain(d dev.Device) (*region, error) {
	head := make(bootSector, bootSectorLen)
	if err := dev.CheckRange("read", dev.Range{Len: bootSectorLen}, d.Size()); err != nil {
		return nil, err
	}
	if err := readTwice(d, head, 0); err != nil {
		return &region{err: err}, nil
	}
	size := int64(512)
	if s := head[offSectorShift]; s >= minSectorShift && s <= maxSectorShift {
		size = 1 << s
	}
	return readRegion(d, 0, size), nil
}

// readTwice reads, and once more before a region is given up: the other one would
// be written over it, which does not know as much.
func readTwice(d dev.Device, p []byte, off int64) error {
	_, err := d.ReadAt(p, off)
	if err != nil {
		_, err = d.ReadAt(p, off)
	}
	return err
}

// readBackup looks for the backup region at every sector size, and prefers one
// whose fields agree with where it was found.
func readBackup(d dev.Device, main *region) *region {
	sizes := []int64{512, 1024, 2048, 4096}
	if main.g != nil && main.sumOK {
		sizes = []int64{main.g.SectorSize}
	} else if main.g != nil {
		// Its sector size may be the field that is wrong.
		sizes = append([]int64{main.g.SectorSize}, sizes...)
	}
	var any *region
	for _, size := range sizes {
		r := readRegion(d, backupSector*size, size)
		if r.g != nil && r.g.SectorSize == size && r.sumOK {
			return r
		}
		if any == nil {
			any = r
		}
	}
	return any
}

// readRegion reads 12 sectors of size bytes at off and judges them.
func readRegion(d dev.Device, off, size int64) *region {
	r := &region{off: off}
	n := regionSectors * size
	if dev.CheckRange("read", dev.Range{Off: off, Len: n}, d.Size()) != nil {
		return r
	}
	r.raw = make([]byte, n)
	if err := readTwice(d, r.raw, off); err != nil {
		r.raw, r.err = nil, err
		return r
	}
	r.g, r.fault = parseGeometry(r.boot())
	if r.g != nil && r.g.SectorSize != size {
		r.g = nil
		r.fault = &fault{slug: "sector-size", off: offSectorShift, len: 1, got: r.boot()[offSectorShift], detail: "BytesPerSectorShift does not fit where the region lies"}
	}
	r.sumOK = bytes.Equal(r.raw[sectorChecksum*size:], checksumSector(r.raw[:sectorChecksum*size], size))
	return r
}

// checksumSector is the 12th sector of a region: the checksum of the first 11,
// over and over, [exFAT] §3.4.
func checksumSector(sectors []byte, size int64) []byte {
	var sum [4]byte
	binary.LittleEndian.PutUint32(sum[:], bootChecksum(sectors))
	return bytes.Repeat(sum[:], int(size/4))
}

// firstDiff is the first byte in which two regions differ, or -1; where one is
// shorter, because its sectors are or because it could not be read, its end is
// a difference. The fields that are only kept in the main one do not count:
// §3.1.13 VolumeFlags and §3.1.18 PercentInUse are stale in a backup.
func firstDiff(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] && i != offVolumeFlags && i != offVolumeFlags+1 && i != offPercentInUse {
			return i
		}
	}
	if len(a) != len(b) {
		return n
	}
	return -1
}
