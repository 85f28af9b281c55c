package main

import (
	"context"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// mkfsRun is what the options of a tool that formats say.
type mkfsRun struct {
	opts     vol.FormatOptions
	create   bool // make the file
	careful  bool // write over nothing that is recognised, unless force
	force    bool
	tables   bool  // write over a partition table on a whole disk, too
	offset   int64 // sectors before the volume; -1: not given
	cluster  int64 // sectors to a cluster; 0: not given
	wanted   int64 // bytes that the size argument counts in
	quiet    bool
	android  bool     // F2FS: the defaults of Android
	uuid     bool     // F2FS: a UUID that no seed is behind
	features []string // F2FS
	ascii    bool     // the label must be the same in every code page
	auto     bool     // a partition table is wanted, but for files
	clock    *int64   // seconds since 1970; nil: now
	seed     *uint64
}

// exitMkfs is what mkfs(8) has: all is well, or not.
func exitMkfs(_ *toolRun, code int) int {
	if code != exitOK {
		return 1
	}
	return exitOK
}

// runMkfs formats what the arguments name: a target, and maybe its size.
func runMkfs(ctx context.Context, r *toolRun) error {
	m := &r.mkfs
	if len(r.rest) < 1 || len(r.rest) > 2 {
		return usagef("it wants a target, and maybe a size, not %d arguments; see %s --help", len(r.rest), r.name)
	}
	image := r.rest[0]
	f, err := r.formatRun(ctx, image)
	if err != nil {
		return about(image, err)
	}
	r.a.quiet = r.a.quiet || m.quiet
	if !r.a.quiet {
		r.a.printf("%s\n", r.tool.versionLine())
	}
	return about(image, f.run())
}

// formatRun is the format that the options ask for.
func (r *toolRun) formatRun(ctx context.Context, image string) (*formatRun, error) {
	m := &r.mkfs
	f := &formatRun{a: r.a, ctx: ctx, drv: r.driver(), force: !m.careful, opts: m.opts, seeded: m.seed}
	var err error
	if f.place, err = r.a.place(image); err != nil {
		return nil, err
	}
	if m.create { // a new file is called just as it says
		f.place = place{arg: image, path: image, off: -1}
	}
	if err := r.size(f); err != nil {
		return nil, err
	}
	if m.clock != nil {
		f.opts.Time = *m.clock
	} else if f.opts.Time, err = r.a.clock(); err != nil {
		return nil, err
	}
	if m.ascii && strings.Trim(m.opts.Label, printableASCII) != "" {
		return nil, usagef("the label %q is not in ASCII, and fatkit keeps labels in code page 437: --codepage=437 is what it does", m.opts.Label)
	}
	if m.create {
		return f, nil
	}
	return f, r.refuseTable(f)
}

// printableASCII is what all code pages that FAT is used with have in common.
const printableASCII = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// size settles how large the volume becomes and where it begins.
func (r *toolRun) size(f *formatRun) error {
	m := &r.mkfs
	sector := max(f.opts.SectorSize, 512)
	if f.opts.Align < 0 {
		f.opts.Align = sector
	}
	if n := f.opts.RootEntries; n != nil {
		per := int(sector) / 32 // bytes of an entry; the root directory fills whole sectors
		up := (*n + per - 1) / per * per
		f.opts.RootEntries = &up
	}
	if m.cluster > 0 {
		f.opts.ClusterSize = m.cluster * sector
	}
	if m.offset >= 0 {
		if !f.place.whole() || m.offset > math.MaxInt64/sector {
			return usagef("--offset=%d: it cannot be there", m.offset)
		}
		f.place.off = m.offset * sector
	}
	if len(r.rest) == 2 {
		n, err := strconv.ParseInt(r.rest[1], 10, 64)
		if err != nil || n <= 0 || n > math.MaxInt64/m.wanted {
			return usagef("%q: the size is a number of units of %d bytes", r.rest[1], m.wanted)
		}
		f.limit = n * m.wanted
	}
	switch {
	case !m.create:
		return nil
	case f.limit == 0:
		return usagef("-C makes the file, so it wants its size")
	case m.offset > 0:
		return usagef("-C makes a file for the volume alone, so --offset cannot be given with it")
	}
	f.size, f.limit, f.force = f.limit, 0, false
	if fi, err := os.Stat(f.place.path); err == nil && fi.Size() > 0 {
		return requestf("%s exists already, and -C makes a new file", f.place.path)
	}
	return nil
}

// refuseTable refuses a whole disk that is partitioned, as mkfs.fat does unless
// told to leave such checks out. In a file a table is written over, as by it.
// Where a partition table would be wanted on a disk that is refused, too.
func (r *toolRun) refuseTable(f *formatRun) error {
	file, err := dev.OpenFile(f.place.path, dev.OpenOptions{})
	if err != nil {
		return err
	}
	what, m := "", &r.mkfs
	switch {
	case !file.IsBlock():
	case m.auto:
		return errors.Join(usagef("--mbr=a asks for a partition table on a disk, and fatkit writes none over a boot sector: use --mbr=n"), file.Close())
	case !m.tables && !m.careful && f.place.whole():
		if drv, id := vol.Identify(file, r.a.drivers); drv == nil || id.Confidence < vol.Likely {
			what = tableOn(file)
		}
	}
	if err := file.Close(); err != nil || what == "" {
		return err
	}
	return requestf("it holds %s; -I writes over it", what)
}

// mkfsFAT stands in for mkfs.fat of dosfstools.
func mkfsFAT() *tool {
	return &tool{
		name: "mkfs.fat", names: []string{"mkfs.fat", "mkfs.vfat", "mkfs.msdos", "mkdosfs"},
		version: "mkfs.fat 4.2", format: "FAT", usage: "TARGET [BLOCKS of 1024 bytes]", exit: exitMkfs,
		options: mkfsFATOptions,
		said: []string{"--reserved-sectors", "-R", "--root-entries", "-r", "--hidden-sectors", "-h", "--media-type", "-M",
			"-t fat12", "-F 12", "-t fat16", "-F 16", "-t fat32", "-F 32", "use -c ", "use clusters of "},
		run: func(ctx context.Context, r *toolRun) error {
			if r.mkfs.opts.Type == "" {
				r.mkfs.opts.Type = "fat"
			}
			r.mkfs.wanted = 1024
			return runMkfs(ctx, r)
		},
	}
}

func mkfsFATOptions() []toolOption {
	opt := func(fn func(*mkfsRun, string) error) func(*toolRun, string) error {
		return func(r *toolRun, v string) error { return fn(&r.mkfs, v) }
	}
	return append([]toolOption{
		{"-F", "SIZE", "12, 16 or 32 bits to a FAT entry", opt(func(m *mkfsRun, v string) error {
			if v != "12" && v != "16" && v != "32" {
				return usagef("-F %q: it can be 12, 16 or 32", v)
			}
			m.opts.Type = "fat" + v
			return nil
		})},
		volumeLabel("-n"),
		{"-i", "ID", "volume serial, 8 hexadecimal digits", filled("-i", func(m *mkfsRun) *string { return &m.opts.ID })},
		{"-s", "COUNT", "sectors to a cluster", opt(func(m *mkfsRun, v string) (err error) { m.cluster, err = number("-s", v, 1, 128); return })},
		{"-S", "BYTES", "sector size", opt(func(m *mkfsRun, v string) (err error) { m.opts.SectorSize, err = number("-S", v, 512, 32768); return })},
		{"-f", "COUNT", "number of FATs", opt(func(m *mkfsRun, v string) (err error) { m.opts.Fats, err = counted("-f", v, 4); return })},
		{"-R", "COUNT", "reserved sectors", opt(func(m *mkfsRun, v string) error {
			n, err := number("-R", v, 1, 0xFFFF)
			m.opts.ReservedSectors = &n
			return err
		})},
		{"-r", "COUNT", "entries that the root directory has room for", opt(func(m *mkfsRun, v string) (err error) { m.opts.RootEntries, err = counted("-r", v, 0xFFFF); return })},
		{"-h", "COUNT", "sectors before the volume, as its boot sector says", opt(func(m *mkfsRun, v string) error {
			n, err := number("-h", v, 0, math.MaxUint32)
			m.opts.HiddenSectors = &n
			return err
		})},
		{"-M", "BYTE", "media byte", opt(func(m *mkfsRun, v string) error {
			n, err := number("-M", v, 0xF0, 0xFF)
			media := int(n)
			m.opts.MediaType = &media
			return err
		})},
		{"-a", "", "put the data area where it comes to lie, unaligned", opt(func(m *mkfsRun, _ string) error { m.opts.Align = -1; return nil })},
		{"-C", "", "make the file, BLOCKS large", opt(func(m *mkfsRun, _ string) error { m.create = true; return nil })},
		{"-I", "", "write over the partition table of a whole disk", opt(func(m *mkfsRun, _ string) error { m.tables = true; return nil })},
		sets("-v", "print the layout", verbosely),
		{"--offset", "SECTOR", "where the volume begins in the target", opt(func(m *mkfsRun, v string) (err error) {
			m.offset, err = number("--offset", v, 0, math.MaxInt64)
			return
		})},
		{"--invariant", "", "take constants for what is random or a time", opt(invariant)},
		{"--mbr", "[y|n|a]", "n: write no partition table; nothing else can be had", opt(mbrOption)},
		{"--codepage", "N", "code page of the label: 437, or any for one in ASCII", opt(func(m *mkfsRun, v string) error { return m.codepage(v) })},
		{"--variant", "TYPE", "standard", standardVariant()},
		{"-D", "NUMBER", "BIOS drive number: 128, that of a fixed disk", only("-D", "128", "0x80")},
		{"-b", "SECTOR", "sector of the backup boot sector: 6", only("-b", "6")},
		{"-g", "HEADS/SECTORS", "geometry: 255/63", only("-g", "255/63")},
		refused("-A", "", "the variant of Atari"),
		refused("-c", "", "a read test for bad blocks"),
		refused("-l", "FILE", "a list of bad blocks"),
		refused("-m", "FILE", "another boot message"),
	}, infoOptions("", "--help")...)
}

// filled takes a value that must not be empty: where a script's variable was not
// set, a random one is not meant.
func filled(option string, to func(*mkfsRun) *string) func(*toolRun, string) error {
	return func(r *toolRun, v string) error {
		if v == "" {
			return usagef("%s wants a value", option)
		}
		*to(&r.mkfs) = v
		return nil
	}
}

// number is the value of an option, in these bounds. As for strtol(3) it may be
// decimal, octal from 0 on or hexadecimal from 0x on, and nothing else.
func number(option, v string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(v, 0, 64)
	if prefix := strings.ToLower(v); strings.Contains(v, "_") || strings.HasPrefix(prefix, "0b") || strings.HasPrefix(prefix, "0o") {
		err = strconv.ErrSyntax // Go's own
	}
	if err != nil || n < least || n > most {
		return 0, usagef("%s %q: it is a number from %d to %d", option, v, least, most)
	}
	return n, nil
}

// counted is number, for what may be not given.
func counted(option, v string, most int64) (*int, error) {
	n, err := number(option, v, 1, most)
	i := int(n)
	return &i, err
}

// only takes the values that are what is written anyway.
func only(option string, values ...string) func(*toolRun, string) error {
	return func(_ *toolRun, v string) error {
		for _, ok := range values {
			if v == ok {
				return nil
			}
		}
		return usagef("%s %s: fatkit writes %s there, and nothing else", option, v, values[0])
	}
}

// standardVariant takes the one variant that is not Atari's.
func standardVariant() func(*toolRun, string) error {
	return func(_ *toolRun, v string) error {
		if !strings.EqualFold(v, "standard") {
			return usagef("--variant %s: fatkit knows the standard one only", v)
		}
		return nil
	}
}

// The constants of mkfs.fat --invariant.
const (
	invariantSerial = "1234-ABCD"
	invariantTime   = 1426325213 // 14 March 2015, 9:26:53 UTC
)

// invariant makes every run give the same bytes.
func invariant(m *mkfsRun, _ string) error {
	clock, seed := int64(invariantTime), uint64(invariantTime)
	m.clock, m.seed = &clock, &seed
	if m.opts.ID == "" {
		m.opts.ID = invariantSerial
	}
	return nil
}

// mbrOption takes --mbr=n. Without a value, and with y, a partition table is
// wanted; a asks for one on whole disks only, which a file is none of.
func mbrOption(m *mkfsRun, v string) error {
	switch strings.ToLower(v) {
	case "n", "no":
		m.auto = false
		return nil
	case "a", "auto":
		m.auto = true
		return nil
	}
	return usagef("--mbr=%s: fatkit writes no partition table over a boot sector; --mbr=n is what it does", v)
}

// codepage checks that the label, which fatkit keeps in code page 437, would be
// the same in the one asked for.
func (m *mkfsRun) codepage(v string) error {
	n, err := number("--codepage", v, 1, 0xFFFF)
	m.ascii = n != 437
	return err
}
