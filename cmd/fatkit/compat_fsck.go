package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// fsckRun is what the options of a tool that checks say.
type fsckRun struct {
	mode    checkMode
	set     bool // the mode was given
	dry     bool // F2FS: --dry-run
	auto    bool // F2FS: -a, -p
	level   bool // F2FS: -p may be followed by a level
	salvage bool // make files of lost clusters
	read    vol.ReadOptions
}

// mode is an option that says what to repair. The last one given counts where
// tools say so, and nowhere do they ask for two at once; two that differ are
// refused.
func mode(m checkMode) func(*toolRun, string) error {
	return func(r *toolRun, _ string) error {
		if r.fsck.set && r.fsck.mode != m {
			return usagef("options that repair, ask, and only report exclude each other")
		}
		r.fsck.mode, r.fsck.set = m, true
		return nil
	}
}

// runFsck checks the one volume that the arguments name.
func runFsck(ctx context.Context, r *toolRun, report toolReporter) error {
	f := &r.fsck
	if len(r.rest) != 1 {
		return usagef("it wants one image or device, not %d; see %s --help", len(r.rest), r.name)
	}
	image := r.rest[0]
	if f.mode == modeAsk && !r.a.terminal(r.a.in) {
		return usagef("it asks on a terminal, and standard input is none; use -a or -y")
	}
	if !f.set && r.a.terminal(r.a.in) {
		f.mode = modeAsk
	}
	o := &checkOptions{mode: f.mode, failOn: vol.SevError, read: f.read}
	if f.salvage && f.mode != modeReport {
		o.orphans = "rescue"
	}
	if err := r.bare(ctx, image); err != nil {
		return about(image, notChecked(err))
	}
	r.a.drivers = []*vol.Driver{r.driver()} // of other types the tool knows nothing
	doc, err := r.a.checkImage(ctx, image, o)
	if err != nil {
		return about(image, err)
	}
	r.a.code |= doc.Exit
	report.image(doc)
	return nil
}

// bare refuses a disk with partitions, unless one is named: the tool checks a
// volume, and must not repair several where it was told of none. What another
// tool is for is refused by what it is.
func (r *toolRun) bare(ctx context.Context, image string) (err error) {
	im, err := r.a.open(ctx, image, dev.OpenOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, im.Close()) }()
	regions, err := r.a.regions(im)
	if err != nil {
		return err
	}
	for _, rg := range regions {
		if rg.part != 0 && im.whole() {
			return fmt.Errorf("%w: it holds %s", vol.ErrNotVolume, tableOn(im.file))
		}
		if rg.drv != nil && rg.drv.Name != r.tool.format && rg.id.Confidence >= vol.Likely {
			return fmt.Errorf("%w: it holds %s%s", vol.ErrNotVolume, fileSystem(rg.id.Type), called(rg.id.Label))
		}
	}
	return nil
}

// saidByFsck is what errors of a check call the undo log, for which the tools have no
// option.
func saidByFsck() []string {
	return []string{"--undo FILE", `"fatkit check --undo FILE"`, "with --undo", `with "fatkit check --undo FILE"`}
}

// exitFsck is as fsck(8) has it, which is as we have it.
func exitFsck(_ *toolRun, code int) int { return code }

// toolReporter prints a check as the tools do: a line a finding, and a summary. No
// line but the summary begins with the name of the device, by which libblockdev
// tells it.
type toolReporter struct {
	r       *toolRun
	head    func(a *app, v *volumeDoc)
	summary func(a *app, image string, v *volumeDoc)
}

func (t toolReporter) image(d *checkDoc) {
	a := t.r.a
	for _, v := range d.Volumes {
		if v.Verdict == verdictUnreadable || v.Verdict == verdictSkipped {
			a.tell("%s: %s: cannot be checked: %s\n", t.r.name, printable(d.Image), printable(v.Reason))
			continue
		}
		if a.verbose && t.head != nil {
			t.head(a, v)
		}
		for _, f := range v.Findings {
			a.printf("%-7s %s %s%s%s\n", f.severity, f.Code, where(f.locationDoc), printable(f.Message), fate(f))
		}
		if v.Reason != "" {
			a.tell("%s: %s\n", t.r.name, printable(v.Reason))
		}
		t.summary(a, printable(d.Image), v)
	}
}

