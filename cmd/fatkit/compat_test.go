package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

const compatDoc = "../../docs/COMPAT.md"

// quoted are the parts of a cell of a table that stand between back quotes.
func quoted(cell string) []string {
	var words []string
	for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cell, -1) {
		words = append(words, m[1])
	}
	return words
}

// rows are the rows of all tables under a heading of the document.
func rows(t *testing.T, heading string) [][]string {
	t.Helper()
	text, err := os.ReadFile(compatDoc)
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("%s has no %q", compatDoc, heading)
	}
	if i := strings.Index(section, "\n#"); i >= 0 {
		section = section[:i]
	}
	var out [][]string
	for _, line := range strings.Split(section, "\n") {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---") {
			out = append(out, strings.Split(strings.Trim(line, "|"), "|"))
		}
	}
	return out[1:]
}

// compatTarget makes the image that a row of the table is about.
func compatTarget(t *testing.T, state string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "card.img")
	kind, damaged := strings.CutSuffix(state, "!")
	switch kind {
	case "none":
		return path
	case "mbr":
		writeDisk(t, path)
		return path
	case "blank", "large":
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, map[string]int64{"blank": 64 << 20, "large": 256 << 20}[kind]); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if out, code := runNamed(t, "fatkit", "format", "-t", kind, "-s", "64M", path); code != exitOK {
		t.Fatalf("format: %s", out)
	}
	if !damaged {
		return path
	}
	// A lone entry in the first FAT; the main boot region; a word of a NAT entry.
	at := map[string]int64{"fat": 5000, "exfat": 4096, "f2fs": 10 << 20}[kind]
	damageAt(t, path, at)
	return path
}

// damageAt writes two wrong bytes into a file.
func damageAt(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte{0x33, 0x33}, at)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// runNamed runs the program under a name, without a terminal.
func runNamed(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	code := newApp(drivers(), strings.NewReader(""), &out, &out).run(t.Context(), args)
	return out.String(), code
}

// TestCompatCallers runs what callers send, as docs/COMPAT.md has it.
func TestCompatCallers(t *testing.T) {
	for i, row := range rows(t, "## Who sends what") {
		line, state := quoted(row[1])[0], strings.TrimSpace(row[2])
		t.Run(strconv.Itoa(i)+" "+line, func(t *testing.T) {
			want, err := strconv.Atoi(strings.TrimSpace(row[3]))
			if err != nil {
				t.Fatal(err)
			}
			image := compatTarget(t, state)
			before, _ := os.ReadFile(image)
			args := strings.Fields(line)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "IMAGE", image)
			}
			out, code := runNamed(t, args...)
			if code != want {
				t.Errorf("exit %d, want %d\n%s", code, want, out)
			}
			for _, l := range quoted(row[4]) {
				if l = strings.ReplaceAll(l, "IMAGE", image); !strings.Contains(out, l) {
					t.Errorf("%q is missing in\n%s", l, out)
				}
			}
			after, _ := os.ReadFile(image)
			if refused := code != 0 && strings.HasPrefix(line, "mk") || code >= exitFailed; refused && !bytes.Equal(before, after) {
				t.Error("it failed, and changed the target")
			}
			if code == exitCorrected && strings.HasPrefix(line, "fsck") && !slices.Contains(args, "-n") && !slices.Contains(args, "-vn") {
				if out, code := runNamed(t, args...); code != exitOK {
					t.Errorf("once more: exit %d\n%s", code, out)
				}
			}
		})
	}
}

// TestCompatOptions: the document lists the options of the program, no more and
// no less, and says of each whether it is taken.
func TestCompatOptions(t *testing.T) {
	for _, tool := range tools() {
		row := rows(t, "### "+tool.name)[0]
		taken, refused := quoted(row[0]), quoted(row[1])
		for _, o := range tool.options() {
			for _, name := range strings.Fields(o.names) {
				from := &taken
				if o.set == nil {
					from = &refused
				}
				i := slices.Index(*from, name)
				if i < 0 {
					t.Errorf("%s: %s is not where it belongs in %s", tool.name, name, compatDoc)
					continue
				}
				*from = slices.Delete(*from, i, i+1)
			}
			if o.help == "" {
				t.Errorf("%s: %s has no words on it", tool.name, o.names)
			}
		}
		if len(taken)+len(refused) > 0 {
			t.Errorf("%s does not know %v %v", tool.name, taken, refused)
		}
	}
}

