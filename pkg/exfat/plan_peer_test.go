package exfat

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// peerCases are layouts of all kinds that other tools are to accept.
func peerCases() (cs []peerCase) {
	add := func(size int64, o vol.FormatOptions) { cs = append(cs, peerCase{vol.Target{Size: size}, o}) }
	for _, size := range []int64{mib, mib + 512, 2 * mib, 3 * mib, 8 * mib, 32*mib + 1536, 64 * mib, 256 * mib, 256*mib + 512, 5 * gib, 33 * gib, 4 * tib, 16*tib - 4096} {
		add(size, vol.FormatOptions{})
	}
	for c := int64(512); c <= 32*mib; c *= 8 {
		add(40*mib+16*c, vol.FormatOptions{ClusterSize: c, Label: "Cluster"})
	}
	add(gib, vol.FormatOptions{ClusterSize: 32 * mib})
	for _, s := range []int64{1024, 2048, 4096} {
		add(8*mib, vol.FormatOptions{SectorSize: s, Label: "日本 é"})
		add(300*mib, vol.FormatOptions{SectorSize: s, ClusterSize: s})
	}
	add(gib, vol.FormatOptions{Align: 512})
	add(gib, vol.FormatOptions{Align: 16 * mib, Label: "12345678901"})
	add(4*tib, vol.FormatOptions{ClusterSize: 2 * kib})
	cs = append(cs, peerCase{vol.Target{Size: gib, Offset: 63 * 512}, vol.FormatOptions{}})
	return cs
}

type peerCase struct {
	at vol.Target
	o  vol.FormatOptions
}

func peerRun(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", filepath.Base(name), args, err, out)
	}
	return string(out)
}

// TestPlanFsck: fsck.exfat finds nothing to say, and dump.exfat reads the same
// fields; and what is not metadata was not written.
func TestPlanFsck(t *testing.T) {
	fsck, dump := voltest.Peer(t, "fsck.exfat"), voltest.Peer(t, "dump.exfat")
	for _, c := range peerCases() {
		p, g := mustPlan(t, c.at, c.o)
		t.Run(fmt.Sprintf("%s of %s", vol.SizeText(c.at.Size), vol.SizeText(g.ClusterSize)), func(t *testing.T) {
			image := voltest.WriteImage(t, c.at.Size, p)
			if used := voltest.Occupied(t, image); used > 2*mib {
				t.Errorf("the image takes %s", vol.SizeText(used))
			}
			out := peerRun(t, fsck, "-n", image)
			if !strings.Contains(out, "clean. directories 1, files 0") || strings.Contains(out, "ERROR") {
				t.Errorf("fsck.exfat says\n%s", out)
			}
			// dump.exfat 1.2.0 looks for the root directory modulo 4 GiB.
			if g.HeapOff() < 4*gib {
				checkDump(t, peerRun(t, dump, image), p, g)
			}
		})
	}
}

// checkDump compares what dump.exfat reads with the plan.
func checkDump(t *testing.T, out string, p *vol.Plan, g *Geometry) {
	t.Helper()
	for name, want := range map[string]any{
		"Volume Length(sectors)":              g.VolumeSectors,
		"FAT Offset(sector offset)":           g.FatOffset,
		"FAT Length(sectors)":                 g.FatSectors,
		"Cluster Heap Offset (sector offset)": g.HeapOffset,
		"Cluster Count":                       g.Clusters,
		"Root Cluster (cluster offset)":       g.RootCluster,
		"Volume Serial":                       "0x" + strings.TrimLeft(strings.ToLower(strings.ReplaceAll(p.ID, "-", "")), "0"),
		"Sector Size Bits":                    shift(g.SectorSize),
		"Sector per Cluster bits":             shift(g.ClusterSize / g.SectorSize),
		"Bitmap start cluster":                2,
		"Bitmap size":                         g.BitmapBytes(),
		"Upcase table size":                   5836,
		"Cluster size":                        g.ClusterSize,
		"Total Clusters":                      g.Clusters,
		"Free Clusters":                       p.FreeClusters,
	} {
		m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `:\s*(\S*)\s*$`).FindStringSubmatch(out)
		if m == nil || m[1] != fmt.Sprint(want) {
			t.Errorf("dump.exfat has %q for %s, want %v", m, name, want)
		}
	}
}

// TestPlanMkfs: what mkfs.exfat makes is found and described, and its up-case
// table is ours to the byte.
func TestPlanMkfs(t *testing.T) {
	mkfs := voltest.Peer(t, "mkfs.exfat")
	for _, c := range []struct {
		size int64
		args []string
		want vol.Info
	}{
		{64 * mib, []string{"-L", "Label é"}, vol.Info{Label: "Label é", SectorSize: 512, ClusterSize: 4096, Clusters: 15872}},
		{gib, []string{"-c", "128K"}, vol.Info{SectorSize: 512, ClusterSize: 128 << 10, Clusters: 8176}},
		{16 * mib, nil, vol.Info{SectorSize: 512, ClusterSize: 4096, Clusters: 3584}},
	} {
		image := voltest.SparseFile(t, c.size)
		peerRun(t, mkfs, append(c.args, image)...)
		d, err := dev.OpenFile(image, dev.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		id := probe(d)
		info, err := describe(d)
		if err != nil {
			t.Fatal(err)
		}
		if id.Confidence != vol.Sure || id.Label != c.want.Label || id.Size != c.size || id.ID != info.ID {
			t.Errorf("%q: probe says %+v", c.args, id)
		}
		g := describedGeometry(t, d)
		c.want.Type, c.want.ID, c.want.Size, c.want.Fields = "exfat", info.ID, c.size, info.Fields
		if fmt.Sprintf("%+v", info) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%q: described as %+v, want %+v", c.args, info, c.want)
		}
		table := make([]byte, standardBytes)
		first := infoField(t, info, "Up-case Table FirstCluster").Value.(uint32)
		if _, err := d.ReadAt(table, g.ClusterOff(first)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(table, standardUpcase()) {
			t.Errorf("%q: mkfs.exfat has another up-case table", c.args)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func describedGeometry(t *testing.T, d dev.Device) *Geometry {
	t.Helper()
	main, err := readMain(d)
	if err != nil || main.g == nil {
		t.Fatalf("no geometry: %v, %v", err, main)
	}
	return main.g
}

// infoField is the field of info with the name.
func infoField(t *testing.T, info vol.Info, name string) vol.Field {
	t.Helper()
	for _, f := range info.Fields {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no field %s in %+v", name, info.Fields)
	return vol.Field{}
}
