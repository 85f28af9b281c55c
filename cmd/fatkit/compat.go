package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// Called by the name of another tool the program takes that tool's options, so
// that what calls it finds what it expects. docs/COMPAT.md has the table of who
// sends what, and reads what.

// tool is one that the program stands in for.
type tool struct {
	name    string   // as it calls itself: "mkfs.fat"
	names   []string // what it is called by
	version string   // the line that tells its version
	format  string   // name of the driver
	usage   string   // what follows the options
	said    []string // our own flags in errors, each with what the tool has for it
	options func() []toolOption
	run     func(context.Context, *toolRun) error
	// exit is what its callers expect for one of our exit codes.
	exit func(r *toolRun, code int) int
}

// toolOption is an option of such a tool. It is taken or refused, never ignored.
type toolOption struct {
	names string // "-n --repair-no"
	arg   string // what its value is called; "" for none, "[N]" where it may be left out
	help  string
	set   func(r *toolRun, value string) error // nil: cannot be honoured, as help says
}

// toolRun is one run under such a name.
type toolRun struct {
	a    *app
	tool *tool
	name string // as it was called
	rest []string
	info bool // the version or the help was asked for, and printed

	mkfs mkfsRun
	fsck fsckRun
}

// tools are all that the program stands in for.
func tools() []*tool {
	return []*tool{mkfsFAT(), fsckFAT(), mkfsExFAT(), fsckExFAT(), mkfsF2FS(), fsckF2FS()}
}

// toolNamed is the tool that a program called path is to be, or nil.
func toolNamed(path string) *tool {
	base := strings.TrimSuffix(filepath.Base(path), ".exe")
	for _, t := range tools() {
		if slices.Contains(t.names, base) {
			return t
		}
	}
	return nil
}

// runTool is run under the name of another tool.
func (a *app) runTool(ctx context.Context, t *tool, args []string) int {
	r := &toolRun{a: a, tool: t, name: strings.TrimSuffix(filepath.Base(args[0]), ".exe"), mkfs: mkfsRun{offset: -1}}
	a.command = r.name
	err := r.parse(args[1:])
	if err == nil && !r.info {
		err = t.run(ctx, r)
	}
	if err != nil {
		a.code |= r.fail(imageOf(err), err)
	}
	a.flush(ctx, r.name)
	return t.exit(r, a.code)
}

// fail prints an error as the tool it stands in for would, and returns our exit
// code for it.
func (r *toolRun) fail(image string, err error) int {
	_, code := classify(err)
	text := strings.NewReplacer(r.tool.said...).Replace(explainError(err))
	text += r.a.nearFile(image, err)
	if image != "" && !strings.Contains(text, image) {
		text = printable(image) + ": " + text
	}
	r.a.tell("%s: %s\n", r.name, printable(text))
	return code
}

// parse reads the options, as getopt_long(3) does: they may stand among the
// other arguments, be combined, have their value attached, and be shortened.
func (r *toolRun) parse(args []string) error {
	options := r.tool.options()
	p := split(args, knownOptions(options, args), false)
	r.rest = p.rest
	for i := 0; i < len(p.flags) && !r.info; i++ {
		name, value, attached := strings.Cut(p.flags[i], "=")
		if !strings.HasPrefix(name, "--") && attached {
			value = "=" + value // of a short one all that follows is the value
		}
		name = completed(name, options)
		o := findOption(options, name)
		if o == nil {
			return usagef("there is no option %q; see %s --help", p.flags[i], r.name)
		}
		takes := o.takes()
		switch {
		case attached && (o.arg == "" || !takes && strings.HasPrefix(value, "=")):
			return usagef("%s takes no value", name)
		case takes && !attached && i+1 == len(p.flags):
			return usagef("%s wants %s", name, o.arg)
		case takes && !attached:
			i++
			value = p.flags[i]
		}
		if o.set == nil {
			return usagef("%s: %s; fatkit does not do that, and nothing was done", name, o.help)
		}
		if err := o.set(r, value); err != nil {
			return err
		}
	}
	return nil
}