// TestCompatResult: what the options ask for is what comes of them.
func TestCompatResult(t *testing.T) {
	for line, fields := range map[string]map[string]string{
		"mkfs.fat -F 12 -s 4 -f 1 -R 8 -r 100 -h 77 -M 0xF0 -i 1234abcd -n foo": {"type": "fat12", "bpb_secperclus": "4", "bpb_numfats": "1",
			"bpb_rsvdseccnt": "8", "bpb_rootentcnt": "112", "bpb_hiddsec": "77", "bpb_media": "0xf0", "bs_volid": "1234-ABCD"},
		"mkfs.fat -S 4096 -a -b 6 -D 0x80 -g 255/63":           {"bpb_bytspersec": "4096"},
		"mkfs.exfat -L foo -c 64K -b 4M -s 4096":               {"bytespersectorshift": "12", "fatoffset": "1024", "clusterheapoffset": "2048"},
		"mkfs.f2fs -f -U 11111111-2222-4333-8444-555555555555": {"uuid": "11111111-2222-4333-8444-555555555555"},
		"make_f2fs -f -g android -b 16384":                     {"log_blocksize": "14", "log_sectors_per_block": "5"},
	} {
		image := compatTarget(t, map[bool]string{false: "blank", true: "large"}[strings.Contains(line, "-b 16384")])
		if strings.Contains(line, "-F 12") {
			if err := os.Truncate(image, 4<<20); err != nil {
				t.Fatal(err)
			}
		}
		if out, code := runNamed(t, append(strings.Fields(line), image)...); code != exitOK {
			t.Errorf("%s: exit %d\n%s", line, code, out)
			continue
		}
		info, _ := runNamed(t, "fatkit", "info", image)
		info = strings.ToLower(info)
		for name, want := range fields {
			if name == "type" {
				if !strings.Contains(info, want) {
					t.Errorf("%s: not a %s:\n%s", line, want, info)
				}
				continue
			}
			if !regexp.MustCompile(`(?m)^\s+` + name + `\s+` + strings.ToLower(want) + `(\s|$)`).MatchString(info) {
				t.Errorf("%s: %s is not %s\n%s", line, name, want, info)
			}
		}
	}
}

// TestCompatPlaces: without --offset a volume has the whole target or the partition that
// is named, and a new file is called as it says.
func TestCompatPlaces(t *testing.T) {
	image := compatTarget(t, "mbr")
	for _, c := range []struct{ line, want string }{
		{"mkfs.exfat -q IMAGE:1", "IMAGE:1: EXFAT"},
		{"mkfs.vfat --offset=2048 IMAGE", "IMAGE:1: FAT16"},
		{"mkfs.vfat IMAGE", "IMAGE: FAT16"},
		{"mkfs.vfat -C IMAGE:7 8192", "IMAGE:7: FAT16"},
	} {
		if out, code := runNamed(t, strings.Fields(strings.ReplaceAll(c.line, "IMAGE", image))...); code != exitOK {
			t.Fatalf("%s: exit %d\n%s", c.line, code, out)
		}
		want := strings.ReplaceAll(c.want, "IMAGE", image)
		if out, code := runNamed(t, "fatkit", "check", strings.Split(want, ": ")[0]); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, want %q\n%s", c.line, code, want, out)
		}
	}
	if out, _ := runNamed(t, "fatkit", "check", image); !strings.Contains(out, ", 66 MiB, clean") {
		t.Errorf("the volume has not the whole file:\n%s", out)
	}
}

