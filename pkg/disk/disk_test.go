package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
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

func TestCodes(t *testing.T) {
	voltest.Codes(t, Problems(), "DISK-", "[0-9]{4}")
	for _, p := range Problems() {
		if p.Title == "" || p.Explain == "" || p.Source == "" || p.Cause == "" || p.Elsewhere == "" {
			t.Errorf("%s: it explains nothing", p.Code)
		}
	}
}

// TestEveryFault: each kind of fault has a row, so Check never panics.
func TestEveryFault(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("..", "dev", "part.go"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`(?m)^\tFault\w+ += "([a-z-]+)"`).FindAllSubmatch(src, -1)
	if len(kinds) != len(Problems())-1 { // the types of partitions are no fault of the table
		t.Errorf("%d kinds of faults, %d problems", len(kinds), len(Problems()))
	}
	for _, k := range kinds {
		fs := Check(&dev.Table{Faults: []dev.Fault{{Kind: string(k[1]), Partition: 3, At: dev.Range{Off: 7, Len: 9}, Detail: "so"}}}, nil)
		if len(fs) != 1 || fs[0].Slug != string(k[1]) || fs[0].Partition != 3 || fs[0].Loc.Range.Off != 7 || !strings.Contains(fs[0].Message(), "partition 3: so") {
			t.Errorf("%s: %+v", k[1], fs)
		}
	}
}

func TestMismatch(t *testing.T) {
	for _, tt := range []struct {
		kind, content string
		fits          bool
	}{
		{"0x0c", "fat32", true}, {"0x0c", "fat16", false}, {"0x0e", "fat16", true}, {"0x0e", "fat32", false}, {"0x06", "fat12", true},
		{"0x01", "fat12", true}, {"0x01", "fat16", false}, {"0x07", "exfat", true}, {"0x07", "ntfs", true}, {"0x07", "fat32", false},
		{"0x83", "f2fs", true}, {"0x83", "ext4", true}, {"0x83", "fat32", false}, {"0x82", "swap", true}, {"0x83", "swap", false}, {"0xef", "fat32", true},
		{"0xda", "fat32", true}, {"0x0c", "", true}, {"0x0c", "iso9660", true}, {"0xee", "fat16", true},
		{guidBasic, "exfat", true}, {guidBasic, "ntfs", true}, {guidBasic, "ext4", false}, {guidLinux, "fat32", false}, {guidLinux, "f2fs", true}, {guidLinux, "luks", true},
		{"C12A7328-F81F-11D2-BA4B-00A0C93EC93B", "fat16", true}, {"C12A7328-F81F-11D2-BA4B-00A0C93EC93B", "exfat", false},
		{"2568845D-2332-4675-BC39-8FA5A4748D15", "fat16", true}, // of Android: not known
	} {
		if words := Mismatch(tt.kind, tt.content); (words == "") != tt.fits {
			t.Errorf("%s in %s: %q", tt.content, tt.kind, words)
		}
	}
}

// TestTypesFit: what new disks get is what a check asks for.
func TestTypesFit(t *testing.T) {
	for _, fs := range []string{"fat12", "fat16", "fat32", "exfat", "f2fs"} {
		for _, scheme := range []string{dev.SchemeMBR, dev.SchemeGPT} {
			for _, size := range []int64{4 << 20, 40 << 20, 4 << 30} {
				kind := TypeFor(scheme, fs, size, 512)
				if words := Mismatch(kind, fs); words != "" {
					t.Errorf("%s of %d bytes in a %s: %s", fs, size, scheme, words)
				}
			}
		}
	}
}

// volume is a plan of a volume that fills the partition.
func volume(l *Layout, fs string) *vol.Plan {
	p := &vol.Plan{Info: vol.Info{Type: fs, Size: l.Part.Len}}
	p.Regions = []vol.Region{{Name: "head", Range: dev.Range{Len: 512}}, {Name: "data", Range: dev.Range{Off: 512, Len: l.Part.Len - 512}}}
	head := make([]byte, 512)
	copy(head, "HEAD")
	head[510], head[511] = 0x55, 0xAA
	p.Steps = append(vol.WipeSteps(l.Part.Len), vol.Step{Phase: vol.Head, Range: dev.Range{Len: 512}, Data: head})
	return p
}

