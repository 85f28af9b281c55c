package main

import (
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/vol"
)

// checkMode says which repairs a check makes.
type checkMode int

const (
	modeReport checkMode = iota // none
	modeSafe                    // -p: those that lose nothing
	modeAll                     // -y
	modeAsk                     // -r
)

// checkOptions is what the flags of check say.
type checkOptions struct {
	mode     checkMode
	failOn   vol.Severity
	orphans  string // "", "report", "free", "rescue"
	noReplay bool   // of a log that a mount would replay
	discard  bool   // give it up
	dryRun   bool
	workers  int           // for all images and volumes together
	images   int           // how many there are
	slots    chan struct{} // one for each volume that may be checked at once
	undo     undoFlags
	progress *fsckProgress // -C: for fsck(8)
	report   reporter
	read     vol.ReadOptions // of those volumes that have code pages
	ask      *asker          // of a person, about all images and volumes
}

// ready are the options with all that a check of one image needs.
func (o *checkOptions) ready() *checkOptions {
	if o.slots != nil {
		return o
	}
	r := *o
	if r.workers == 0 {
		r.workers = runtime.GOMAXPROCS(0)
	}
	r.images, r.slots = 1, make(chan struct{}, r.workers)
	if r.mode == modeAsk {
		r.slots, r.ask = make(chan struct{}, 1), &asker{} // one question at a time
	}
	return &r
}

// writes reports whether the check may change the image.
func (o *checkOptions) writes() bool { return o.mode != modeReport && !o.dryRun }

func (a *app) checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "check volumes, and repair them if told to",
		ArgsUsage: "IMAGE...",
		Description: "Without -p, -y or -r nothing is written. Repairs are made in memory first and checked there;\n" +
			"only when the result holds is it written, with an undo log that is removed at the end.\n\n" +
			"Exit: 0 clean, 1 all that was found is corrected, 4 something is left, 8 could not be checked.",
		Flags: append([]cli.Flag{
			toggle("report only (the default)", "n"),
			toggle("repair what can be repaired without losing anything", "p", "a"),
			toggle("repair all", "y"),
			toggle("ask about each repair", "r"),
			&cli.StringFlag{Name: "report", Value: "text", Usage: "print as `FORMAT`: " + strings.Join(reportNames(), ", ")},
			&cli.StringFlag{Name: "fail-on", Value: "error", Usage: "exit 4 when something of this `SEVERITY` is left: info, warning, error"},
			&cli.StringFlag{Name: "orphans", Usage: "what becomes of clusters that no file owns, with -p, -y or -r: report, free or rescue, as `WHAT`", DefaultText: "as -p, -y, -r say"},
			toggle("leave a log that has to be replayed (F2FS), and all that rests on it", "no-replay"),
			toggle("give up a log that has to be replayed (F2FS), and what was synced since, with -p, -y or -r", "discard-log"),
			toggle("repair in memory, print what would be written, write nothing", "dry-run"),
			&cli.IntFlag{Name: "j", Usage: "use `N` processors, over images and partitions and in each", DefaultText: "all"},
			codepageFlag(),
			&cli.IntFlag{Name: "C", Usage: "write progress for fsck(8) to the file descriptor `FD`", DefaultText: "none"},
		}, append(readFlags(), undoFlagList()...)...),
		Action: a.check,
	}
}

func (a *app) check(c *cli.Context) error {
	o, err := a.checkOptions(c)
	if err != nil {
		return err
	}
	images, err := several(c)
	if err != nil {
		return err
	}
	if images = expand(images); len(images) > 1 && o.undo.file != "" {
		return usagef("--undo names the log of one image, not of %d", len(images))
	}
	o = o.ready()
	o.images = len(images)
	type outcome struct {
		doc *checkDoc
		err error
	}
	eachImage(c.Context, a, imageJobs{images, cap(o.slots), o.writes()}, func(a *app, image string) outcome {
		doc, err := a.checkImage(c.Context, image, o)
		return outcome{doc, err}
	}, func(image string, r outcome) {
		if r.err != nil {
			_, code := classify(r.err)
			a.code |= code
			o.report.Failed(image, r.err)
		} else {
			a.code |= r.doc.Exit
			o.report.Image(r.doc)
		}
	})
	o.report.End(a.code)
	return nil
}

