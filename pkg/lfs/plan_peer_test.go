package lfs

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// peerRun runs another implementation and returns what it prints.
func peerRun(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// peerCase is a layout that other tools are to accept.
type peerCase struct {
	size int64
	o    vol.FormatOptions
}

func (c peerCase) String() string {
	return strings.TrimSuffix(strings.Join([]string{vol.SizeText(c.size), showOptions(c.o)}, " "), " ")
}

// peerCases are layouts of all kinds.
func peerCases() []peerCase {
	all := "extra_attr,project_quota,inode_checksum,flexible_inline_xattr,quota,inode_crtime,lost_found,verity,sb_checksum,casefold,compression,encrypt"
	cs := []peerCase{
		{46 * mib, vol.FormatOptions{}},
		{46*mib + 512, vol.FormatOptions{Label: "smallest"}},
		{64 * mib, vol.FormatOptions{Features: "lost_found", Label: "Größe 日本 😀"}},
		{100 * mib, vol.FormatOptions{Features: all, Label: strings.Repeat("x", 512)}},
		{300 * mib, vol.FormatOptions{Features: all, Encoding: "utf8:strict", RootOwner: &[2]uint32{1000, 0x01020304}}},
		{200 * mib, vol.FormatOptions{Features: "quota", RootOwner: &[2]uint32{7, 8}}},
		{200 * mib, vol.FormatOptions{Features: "extra_attr,project_quota,lost_found"}},
		{500 * mib, vol.FormatOptions{SegmentsPerSection: ptr(2), SectionsPerZone: ptr(3)}},
		{gib, vol.FormatOptions{SegmentsPerSection: ptr(7), Features: "sb_checksum"}},
		{gib, vol.FormatOptions{SectionsPerZone: ptr(5), Overprovision: ptr(12.5)}},
		{gib, vol.FormatOptions{Overprovision: ptr(1.0), SectorSize: 4096, ColdExtensions: []string{"cold", "raw"}, HotExtensions: []string{"sqlite"}}},
		{29360128, vol.FormatOptions{Features: "ro"}},
		{100 * mib, vol.FormatOptions{Features: "ro,extra_attr,compression,lost_found,sb_checksum"}},
		{200 * mib, vol.FormatOptions{Features: "ro", SegmentsPerSection: ptr(2), SectionsPerZone: ptr(2)}},
		{5*gib + 12345, vol.FormatOptions{}},
		{64 * gib, vol.FormatOptions{Features: "extra_attr,inode_checksum,sb_checksum"}},
		{tib, vol.FormatOptions{Features: "lost_found"}},
		{3500 * gib, vol.FormatOptions{}}, // with payload; fsck.f2fs takes a minute for 16 TiB, and is content, too
	}
	for i := range cs {
		cs[i].o.Seed, cs[i].o.Time = uint64(i), 1_700_000_000
	}
	return cs
}

// TestPlanFsck: fsck.f2fs finds nothing to say, and the image takes no room.
func TestPlanFsck(t *testing.T) {
	fsck := voltest.Peer(t, "fsck.f2fs")
	for _, c := range peerCases() {
		t.Run(c.String(), func(t *testing.T) {
			if c.size > gib {
				needs.Long(t, "reads every table")
			}
			t.Parallel()
			p, _ := mustPlan(t, vol.Target{Size: c.size}, c.o)
			image := voltest.WriteImage(t, c.size, p)
			if used := voltest.Occupied(t, image); used > mib {
				t.Errorf("the image takes %s", vol.SizeText(used))
			}
			out, err := peerRun(t, fsck, "--dry-run", image)
			if err != nil {
				t.Errorf("fsck.f2fs: %v", err)
			}
			for line := range strings.Lines(out) {
				if said := strings.TrimSpace(line); strings.Contains(said, "ASSERT") || strings.Contains(said, "[Fail]") || strings.Contains(said, "Mismatch") || strings.Contains(said, "corrupt") && !strings.Contains(said, "[Ok..]") {
					t.Errorf("fsck.f2fs: %s", said)
				}
			}
		})
	}
}

// TestPlanSecond: where the first superblock and the first pack are lost, the
// second ones do.
func TestPlanSecond(t *testing.T) {
	fsck := voltest.Peer(t, "fsck.f2fs")
	p, g := mustPlan(t, vol.Target{Size: 100 * mib}, vol.FormatOptions{Features: "lost_found,quota"})
	image := voltest.WriteImage(t, 100*mib, p)
	d, err := dev.OpenFile(image, dev.OpenOptions{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	change(t, d, superOffset, 0, 0, 0, 0)
	change(t, d, g.BlockOff(g.PackBlock(0))+100, 1, 2, 3)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := peerRun(t, fsck, "--dry-run", image); err != nil {
		t.Errorf("fsck.f2fs: %v\n%s", err, out)
	}
}

// TestPlanDump: dump.f2fs reads the same fields as we wrote.
func TestPlanDump(t *testing.T) {
	dump := voltest.Peer(t, "dump.f2fs")
	line := regexp.MustCompile(`(?m)^(\w+(?:\[\w+\])?)\s+\t*\[0x\s*[0-9a-f]+ : (\d+)\]$`)
	for _, c := range peerCases() {
		if c.size > 64*gib {
			continue // it reads all of SIT first
		}
		p, _ := mustPlan(t, vol.Target{Size: c.size}, c.o)
		image := voltest.WriteImage(t, c.size, p)
		out, err := peerRun(t, dump, "-d", "1", image)
		if err != nil {
			t.Errorf("%s: dump.f2fs: %v\n%s", c, err, out)
			continue
		}
		found := line.FindAllStringSubmatch(out, -1)
		if len(found) < 40 {
			t.Errorf("%s: dump.f2fs shows %d fields:\n%s", c, len(found), out)
		}
		d := openFile(t, image)
		info, err := describe(d)
		if err != nil {
			t.Fatal(err)
		}
		ours := numbers(info)
		for _, m := range found {
			if want, ok := ours[m[1]]; ok && want != m[2] {
				t.Errorf("%s: dump.f2fs has %s %s, and we wrote %s", c, m[1], m[2], want)
			}
		}
	}
}

func openFile(t *testing.T, name string) *dev.File {
	t.Helper()
	d, err := dev.OpenFile(name, dev.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// numbers are the numeric fields of info, in decimal, with the parts of arrays
// as dump.f2fs names them. Of fields that both structures have the first counts.
func numbers(info vol.Info) map[string]string {
	m := map[string]string{}
	for _, f := range info.Fields {
		s := fmt.Sprint(f.Value)
		if n, err := strconv.ParseUint(s, 0, 64); err == nil {
			s = strconv.FormatUint(n, 10)
		}
		for i, part := range strings.Fields(s) {
			name := f.Name
			if strings.HasPrefix(name, "cur_") {
				name = fmt.Sprintf("%s[%d]", name, i)
			}
			if _, ok := m[name]; !ok {
				m[name] = part
			}
		}
	}
	delete(m, "checksum_offset") // dump.f2fs has two of that name
	return m
}

// mkfsCase is a volume that mkfs.f2fs makes and we do.
type mkfsCase struct {
	peerCase
	args []string
}

// mkfsCases are sizes and options.
func mkfsCases() (cs []mkfsCase) {
	add := func(size int64, o vol.FormatOptions, args ...string) {
		cs = append(cs, mkfsCase{peerCase{size, o}, args})
	}
	for _, size := range []int64{3480 * gib, 3500 * gib, 8*tib + 12288, 15 * tib} { // up to and beyond the first with payload
		add(size, vol.FormatOptions{})
	}
	for _, size := range []int64{100 * mib, 128*mib + 512, 333*mib + 4096, gib, 3*gib + 123*512, 33 * gib, 200 * gib} {
		add(size, vol.FormatOptions{})
		for _, s := range []int{2, 3, 5, 16} {
			if size < 333*mib || size < 3*gib && s > 3 {
				continue
			}
			add(size, vol.FormatOptions{SegmentsPerSection: ptr(s)}, "-s", fmt.Sprint(s))
			if s < 5 {
				add(size, vol.FormatOptions{SectionsPerZone: ptr(s)}, "-z", fmt.Sprint(s))
				if size >= gib {
					add(size, vol.FormatOptions{SegmentsPerSection: ptr(2), SectionsPerZone: ptr(s)}, "-s", "2", "-z", fmt.Sprint(s))
				}
			}
		}
		add(size, vol.FormatOptions{Features: "ro"}, "-O", "ro")
		add(size, vol.FormatOptions{Overprovision: ptr(7.25)}, "-o", "7.25")
	}
	add(18882560, vol.FormatOptions{Features: "ro"}, "-O", "ro")
	add(27262976, vol.FormatOptions{Features: "ro"}, "-O", "ro")
	for _, f := range []string{"extra_attr", "extra_attr,project_quota", "extra_attr,inode_checksum,sb_checksum", "extra_attr,inode_crtime", "extra_attr,compression",
		"extra_attr,flexible_inline_xattr", "quota", "lost_found", "verity,encrypt", "extra_attr,quota,project_quota,lost_found,inode_checksum,inode_crtime,compression"} {
		add(300*mib, vol.FormatOptions{Features: f, Label: "Ünï"}, "-O", f, "-l", "Ünï")
	}
	add(300*mib, vol.FormatOptions{Features: "casefold"}, "-O", "casefold", "-C", "utf8")
	add(300*mib, vol.FormatOptions{Features: "casefold", Encoding: "utf8:strict"}, "-O", "casefold", "-C", "utf8:strict")
	add(300*mib, vol.FormatOptions{RootOwner: &[2]uint32{1, 2}, ColdExtensions: []string{"aaa", "bb"}, HotExtensions: []string{"c"}}, "-R", "1:2", "-e", "aaa,bb", "-E", "c")
	return cs
}

// olderMkfs are fields that mkfs.f2fs 1.15 writes as no version since, by an
// older rule for what is kept back or for what it says of itself.
func olderMkfs(o vol.FormatOptions) []string {
	names := []string{"minor_ver", "version", "init_version", "checkpoint_ver", "checkpoint_1_version", "checkpoint_2_version", "ckpt_flags", "checkpoint_flags", "crc"}
	if o.SegmentsPerSection != nil || o.SectionsPerZone != nil {
		names = append(names, "free_segment_count") // with those behind the last zone
	}
	if o.Features != "ro" {
		return append(names, "rsvd_segment_count", "overprov_segment_count", "user_block_count")
	}
	return append(names, "cur_node_segno", "cur_data_segno") // in the other order
}

// TestPlanMkfs: mkfs.f2fs lays the same volumes out in the same way, and what
// it writes is found and described.
func TestPlanMkfs(t *testing.T) {
	mkfs := voltest.Peer(t, "mkfs.f2fs")
	for _, c := range mkfsCases() {
		t.Run(strings.Join(append([]string{vol.SizeText(c.size)}, c.args...), " "), func(t *testing.T) {
			if c.size > 300*mib {
				needs.Long(t, "writes every table")
			}
			image := voltest.SparseFile(t, c.size)
			c.o.ID, c.o.Time = "12345678-1234-4234-8234-123456789abc", 1_700_000_000
			args := append([]string{"-f", "-q", "-r", "-T", "1700000000", "-U", c.o.ID, "-R", "0:0"}, c.args...)
			if out, err := peerRun(t, mkfs, append(args, image)...); err != nil {
				t.Fatalf("mkfs.f2fs: %v\n%s", err, out)
			}
			theirs := openFile(t, image)
			p, _ := mustPlan(t, vol.Target{Size: c.size}, c.o)
			ours := dev.NewMem(c.size)
			if _, err := p.Apply(t.Context(), ours); err != nil {
				t.Fatal(err)
			}
			if id := probe(theirs); id.Confidence != vol.Sure || id.Label != p.Label || id.Size != p.Size || id.ID != p.ID {
				t.Errorf("probe says %+v", id)
			}
			sameFields(t, theirs, ours, olderMkfs(c.o))
			sameFiles(t, theirs, ours)
		})
	}
}

// sameFields compares what the superblocks and checkpoints of two volumes say.
func sameFields(t *testing.T, theirs, ours dev.Device, but []string) {
	t.Helper()
	var fields [2]map[string]any
	for i, d := range []dev.Device{theirs, ours} {
		info, err := describe(d)
		if err != nil {
			t.Fatal(err)
		}
		fields[i] = map[string]any{}
		for _, f := range info.Fields {
			fields[i][fmt.Sprintf("%s at %d", f.Name, f.Offset)] = f.Value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fields[0])) {
		name, _, _ := strings.Cut(key, " ")
		if a, b := fields[0][key], fields[1][key]; a != b && !slices.Contains(but, name) {
			t.Errorf("%s is %v, and mkfs.f2fs has %v", key, b, a)
		}
	}
	if len(fields[0]) != len(fields[1]) {
		t.Errorf("%d fields, and mkfs.f2fs has %d", len(fields[1]), len(fields[0]))
	}
}

// sameFiles compares the files of two new volumes: the fields of inodes, and
// all that is in their blocks.
func sameFiles(t *testing.T, theirs, ours dev.Device) {
	t.Helper()
	var files [2][]string
	for i, d := range []dev.Device{theirs, ours} {
		for ino := uint32(rootIno); ; ino++ {
			text, ok := showFile(t, d, ino)
			if !ok {
				break
			}
			files[i] = append(files[i], text)
		}
	}
	if !slices.Equal(files[0], files[1]) {
		t.Errorf("the files are\n%s\nand mkfs.f2fs has\n%s", strings.Join(files[1], "\n"), strings.Join(files[0], "\n"))
	}
}

// showFile is inode ino and its data, but for what moves from volume to volume
// and what only we set: times of creation and the flag noatime of quota files.
func showFile(t *testing.T, d dev.Device, ino uint32) (string, bool) {
	t.Helper()
	first, _, err := readSupers(d)
	if err != nil || first.g == nil {
		t.Fatal(err, first.fault)
	}
	g := first.g
	p := readPack(d, g, 0)
	if p.fault != nil {
		t.Fatal(p.fault)
	}
	s, f, err := readState(d, g, p)
	if err != nil || f != nil {
		t.Fatal(err, f)
	}
	e, ok := s.natOverrides()[ino]
	if !ok {
		return "", false
	}
	b, err := readBlock(d, g, e.addr())
	if err != nil {
		t.Fatal(err)
	}
	n := nodeBlock(b)
	text := fmt.Sprintf("ino %d of %d: mode %o inline %x owner %d:%d links %d size %d blocks %d times %d %d %d depth %d flags %x parent %d name %q extra %d footer %d %d %d",
		ino, e.ino(), n.mode(), n.inline(), n.uid(), n.gid(), n.links(), n.size(), n.blocks(), n.u64(inodeAtime), n.u64(inodeCtime), n.u64(inodeMtime),
		n.depth(), n.flags()&^flagNoAtime, n.parent(), n.name(), n.extraLen(), n.nid(), n.ino(), n.nodeFlag())
	for i := range int(n.blocks() - 1) {
		data, err := readBlock(d, g, n.word(n.extraLen()/4+i))
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf(" data %x", crcUpdate(0, data))
	}
	return text, true
}