// fsckFAT stands in for fsck.fat of dosfstools.
func fsckFAT() *tool {
	return &tool{
		name: "fsck.fat", names: []string{"fsck.fat", "fsck.vfat", "fsck.msdos"},
		version: "fsck.fat 4.2", format: "FAT", usage: "DEVICE", said: saidByFsck(), options: fsckFATOptions,
		run: func(ctx context.Context, r *toolRun) error {
			r.a.printf("%s\n", r.tool.versionLine())
			return runFsck(ctx, r, toolReporter{r, fatHead, fatSummary})
		},
		// fsck.fat -n has 1 for errors that it left. libblockdev takes that for "not
		// clean", and anything above for a check that failed.
		exit: func(r *toolRun, code int) int {
			if code == exitLeft && r.fsck.set && r.fsck.mode == modeReport {
				return exitCorrected
			}
			return code
		},
	}
}

// fatHead is what fsck.fat -v prints of the boot sector. libblockdev reads the
// line on clusters.
func fatHead(a *app, v *volumeDoc) {
	a.printf("%10d bytes per logical sector\n%10d bytes per cluster\n%10d data clusters (%d bytes)\n",
		v.info.SectorSize, v.info.ClusterSize, v.info.Clusters, v.info.Clusters*uint64(max(v.info.ClusterSize, 0)))
}

// fatSummary is the last line of fsck.fat, from which libblockdev reads how many
// clusters are used, and of how many.
func fatSummary(a *app, image string, v *volumeDoc) {
	s := v.Stats
	a.printf("%s: %d files, %d/%d clusters\n", image, s.Files+s.Directories, s.Clusters-min(s.FreeClusters, s.Clusters), s.Clusters)
}

func fsckFATOptions() []toolOption {
	return append([]toolOption{
		{"-a -p -y", "", "repair all, and make files of lost clusters", func(r *toolRun, v string) error {
			r.fsck.salvage = true
			return mode(modeAll)(r, v)
		}},
		{"-n", "", "report only", mode(modeReport)},
		{"-r", "", "ask about each repair", mode(modeAsk)},
		sets("-f", "make files of lost clusters", salvaging),
		sets("-v", "print more", verbosely),
		noop("-V", "", "check again after repairs, as is done in any case"),
		{"--variant", "TYPE", "standard", standardVariant()},
		{"-c", "N", "code page of short names", func(r *toolRun, v string) error {
			n, err := number("-c", v, 1, 0xFFFF)
			if err == nil {
				r.fsck.read.Codepage, err = r.a.codepage("-c", int(n))
			}
			return err
		}},
		refused("-A", "", "the variant of Atari"),
		refused("-b", "", "a check of the boot sector alone"),
		refused("-d", "PATH", "dropping a file"),
		refused("-F", "NUM", "naming the FAT that counts; the one that fits the directories does"),
		refused("-l", "", "a list of all paths"),
		refused("-S", "", "taking spaces in short names for wrong"),
		refused("-t", "", "a read test for bad clusters"),
		refused("-u", "PATH", "undeleting a file"),
		refused("-U", "", "taking small letters in labels for wrong"),
		refused("-w", "", "writing before all repairs are proven"),
	}, infoOptions("", "-h --help")...)
}

// fsckExFAT stands in for fsck.exfat of exfatprogs.
func fsckExFAT() *tool {
	return &tool{
		name: "fsck.exfat", names: []string{"fsck.exfat"},
		version: "exfatprogs version : 1.4.2", format: "exFAT", usage: "DEVICE", said: saidByFsck(), exit: exitFsck, options: fsckExFATOptions,
		run: func(ctx context.Context, r *toolRun) error {
			r.a.printf("%s\n", r.tool.versionLine())
			return runFsck(ctx, r, toolReporter{r, nil, exfatSummary})
		},
	}
}

// exfatSummary is the last line of fsck.exfat.
func exfatSummary(a *app, image string, v *volumeDoc) {
	state := "clean"
	switch v.Verdict {
	case verdictCorrected:
		state = "files corrected"
	case verdictUncorrected:
		state = "corrupted"
	}
	a.printf("%s: %s. directories %d, files %d\n", image, state, v.Stats.Directories+1, v.Stats.Files) // it counts the root
}