func makeDisk(t *testing.T, scheme string, size, sector int64, fs, name string) (*Layout, *dev.Mem) {
	t.Helper()
	l, err := NewLayout(scheme, size, sector)
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Plan(volume(l, fs), name, 7)
	if err != nil {
		t.Fatal(err)
	}
	m := dev.NewMem(size)
	if _, err := p.Apply(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := l.Verify(m); err != nil {
		t.Error(err)
	}
	at := int64(0)
	for _, r := range p.Regions {
		if r.Off != at {
			t.Errorf("%s at byte %d, the one before ends at %d", r.Name, r.Off, at)
		}
		at = r.End()
	}
	if at > size || at < size-sector {
		t.Errorf("the regions end at byte %d of %d", at, size)
	}
	return l, m
}

func TestPlan(t *testing.T) {
	for _, size := range []int64{4 << 20, 8<<20 + 700, 64 << 20, 40 << 30, 3 << 40, 20 << 40} {
		for _, sector := range []int64{512, 1024, 2048, 4096} {
			for _, scheme := range []string{dev.SchemeMBR, dev.SchemeGPT} {
				if scheme == dev.SchemeMBR && size/sector > 1<<32 {
					if _, err := NewLayout(scheme, size, sector); err == nil || !strings.Contains(err.Error(), "--table gpt") {
						t.Errorf("%d bytes: %v", size, err)
					}
					continue
				}
				t.Run(fmt.Sprintf("%s/%d/%d", scheme, size, sector), func(t *testing.T) {
					l, m := makeDisk(t, scheme, size, sector, "exfat", "Bücher 📚")
					if l.Part.Off != 1<<20 || l.Part.Len%(1<<20) != 0 || l.Part.End() > size {
						t.Errorf("partition %v", l.Part)
					}
					b := make([]byte, 4)
					if _, err := m.ReadAt(b, l.Part.Off); err != nil || string(b) != "HEAD" {
						t.Errorf("%q, %v", b, err)
					}
				})
			}
		}
	}
	for _, scheme := range []string{dev.SchemeMBR, dev.SchemeGPT} {
		for _, size := range []int64{0, 512, 1 << 20, 2<<20 - 1} {
			if _, err := NewLayout(scheme, size, 512); err == nil {
				t.Errorf("%s: %d bytes are enough", scheme, size)
			}
		}
	}
	l, err := NewLayout(dev.SchemeGPT, 8<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Plan(volume(l, "exfat"), strings.Repeat("x", 37), 7); err == nil {
		t.Error("a name of 37 characters")
	}
	if _, err := l.Plan(volume(l, "exfat"), "a\xff", 7); !errors.Is(err, vol.ErrUsage) {
		t.Errorf("a name that is no text: %v", err)
	}
}

// TestCHS: [MBR] a byte of heads, six bits of sectors from 1, ten of cylinders.
func TestCHS(t *testing.T) {
	for lba, want := range map[int64]string{
		0: "\x00\x01\x00", 1: "\x00\x02\x00", 63: "\x01\x01\x00", 2048: "\x20\x21\x00", 255 * 63: "\x00\x01\x01",
		255 * 63 * 256: "\x00\x41\x00", 255*63*1024 - 1: "\xFE\xFF\xFF", 255 * 63 * 1024: "\xFE\xFF\xFF", 1<<32 - 1: "\xFE\xFF\xFF",
	} {
		if got := string(chs(lba)); got != want {
			t.Errorf("%d: % x, want % x", lba, got, want)
		}
	}
}

// TestPeerSfdisk: sfdisk has nothing against our tables, and writes the same bytes
// for the same partition, except for ids.
func TestPeerSfdisk(t *testing.T) {
	sfdisk := voltest.Peer(t, "sfdisk")
	for _, size := range []int64{8 << 20, 600 << 30} {
		for _, scheme := range []string{dev.SchemeMBR, dev.SchemeGPT} {
			for _, fs := range []string{"fat12", "fat32", "f2fs"} {
				l, m := makeDisk(t, scheme, size, 512, fs, "NAME")
				ours := filepath.Join(t.TempDir(), "ours.img")
				theirs := ours + ".theirs"
				writeSparse(t, ours, m)
				if out, err := exec.Command(sfdisk, "--verify", ours).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("No errors detected")) {
					t.Errorf("%s %s %d: %v: %s", scheme, fs, size, err, out)
				}
				dump, err := exec.Command(sfdisk, "--dump", ours).Output()
				if err != nil {
					t.Fatal(err)
				}
				writeSparse(t, theirs, dev.NewMem(size))
				cmd := exec.Command(sfdisk, "--quiet", theirs)
				cmd.Stdin = bytes.NewReader(dump)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				sameTables(t, fmt.Sprint(scheme, " ", fs, " ", size), ours, theirs, l)
			}
		}
	}
}

func writeSparse(t *testing.T, path string, m *dev.Mem) {
	t.Helper()
	f, err := dev.OpenFile(path, dev.OpenOptions{Create: true, Size: m.Size()})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	voltest.Copy(t, f, m)
}

// sameTables compares what is outside of the partition.
func sameTables(t *testing.T, what, ours, theirs string, l *Layout) {
	t.Helper()
	tail := l.tableBytes() + l.Sector
	for _, r := range []dev.Range{{Len: 34 * 512}, {Off: l.Size - tail, Len: tail}} {
		var b [2][]byte
		for i, path := range []string{ours, theirs} {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			b[i] = make([]byte, r.Len)
			if _, err := f.ReadAt(b[i], r.Off); err != nil {
				t.Fatal(err)
			}
			_ = f.Close()
		}
		for i := range b[0] {
			if b[0][i] != b[1][i] {
				t.Errorf("%s: byte %d is %#x, sfdisk writes %#x", what, r.Off+int64(i), b[0][i], b[1][i])
				break
			}
		}
	}
}

// TestReproducible: the same seed gives the same bytes, another one other ids.
func TestReproducible(t *testing.T) {
	_, a := makeDisk(t, dev.SchemeGPT, 8<<20, 512, "fat12", "X")
	_, b := makeDisk(t, dev.SchemeGPT, 8<<20, 512, "fat12", "X")
	x, y := make([]byte, 8<<20), make([]byte, 8<<20)
	if _, err := a.ReadAt(x, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ReadAt(y, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(x, y) {
		t.Error("not the same")
	}
	if g := x[512+56:]; g[7]>>4 != 4 || g[8]>>6 != 2 {
		t.Errorf("the GUID of the disk is not one of version 4: % x", g[:16])
	}
	if (idMaker{1}).uuid("disk") == (idMaker{2}).uuid("disk") || (idMaker{1}).uuid("disk") == (idMaker{1}).uuid("partition") {
		t.Error("ids that are the same")
	}
	if binary.LittleEndian.Uint32(x[440:]) != 0 {
		t.Error("a protective MBR with a signature")
	}
}
