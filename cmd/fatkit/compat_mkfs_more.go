package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// mkfsExFAT stands in for mkfs.exfat of exfatprogs.
func mkfsExFAT() *tool {
	return &tool{
		name: "mkfs.exfat", names: []string{"mkfs.exfat"},
		version: "exfatprogs version : 1.4.2", format: "exFAT", usage: "TARGET", exit: exitMkfs,
		options: mkfsExFATOptions,
		run: func(ctx context.Context, r *toolRun) error {
			r.mkfs.opts.Type, r.mkfs.tables, r.mkfs.wanted = "exfat", true, 1
			if len(r.rest) > 1 {
				return usagef("it wants one target, not %d arguments; see %s --help", len(r.rest), r.name)
			}
			return runMkfs(ctx, r)
		},
	}
}

func mkfsExFATOptions() []toolOption {
	sized := func(option string, to func(*mkfsRun) *int64) func(*toolRun, string) error {
		return func(r *toolRun, v string) error {
			n, err := parseSize(v)
			if err != nil || n == 0 {
				return usagef("%s %q: it is a size such as 4096, 128K or 1M", option, v)
			}
			*to(&r.mkfs) = n
			return nil
		}
	}
	return append([]toolOption{
		volumeLabel("-L -n --volume-label"),
		{"-U --volume-guid", "GUID", "volume GUID", filled("-U", func(m *mkfsRun) *string { return &m.opts.VolumeGUID })},
		{"-c --cluster-size", "SIZE", "size of a cluster", sized("-c", func(m *mkfsRun) *int64 { return &m.opts.ClusterSize })},
		{"-b --boundary-align", "SIZE", "put FAT and clusters on a multiple of this", sized("-b", func(m *mkfsRun) *int64 { return &m.opts.Align })},
		{"-s --sector-size", "SIZE", "size of a sector", sized("-s", func(m *mkfsRun) *int64 { return &m.opts.SectorSize })},
		{"-P --partition-table", "none", "none: write no partition table", only("-P", "none")},
		noop("-F --force", "", "write over what is there, as is done in any case"),
		noop("-K --nodiscard", "", "discard nothing, as is done in any case"),
		sets("-q --quiet", "print errors only", quietly),
		sets("-v --verbose", "print the layout", verbosely),
		refused("-f --full-format", "", "writing zeros over all of the volume"),
		refused("-C --check-written", "", "reading back all that was written"),
		refused("--pack-bitmap", "", "putting the bitmap between FAT and clusters"),
		refused("--upcase", "FILE", "another up-case table"),
		refused("--bootcode-msg", "TEXT", "another boot message"),
	}, infoOptions("-V --version", "-h --help")...)
}

// mkfsF2FS stands in for mkfs.f2fs of f2fs-tools, which Android calls make_f2fs.
func mkfsF2FS() *tool {
	return &tool{
		name: "mkfs.f2fs", names: []string{"mkfs.f2fs", "make_f2fs"},
		version: "mkfs.f2fs 1.16.0", format: "F2FS", usage: "TARGET [SECTORS]", exit: exitMkfs,
		options: mkfsF2FSOptions,
		said: []string{"--force", "-f", "--segs-per-sec", "-s", "--secs-per-zone", "-z", "--overprovision", "-o",
			"--encoding", "-C", "--cold-ext", "-e", "--hot-ext", "-E", "--root-owner", "-R"},
		run: func(ctx context.Context, r *toolRun) error {
			m := &r.mkfs
			m.opts.Type, m.tables, m.careful = "f2fs", true, !m.force
			if m.android {
				m.wanted = max(m.wanted, 4096)
				m.features = append(strings.Split(androidFeatures, ","), m.features...)
				if m.opts.RootOwner == nil {
					m.opts.RootOwner = &[2]uint32{}
				}
			}
			m.wanted = max(m.wanted, 512)
			if m.uuid && m.opts.ID == "" {
				id, err := uuid.NewRandom()
				if err != nil {
					return err
				}
				m.opts.ID = id.String()
			}
			m.opts.Features = strings.Join(distinct(m.features), ",")
			return runMkfs(ctx, r)
		},
	}
}

// androidFeatures are those that -g android stands for.
const androidFeatures = "encrypt,quota,project_quota,extra_attr,verity"