func (a *app) checkOptions(c *cli.Context) (*checkOptions, error) {
	o := &checkOptions{dryRun: c.Bool("dry-run"), noReplay: c.Bool("no-replay"), discard: c.Bool("discard-log"), workers: runtime.GOMAXPROCS(0)}
	if c.IsSet("j") {
		o.workers = min(c.Int("j"), runtime.NumCPU())
	}
	var err error
	if o.mode, err = readMode(c); err != nil {
		return nil, err
	}
	if o.failOn, err = readSeverity(c); err != nil {
		return nil, err
	}
	o.undo = readUndoFlags(c)
	if o.read, err = a.readOptions(c); err != nil {
		return nil, err
	}
	if o.progress, err = readProgress(c); err != nil {
		return nil, err
	}
	if c.IsSet("orphans") {
		if o.orphans, err = oneOf(c, "orphans", "report", "free", "rescue"); err != nil {
			return nil, err
		}
	}
	switch {
	case c.IsSet("j") && o.workers < 1:
		return nil, usagef("-j wants a number from 1")
	case o.mode == modeReport && o.orphans != "" && o.orphans != "report":
		return nil, usagef("--orphans %s repairs, so it wants -p, -y or -r", o.orphans)
	case o.noReplay && o.discard:
		return nil, usagef("--no-replay and --discard-log exclude each other")
	case o.mode == modeReport && o.discard:
		return nil, usagef("--discard-log repairs, so it wants -p, -y or -r")
	case o.mode == modeReport && (o.undo.keep || o.undo.file != ""):
		return nil, usagef("--undo and --keep-undo are for repairs: they want -p, -y or -r")
	case o.mode == modeAsk && !a.terminal(a.in):
		return nil, usagef("-r asks on a terminal, and standard input is none; use -p or -y")
	}
	return o, a.readReport(c, o)
}

// readReport settles the format; --json is short for --report json.
func (a *app) readReport(c *cli.Context, o *checkOptions) error {
	name, err := oneOf(c, "report", reportNames()...)
	if err != nil {
		return err
	}
	if a.json && c.IsSet("report") && name != reportJSON {
		return usagef("--json and --report %s contradict each other", name)
	}
	if a.json = a.json || name == reportJSON; a.json {
		name = reportJSON
	}
	o.report = a.newReporter(name, o)
	return nil
}

// readMode takes at most one of the flags that say what to repair.
func readMode(c *cli.Context) (checkMode, error) {
	mode, given := modeReport, 0
	for m, name := range map[checkMode]string{modeReport: "n", modeSafe: "p", modeAll: "y", modeAsk: "r"} {
		if c.Bool(name) {
			mode = m
			given++
		}
	}
	if given > 1 {
		return mode, usagef("-n, -p (-a), -y and -r exclude each other")
	}
	return mode, nil
}

func readSeverity(c *cli.Context) (vol.Severity, error) {
	for s := vol.SevInfo; s <= vol.SevError; s++ {
		if c.String("fail-on") == s.String() {
			return s, nil
		}
	}
	return 0, usagef("--fail-on %q: it can be info, warning, error", c.String("fail-on"))
}

// readProgress opens the file descriptor that fsck(8) wants progress on. 0 asks
// for a bar of our own, as it does of e2fsck, and we draw one anyway; a negative
// one asks for nothing.
func readProgress(c *cli.Context) (*fsckProgress, error) {
	fd := c.Int("C")
	if fd <= 0 {
		return nil, nil
	}
	// From here on the descriptor is ours: it is closed with the program, or by
	// the collector when nothing uses it any more.
	f := os.NewFile(uintptr(fd), "progress")
	if _, err := f.Stat(); err != nil {
		return nil, usagef("-C %d: %v", fd, err)
	}
	return &fsckProgress{w: f}, nil
}

// decider picks the repairs that the options ask for, for a volume that is called so
// and begins at byte base of the image.
func (o *checkOptions) decider(ctx context.Context, a *app, name string, base int64) vol.Decider {
	if o.mode == modeReport {
		return nil
	}
	if o.ask != nil {
		o.ask.app, o.ask.meter, o.ask.name, o.ask.base = a, a.board, name, base
	}
	wanted := false // lost clusters, by a file that they continue
	return func(f *vol.Finding) int {
		offered := f.Offered()
		wanted = wanted || named(offered, rejoinName) >= 0
		if isOrphans(f.Slug) && o.orphans != "" {
			return named(offered, o.orphans)
		}
		if o.discard && (f.Slug == replaySlug || f.Slug == replayBadSlug) {
			return named(offered, "discard")
		}
		switch {
		case len(offered) == 0:
			return -1
		case o.mode == modeAsk:
			return o.ask.decide(ctx, f, offered)
		case f.Severity < vol.SevWarning:
			return -1 // it is legal, and none of our business
		case o.mode == modeAll:
			return 0
		case isOrphans(f.Slug) && wanted:
			return -1 // as a file of their own they would be lost to it
		}
		return lossless(offered)
	}
}

// isOrphans reports whether a problem is the one that --orphans is about: FAT's and
// exFAT's catalogues call it differently.
func isOrphans(slug string) bool { return slug == "lost-chains" || slug == "lost-clusters" }

// rejoinName is the repair that gives a file lost clusters which continue it.
const rejoinName = "rejoin"

// replaySlug and replayBadSlug are the problems that --discard-log is about.
const (
	replaySlug    = "replay"
	replayBadSlug = "replay-address"
)

// named is the repair of that name, or -1: "report" is none.
func named(rs []vol.Repair, name string) int {
	for i, r := range rs {
		if r.Name == name {
			return i
		}
	}
	return -1
}

// lossless is the first repair that loses nothing, or -1.
func lossless(rs []vol.Repair) int {
	for i, r := range rs {
		if r.Loss == vol.LossNone {
			return i
		}
	}
	return -1
}
