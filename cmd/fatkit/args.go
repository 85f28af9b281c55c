package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// flagSet knows the flags of a command: which there are, and which take a
// value. The cli package stops at the first argument that is no flag, so
// something must know in order to put them into its order.
type flagSet map[string]bool // name → takes a value

func flagsOf(flags []cli.Flag) flagSet {
	s := flagSet{}
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		for _, name := range f.Names() {
			s[name] = ok && d.TakesValue()
		}
	}
	return s
}

// arrange puts the arguments of a run (args[0] is the program) into the order
// that the cli package wants: program, command, flags, "--", the rest. Flags
// may stand on both sides of the command and of its arguments; a lone "--" ends
// them. Short flags may be combined, and have their value attached: -yq, -C5.
func arrange(args []string, root []cli.Flag, commands []*cli.Command) []string {
	if len(args) == 0 {
		return args
	}
	before := split(args[1:], flagsOf(root), true)
	if len(before.rest) == 0 {
		return append([]string{args[0]}, before.flags...)
	}
	name, rest := before.rest[0], before.rest[1:]
	for _, c := range commands {
		if !c.HasName(name) {
			continue
		}
		after := split(rest, flagsOf(c.Flags), false)
		out := append([]string{args[0], name}, before.flags...)
		out = append(out, after.flags...)
		if after.lacks {
			return out // "--" would be taken for the value
		}
		out = append(out, "--")
		return append(out, after.rest...)
	}
	return append(append([]string{args[0]}, before.flags...), before.rest...)
}

// parted is a command line parted into flags, with their values, and the rest; lacks
// says that the last flag has no value and wants one.
type parted struct {
	flags, rest []string
	lacks       bool
}

// split parts args; with first it stops at the first that is no flag.
func split(args []string, known flagSet, first bool) parted {
	var p parted
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			p.rest = append(p.rest, args[i+1:]...)
			return p
		}
		if len(arg) < 2 || arg[0] != '-' {
			if first {
				p.rest = args[i:]
				return p
			}
			p.rest = append(p.rest, arg)
			continue
		}
		flags, wants := spread(arg, known)
		p.flags = append(p.flags, flags...)
		if p.lacks = wants && i+1 == len(args); wants && !p.lacks {
			i++
			p.flags = append(p.flags, args[i])
		}
	}
	return p
}

// spread takes combined short flags apart; wants says that the last one takes
// the next argument for its value. A flag that nobody knows stays as it is, for
// the cli package to complain about.
func spread(arg string, known flagSet) (flags []string, wants bool) {
	name := strings.TrimLeft(arg, "-")
	takes, whole := known[name]
	switch {
	case whole:
		return []string{arg}, takes
	case strings.HasPrefix(arg, "--"):
		return []string{arg}, false
	}
	if long, _, ok := strings.Cut(name, "="); ok {
		if _, whole := known[long]; whole {
			return []string{arg}, false
		}
	}
	for i, c := range name {
		takes, ok := known[string(c)]
		if !ok {
			return []string{arg}, false
		}
		flags = append(flags, "-"+string(c))
		if value := name[i+len(string(c)):]; takes && value != "" {
			return append(flags, value), false
		} else if takes {
			return flags, true
		}
	}
	return flags, false
}