func fsckExFATOptions() []toolOption {
	return append([]toolOption{
		{"-n --repair-no", "", "report only", mode(modeReport)},
		{"-p -a --repair-auto", "", "repair what can be repaired without losing anything", mode(modeSafe)},
		{"-y --repair-yes", "", "repair all", mode(modeAll)},
		{"-r --repair", "", "ask about each repair", mode(modeAsk)},
		sets("-s --rescue", "make files of lost clusters", salvaging),
		noop("-b --ignore-bad-fs", "", "go on where the boot sector is lost, as is done in any case"),
		noop("-f", "", "check though marked clean, as is done in any case"),
		sets("-v --verbose", "print more", verbosely),
		refused("-P --print-progress", "", "progress as text"),
		refused("--put-mbr", "", "a partition table in the boot sector"),
		refused("--clear-mbr", "", "removing a partition table from the boot sector"),
	}, infoOptions("-V --version", "-h --help")...)
}

// fsckF2FS stands in for fsck.f2fs of f2fs-tools.
func fsckF2FS() *tool {
	return &tool{
		name: "fsck.f2fs", names: []string{"fsck.f2fs"},
		version: "fsck.f2fs 1.16.0", format: "F2FS", usage: "DEVICE", said: saidByFsck(), options: fsckF2FSOptions,
		run: func(ctx context.Context, r *toolRun) error {
			if r.fsck.level && len(r.rest) == 2 && strings.Trim(r.rest[0], "012") == "" {
				r.rest = r.rest[1:]
			}
			return runFsck(ctx, r, toolReporter{r, nil, f2fsSummary})
		},
		// libblockdev takes 255 of fsck.f2fs --dry-run for "not clean", and any other
		// code for a check that failed. Of -a it and Android's vold take any code but
		// 0 for a failure, so a volume that was repaired and is clean now gives 0.
		exit: func(r *toolRun, code int) int {
			switch {
			case code == exitLeft && r.fsck.dry:
				return 255
			case code == exitCorrected && r.fsck.auto:
				return exitOK
			}
			return code
		},
	}
}

func f2fsSummary(a *app, image string, v *volumeDoc) {
	a.printf("%s: %s. directories %d, files %d, blocks %d/%d\n", image, v.Verdict, v.Stats.Directories, v.Stats.Files, v.Stats.UsedClusters, v.Stats.Clusters)
}

func fsckF2FSOptions() []toolOption {
	auto := func(r *toolRun, v string) error {
		r.fsck.auto = true
		return mode(modeAll)(r, v)
	}
	preen := func(r *toolRun, v string) error {
		r.fsck.level = true
		return auto(r, v)
	}
	return append([]toolOption{
		{"-a", "", "repair all; 0 means that it is clean now", auto},
		{"-p", "[0|1|2]", "as -a, at every level", preen},
		{"-p0 -p1 -p2", "", "the same", auto},
		{"-f -y", "", "repair all", mode(modeAll)},
		{"-n -N", "", "report only", mode(modeReport)},
		{"--dry-run", "", "report only; 255 means that there are errors", func(r *toolRun, _ string) error {
			r.fsck.dry = true
			r.fsck.mode, r.fsck.set = modeReport, true
			return nil
		}},
		noop("--kernel-check", "", "check after a change of kernel, as is done in any case"),
		noop("--no-kernel-check", "", "do not look whether the kernel changed"),
		{"-c", "N", "entries of the node cache; nodes are read once, so none is needed", cacheSize("-c")},
		{"-m", "N", "collisions in the node cache, likewise", cacheSize("-m")},
		{"-d", "LEVEL", "print more, from 1 on", debugLevel},
		refused("-C", "ENCODING", "turning casefold on"),
		refused("-g", "NAME", "defaults of Android"),
		refused("-H", "", "write-life hints for the device"),
		refused("-l", "", "printing superblock and checkpoint; fatkit info does"),
		refused("-M", "", "a map of files"),
		refused("-O", "FEATURES", "turning features on"),
		refused("-q", "N", "keeping quota limits"),
		refused("-S", "", "Android's sparse images"),
		refused("-t", "", "a tree of directories"),
		refused("--debug-cache", "", "statistics of the node cache"),
		refused("--fault_injection", "N", "injecting faults"),
		refused("--fault_type", "MASK", "injecting faults"),
		refused("--nolinear-lookup", "N", "changing how names are looked up"),
	}, infoOptions("-V", "-h --help")...)
}

// cacheSize checks a number that bounds a cache.
func cacheSize(option string) func(*toolRun, string) error {
	return func(_ *toolRun, v string) error {
		_, err := number(option, v, 0, 1<<31-1)
		return err
	}
}