// TestCompatWords: an error speaks of the options that the tool has.
func TestCompatWords(t *testing.T) {
	for line, want := range map[string]string{
		"mkfs.fat -F 32 -r 512": "-r is not for fat32",
		"mkfs.fat -F 32 -R 1":   "use -R 32",
		"mkfs.fat -F 12 -s 1":   "use clusters of 32K to 64K, or at most 2062 KiB, or -F 32",
		"mkfs.f2fs -C utf8":     "-C is for volumes with the feature casefold",
		"mkfs.f2fs -o 0":        "-o 0: must be",
		"fsck.vfat -y":          `remove it, or name another place with "fatkit check --undo FILE"`,
	} {
		image := compatTarget(t, "blank")
		if strings.HasPrefix(line, "fsck") {
			image = compatTarget(t, "fat!")
			if err := os.Mkdir(image+undoSuffix, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		out, code := runNamed(t, append(strings.Fields(line), image)...)
		if code == exitOK || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, want %s\n%s", line, code, want, out)
		}
	}
}

// TestCompatValues: a value is what getopt_long(3) and strtol(3) make of it, and an
// empty one is none.
func TestCompatValues(t *testing.T) {
	for line, want := range map[string]string{ // "" where it is refused
		"mkfs.fat -n --inv":                              `"--INV"`,
		"mkfs.fat -n --":                                 `"--"`,
		"mkfs.fat -vnab":                                 `"AB"`,
		"mkfs.fat --inv -n ab":                           `"AB" 1234-ABCD`,
		"mkfs.fat --off 8 -n ab":                         `"AB"`,
		"mkfs.fat -s 010 -n ab":                          "clusters of 4.0 KiB",
		"mkfs.fat -s 0x8 -n ab":                          "clusters of 4.0 KiB",
		"mkfs.fat -s 0b1000":                             "",
		"mkfs.fat -s 0o10":                               "",
		"mkfs.fat -s 1_6":                                "",
		"mkfs.fat -F=16":                                 "",
		"mkfs.fat -n=x":                                  "",
		"mkfs.fat -v=1":                                  "",
		"mkfs.fat --mbr=":                                "",
		"mkfs.fat -i EMPTY":                              "",
		"mkfs.exfat -U EMPTY":                            "",
		"mkfs.exfat --volume-g=":                         "",
		"mkfs.f2fs -U EMPTY":                             "",
		"mkfs.f2fs -l --he":                              `"--he"`,
		"fatkit format -t exfat --uuid EMPTY":            "",
		"fatkit format -t fat16 --partition-label EMPTY": "",
		"fatkit check --partition-label EMPTY":           "",
		"fsck.f2fs -p=2":                                 "",
	} {
		image := compatTarget(t, "blank")
		args := strings.Fields(line)
		for i := range args {
			args[i] = strings.Replace(args[i], "EMPTY", "", 1)
		}
		out, code := runNamed(t, append(args, image)...)
		switch {
		case want == "" && code != 1 && code != exitUsage:
			t.Errorf("%s: exit %d\n%s", line, code, out)
		case want != "" && (code != exitOK || !strings.Contains(out, want)):
			t.Errorf("%s: exit %d, want %s\n%s", line, code, want, out)
		}
	}
}

// Two runs of mkfs.fat --invariant, and of mkfs.f2fs with all that it takes, give
// the same bytes; one with a serial of its own has that.
func TestCompatInvariant(t *testing.T) {
	for _, line := range []string{
		"mkfs.fat --invariant -n X", "mkfs.f2fs -f -r -T 1 -U 11111111-2222-4333-8444-555555555555",
	} {
		var images [2][]byte
		for i := range images {
			image := compatTarget(t, "blank")
			if out, code := runNamed(t, append(strings.Fields(line), image)...); code != exitOK {
				t.Fatalf("%s: %s", line, out)
			}
			var err error
			if images[i], err = os.ReadFile(image); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(images[0], images[1]) {
			t.Errorf("%s: two runs differ", line)
		}
	}
}

// asTools is a directory with this very program under all its names.
func asTools(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		needs.Lacks(t, "symbolic links that anybody may make")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, tool := range tools() {
		for _, name := range tool.names {
			if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// TestCompatUtilLinux: fsck(8) and mkfs(8) of util-linux find the program by its
// names, and read its codes.
func TestCompatUtilLinux(t *testing.T) {
	voltest.Peer(t, "fsck")
	voltest.Peer(t, "mkfs")
	t.Setenv("PATH", asTools(t)+string(filepath.ListSeparator)+os.Getenv("PATH")+":/usr/sbin:/sbin")
	image := compatTarget(t, "blank")
	for _, step := range []struct {
		line string
		code int
		want string
	}{
		{"mkfs -t vfat -n CARD IMAGE", 0, "(fatkit "},
		{"fsck -t vfat IMAGE", 0, "(fatkit "},
		{"fsck -t vfat -a IMAGE", 0, "0 files, "},
		{"damage", 0, ""},
		{"fsck -t vfat -n IMAGE", 1, "FAT-0204"},
		{"fsck -t vfat IMAGE", 4, "FAT-0204"},
		{"fsck -a -T -l -t vfat IMAGE", 1, "repaired"},
		{"fsck -a -T -l -t vfat IMAGE", 0, ""},
		{"mkfs -t exfat -n CARD IMAGE", 0, "(fatkit "},
		{"fsck -t exfat -y IMAGE", 0, "clean"},
		{"mkfs -t f2fs -f IMAGE", 0, "F2FS"},
		{"fsck -t f2fs -a -f IMAGE", 0, "clean"},
	} {
		if step.line == "damage" {
			damageAt(t, image, 5000)
			continue
		}
		args := strings.Fields(strings.ReplaceAll(step.line, "IMAGE", image))
		cmd := exec.Command(args[0], args[1:]...)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != step.code || !strings.Contains(string(out), step.want) {
			t.Errorf("%s: exit %d, want %d with %q (%v)\n%s", step.line, code, step.code, step.want, err, out)
		}
	}
}

// blockdev is a client of libblockdev: it formats, checks, damages and repairs the
// image that it is given, and prints what came of it.
const blockdev = `
import sys, gi
for v in ("3.0", "2.0"):
    try:
        gi.require_version("BlockDev", v)
        break
    except ValueError:
        pass
from gi.repository import BlockDev as B
spec = B.PluginSpec()
spec.name, spec.so_name = B.Plugin.FS, None
if hasattr(B, "switch_init_checks"):
    B.switch_init_checks(False)
B.init([spec], None)
image = sys.argv[1]
def do(what, fn, *args):
    try:
        print(what, fn(image, *args))
    except Exception as e:
        print(what, "error", str(e).split("\n")[0])
def damage(at):
    with open(image, "r+b") as f:
        f.seek(at)
        f.write(b"\x33\x33")
do("vfat mkfs", B.fs_vfat_mkfs, [B.ExtraArg.new("-n", "CARD")])
do("vfat check", B.fs_vfat_check, None)
i = B.fs_vfat_get_info(image)
print("vfat info", i.label, i.cluster_size, i.cluster_count, i.free_cluster_count)
damage(5000)
do("vfat check", B.fs_vfat_check, None)
do("vfat repair", B.fs_vfat_repair, None)
do("vfat check", B.fs_vfat_check, None)
if hasattr(B, "fs_f2fs_mkfs"):
    do("f2fs mkfs", B.fs_f2fs_mkfs, None)
    do("f2fs mkfs", B.fs_f2fs_mkfs, [B.ExtraArg.new("-f", "")])
    do("f2fs check", B.fs_f2fs_check, None)
    damage(10 << 20)
    do("f2fs check", B.fs_f2fs_check, None)
    do("f2fs repair", B.fs_f2fs_repair, None)
    do("f2fs check", B.fs_f2fs_check, None)
if hasattr(B, "fs_exfat_mkfs"):
    do("exfat mkfs", B.fs_exfat_mkfs, [B.ExtraArg.new("-n", "CARD")])
    do("exfat check", B.fs_exfat_check, None)
    damage(4096)
    do("exfat repair", B.fs_exfat_repair, None)
    do("exfat check", B.fs_exfat_check, None)
`

// TestCompatLibblockdev: libblockdev itself is served. Version 2 knows no exFAT,
// and takes every repair of FAT that was needed for a failure.
func TestCompatLibblockdev(t *testing.T) {
	voltest.PeerModule(t, "/usr/bin/python3", "libblockdev", "-c", "from gi.repository import BlockDev as B; B.fs_vfat_mkfs")
	image := compatTarget(t, "blank")
	cmd := exec.Command("/usr/bin/python3", "-c", blockdev, image)
	cmd.Env = append(os.Environ(), "PATH="+asTools(t)+string(filepath.ListSeparator)+os.Getenv("PATH")+":/usr/sbin:/sbin")
	var out, errw bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errw
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errw.String())
	}
	want := []string{
		"vfat mkfs True", "vfat check True", "vfat info CARD 2048 32695 32695",
		"vfat check False", "vfat repair (True|error .*exit code 1: .*)", "vfat check True",
		"(f2fs mkfs error .*exit code 1: .*", "f2fs mkfs True", "f2fs check True", "f2fs check False", "f2fs repair True", "f2fs check True",
		")?(exfat mkfs True", "exfat check True", "exfat repair True", "exfat check True", ")?",
	}
	if !regexp.MustCompile(`^` + strings.Join(want, `\n`) + `$`).MatchString(out.String()) {
		t.Errorf("libblockdev says\n%s%s", out.String(), errw.String())
	}
}

// fsck.fat -c: what is a backslash in one code page is half of a letter in another.
func TestCompatCodepage(t *testing.T) {
	image, dir := filepath.Join(t.TempDir(), "a.img"), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "表.TXT"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, code := runNamed(t, "fatkit", "format", "-t", "fat16", "-s", "16M", "--codepage", "932", "-d", dir, image); code != exitOK {
		t.Fatalf("exit %d\n%s", code, out)
	}
	for page, want := range map[string]int{"932": exitOK, "850": exitCorrected, "999": exitUsage} {
		out, code := runNamed(t, "fsck.fat", "-n", "-c", page, image)
		if code != want || strings.Contains(out, "FAT-0411") != (want == exitCorrected) {
			t.Errorf("-c %s: exit %d, want %d\n%s", page, code, want, out)
		}
	}
}
