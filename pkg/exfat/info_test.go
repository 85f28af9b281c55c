package exfat

import (
	"bytes"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

// TestDescribe: the fields are what was asked for, and lie where they are said
// to lie.
func TestDescribe(t *testing.T) {
	at := vol.Target{Size: 64 * mib, Offset: mib}
	o := vol.FormatOptions{Label: "Überall", ID: "1234-ABCD", VolumeGUID: "00112233-4455-6677-8899-aabbccddeeff", ClusterSize: 8192, SectorSize: 1024}
	d, g := plannedVolume(t, at, o)
	info, err := describe(d)
	if err != nil {
		t.Fatal(err)
	}
	if info.Label != o.Label || info.ID != o.ID || info.SectorSize != 1024 || info.ClusterSize != 8192 || info.Size != at.Size || info.Clusters != uint64(g.Clusters) {
		t.Errorf("%+v", info)
	}
	root := g.ClusterOff(g.RootCluster)
	for _, c := range []struct {
		name string
		off  int64
		want any
	}{
		{"JumpBoot", 0, "0xeb7690"},
		{"FileSystemName", 3, "EXFAT   "},
		{"PartitionOffset", 64, uint64(1024)},
		{"VolumeLength", 72, uint64(65536)},
		{"FatOffset", 80, uint32(1024)},
		{"ClusterHeapOffset", 88, uint32(2048)},
		{"ClusterCount", 92, g.Clusters},
		{"FirstClusterOfRootDirectory", 96, g.RootCluster},
		{"VolumeSerialNumber", 100, "1234-ABCD"},
		{"FileSystemRevision", 104, "1.00"},
		{"VolumeFlags", 106, "0x0"},
		{"BytesPerSectorShift", 108, byte(10)},
		{"SectorsPerClusterShift", 109, byte(3)},
		{"NumberOfFats", 110, byte(1)},
		{"DriveSelect", 111, "0x80"},
		{"PercentInUse", 112, byte(0)},
		{"BootSignature", 510, "0xaa55"},
		{"Main OEM Parameters", 9 * 1024, false},
		{"Main Boot Checksum right", 11 * 1024, true},
		{"Backup Boot Checksum right", 23 * 1024, true},
		{"FatEntry[0]", mib, "0xfffffff8"},
		{"FatEntry[1]", mib + 4, "0xffffffff"},
		{"Volume Label CharacterCount", root + 1, byte(7)},
		{"Volume Label VolumeLabel", root + 2, o.Label},
		{"Allocation Bitmap BitmapFlags", root + 33, "0x0"},
		{"Allocation Bitmap FirstCluster", root + 52, uint32(2)},
		{"Allocation Bitmap DataLength", root + 56, uint64(g.BitmapBytes())},
		{"Up-case Table TableChecksum", root + 68, "0xe619d30d"},
		{"Up-case Table FirstCluster", root + 84, uint32(3)},
		{"Up-case Table DataLength", root + 88, uint64(5836)},
		{"Volume GUID VolumeGuid", root + 102, o.VolumeGUID},
	} {
		if f := infoField(t, info, c.name); f.Offset != c.off || f.Value != c.want {
			t.Errorf("%s: %v (%T) at %d, want %v at %d", c.name, f.Value, f.Value, f.Offset, c.want, c.off)
		}
	}
}

// TestDescribeRoot: a root directory that is long, is broken, or goes round in
// circles is read as far as it makes sense.
func TestDescribeRoot(t *testing.T) {
	o := vol.FormatOptions{ClusterSize: 512, Label: "LATE"}
	d, g := plannedVolume(t, vol.Target{Size: 4 * mib}, o)
	root := make([]byte, 512)
	if _, err := d.ReadAt(root, g.ClusterOff(g.RootCluster)); err != nil {
		t.Fatal(err)
	}
	// The entries of the volume move to a second cluster, behind a full one.
	next := g.RootCluster + 7
	put(t, d, g.ClusterOff(g.RootCluster), bytes.Repeat([]byte{0x05}, 512)...)
	put(t, d, g.ClusterOff(next), root...)
	entry := func(c, v uint32) { put(t, d, g.FatOff()+int64(c)*4, byte(v), byte(v>>8), byte(v>>16), byte(v>>24)) }
	entry(g.RootCluster, next)
	entry(next, fatEOC)
	info, err := describe(d)
	if err != nil || info.Label != "LATE" || infoField(t, info, "Volume Label VolumeLabel").Offset != g.ClusterOff(next)+2 {
		t.Errorf("%v, %+v", err, info)
	}
	if id := probe(d); id.Confidence != vol.Sure || id.Label != "LATE" {
		t.Errorf("%+v", id)
	}
	for _, to := range []uint32{0, 1, g.RootCluster, g.Last() + 1, fatBad, fatEOC} {
		entry(g.RootCluster, to)
		if info, err := describe(d); err != nil || info.Label != "" {
			t.Errorf("root continues in %#x: %v, %+v", to, err, info)
		}
	}
	// A count that cannot be.
	put(t, d, g.ClusterOff(g.RootCluster), append([]byte{typeLabel, 200}, bytes.Repeat([]byte{'x', 0}, 15)...)...)
	if id := probe(d); id.Label != "xxxxxxxxxxx" {
		t.Errorf("%+v", id)
	}
}