// takes reports whether the next argument is the value of o, unless it is attached.
func (o *toolOption) takes() bool { return o.arg != "" && !strings.HasPrefix(o.arg, "[") }

// knownOptions are the names of options, and what stands for one in args.
func knownOptions(options []toolOption, args []string) flagSet {
	known := flagSet{}
	for _, o := range options {
		for _, n := range strings.Fields(o.names) {
			known[strings.TrimLeft(n, "-")] = o.takes()
		}
	}
	for _, arg := range args {
		if o := findOption(options, completed(arg, options)); o != nil && strings.HasPrefix(arg, "--") {
			known[strings.TrimLeft(arg, "-")] = o.takes()
		}
	}
	return known
}

// completed is the long option of which name is the beginning, or name itself
// where that is none or several.
func completed(name string, options []toolOption) string {
	if !strings.HasPrefix(name, "--") || name == "--" || findOption(options, name) != nil {
		return name
	}
	var fits []string
	for _, o := range options {
		for _, n := range strings.Fields(o.names) {
			if strings.HasPrefix(n, name) {
				fits = append(fits, n)
			}
		}
	}
	if len(fits) == 1 {
		return fits[0]
	}
	return name
}

func findOption(options []toolOption, name string) *toolOption {
	for i, o := range options {
		if slices.Contains(strings.Fields(o.names), name) {
			return &options[i]
		}
	}
	return nil
}

// infoOptions are those that print something and stop.
func infoOptions(version, help string) []toolOption {
	var os []toolOption
	if version != "" {
		os = append(os, toolOption{version, "", "print the version", func(r *toolRun, _ string) error {
			r.info = true
			r.a.printf("%s\n", r.tool.versionLine())
			return nil
		}})
	}
	return append(os, toolOption{help, "", "print this help", func(r *toolRun, _ string) error {
		r.info = true
		r.help()
		return nil
	}})
}

// versionLine names the tool, the version of it that is stood in for, and us.
func (t *tool) versionLine() string { return t.version + " (fatkit " + buildVersion().Version + ")" }

// help prints what the tool takes. The version comes first, where callers look
// for it.
func (r *toolRun) help() {
	a := r.a
	a.printf("%s\nUsage: %s [options] %s\n\nfatkit stands in for %s under this name; see fatkit --help for what else it does.\n\n",
		r.tool.versionLine(), r.name, r.tool.usage, r.tool.name)
	for _, o := range r.tool.options() {
		if o.set != nil {
			a.printf("  %-28s %s\n", strings.TrimSpace(strings.ReplaceAll(o.names, " ", ", ")+" "+o.arg), o.help)
		}
	}
	a.printf("\nRefused:\n")
	for _, o := range r.tool.options() {
		if o.set == nil {
			a.printf("  %-28s %s\n", strings.TrimSpace(strings.ReplaceAll(o.names, " ", ", ")+" "+o.arg), o.help)
		}
	}
}

// driver is that of the tool's file system.
func (r *toolRun) driver() *vol.Driver {
	for _, d := range r.a.drivers {
		if d.Name == r.tool.format {
			return d
		}
	}
	panic(fmt.Sprintf("%s: there is no driver %s", r.tool.name, r.tool.format))
}

// refused is an option that cannot be honoured.
func refused(names, arg, help string) toolOption { return toolOption{names, arg, help, nil} }

// sets is an option that sets what at has of a run.
func sets(names, help string, at func(*toolRun) *bool) toolOption {
	return toolOption{names, "", help, func(r *toolRun, _ string) error { *at(r) = true; return nil }}
}

func verbosely(r *toolRun) *bool { return &r.a.verbose }
func quietly(r *toolRun) *bool   { return &r.mkfs.quiet }
func salvaging(r *toolRun) *bool { return &r.fsck.salvage }

// volumeLabel is the option for that.
func volumeLabel(names string) toolOption {
	return toolOption{names, "LABEL", "volume label", func(r *toolRun, v string) error { r.mkfs.opts.Label = v; return nil }}
}

// noop is an option that asks for what is done anyway.
func noop(names, arg, help string) toolOption {
	return toolOption{names, arg, help, func(*toolRun, string) error { return nil }}
}