// distinct is list without what was in it before.
func distinct(list []string) []string {
	seen, out := map[string]bool{}, []string(nil)
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// blockSize takes -b. Android asks for what its pages have, which may be 16384.
func blockSize(r *toolRun, v string) error {
	n, err := number("-b", v, 4096, 16384)
	if err == nil && n&(n-1) != 0 {
		return usagef("-b %s: it can be 4096, 8192 and 16384", v)
	}
	r.mkfs.opts.ClusterSize = n
	return err
}

func mkfsF2FSOptions() []toolOption {
	return append([]toolOption{
		volumeLabel("-l"),
		{"-U", "UUID", "volume UUID", filled("-U", func(m *mkfsRun) *string { return &m.opts.ID })},
		{"-f", "", "write over what is recognised there", func(r *toolRun, _ string) error { r.mkfs.force = true; return nil }},
		{"-g", "NAME", "defaults for android; what is no name is taken for none", android},
		{"-O", "FEATURES", "features, with commas between; more than once", func(r *toolRun, v string) error {
			r.mkfs.features = append(r.mkfs.features, strings.Split(v, ",")...)
			return nil
		}},
		{"-C", "ENCODING", "encoding of names with casefold: utf8, utf8:strict", func(r *toolRun, v string) error { r.mkfs.opts.Encoding = v; return nil }},
		{"-o", "PERCENT", "percent of the volume that is kept for cleaning", func(r *toolRun, v string) error {
			n, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return usagef("-o %q: it is a percentage", v)
			}
			r.mkfs.opts.Overprovision = &n
			return nil
		}},
		{"-s", "N", "segments to a section", func(r *toolRun, v string) (err error) {
			r.mkfs.opts.SegmentsPerSection, err = counted("-s", v, 1<<31-1)
			return err
		}},
		{"-z", "N", "sections to a zone", func(r *toolRun, v string) (err error) {
			r.mkfs.opts.SectionsPerZone, err = counted("-z", v, 1<<31-1)
			return err
		}},
		{"-e", "LIST", "file name extensions that count as cold", func(r *toolRun, v string) error {
			r.mkfs.opts.ColdExtensions = append(r.mkfs.opts.ColdExtensions, list(v)...)
			return nil
		}},
		{"-E", "LIST", "file name extensions that count as hot", func(r *toolRun, v string) error {
			r.mkfs.opts.HotExtensions = append(r.mkfs.opts.HotExtensions, list(v)...)
			return nil
		}},
		{"-R", "UID:GID", "owner of the root directory", func(r *toolRun, v string) (err error) {
			r.mkfs.opts.RootOwner, err = owner("-R", v)
			return err
		}},
		{"-T", "SECONDS", "time that is written, since 1970", func(r *toolRun, v string) error {
			n, err := number("-T", v, 0, 1<<62)
			r.mkfs.clock = &n
			return err
		}},
		{"-r", "", "start checkpoints at a fixed number", fixedSeed},
		{"-w", "BYTES", "what SECTORS counts in", func(r *toolRun, v string) (err error) {
			r.mkfs.wanted, err = number("-w", v, 512, 1<<20)
			return err
		}},
		{"-b", "BYTES", "block size: 4096, 8192, 16384", blockSize},
		{"-a", "0", "0: no allocation from the end", only("-a", "0")},
		noop("-t", "0|1|nodiscard|discard", "whether to discard what is there first; fatkit never does, and nothing depends on it"),
		{"-d", "LEVEL", "print the layout, from 1 on", debugLevel},
		sets("-q", "print errors only", quietly),
		refused("-c", "DEVICE", "volumes over several devices"),
		refused("-H", "", "write-life hints for the device"),
		refused("-i", "", "the large NAT bitmap"),
		refused("-m", "", "zoned devices"),
		refused("-S", "BYTES", "Android's sparse images"),
		refused("-Z", "N", "reserved sections of zoned devices"),
	}, infoOptions("-V", "-h --help")...)
}

// android takes -g. It wants a name, and systemd gives it none: what follows there
// is an option, -f, which it swallows. So does f2fs-tools; as nothing is to be
// ignored here, what was swallowed is taken for the option that it is.
func android(r *toolRun, v string) error {
	switch v {
	case "android":
		r.mkfs.android = true
	case "-f":
		r.mkfs.force = true
	default:
		return usagef("-g %s: the only defaults known are android's", v)
	}
	return nil
}

// fixedSeed makes all that is not given the same in every run, but for the UUID,
// which mkfs.f2fs leaves random.
func fixedSeed(r *toolRun, _ string) error {
	seed := uint64(0)
	r.mkfs.seed = &seed
	r.mkfs.uuid = true
	return nil
}

// debugLevel is a number; from 1 on more is printed.
func debugLevel(r *toolRun, v string) error {
	n, err := number("-d", v, 0, 100)
	r.a.verbose = n > 0
	return err
}
