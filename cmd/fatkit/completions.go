package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// completionFiles are the completions of the shells by file name, made of what the
// program itself knows of its commands and flags.
func (a *app) completionFiles() map[string]string {
	t := a.completionTree()
	return map[string]string{
		"fatkit.bash": t.bash(), "_fatkit": t.zsh(), "fatkit.fish": t.fish(), "fatkit.ps1": t.powershell(),
	}
}

// tree is the command line as shells complete it.
type tree struct {
	commands []treeCommand
	flags    []treeFlag // of the program without a command
}

type treeCommand struct {
	name, usage string
	flags       []treeFlag
	values      []string // what the arguments can be; nil: files
}

type treeFlag struct {
	short, long []string // without dashes
	usage       string
	takes       string   // what the value is called; "" for none
	values      []string // what it can be, where that is known
	files       bool     // the value is a file
}

// dashed are all names of f as they are written.
func (f treeFlag) dashed() []string {
	var names []string
	for _, n := range f.short {
		names = append(names, "-"+n)
	}
	for _, n := range f.long {
		names = append(names, "--"+n)
	}
	return names
}

func (a *app) completionTree() tree {
	top := a.cli()
	t := tree{flags: a.treeFlags(top.Flags)}
	for _, c := range append(visible(top), a.helpCommand()) {
		flags := c.Flags
		if c.Name != "help" {
			flags = append(slices.Clone(flags), cli.HelpFlag)
		}
		t.commands = append(t.commands, treeCommand{c.Name, c.Usage, a.treeFlags(flags), nil})
	}
	for i, c := range t.commands {
		switch c.name {
		case "explain":
			t.commands[i].values = a.problemCodes()
		case "help":
			for _, c := range t.commands[:i] {
				t.commands[i].values = append(t.commands[i].values, c.name)
			}
		case "version":
			t.commands[i].values = []string{}
		}
	}
	return t
}

func (a *app) treeFlags(flags []cli.Flag) []treeFlag {
	var out []treeFlag
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		if !ok || !offered(f) {
			continue
		}
		value, usage := placeholder(d.GetUsage())
		tf := treeFlag{usage: usage}
		if d.TakesValue() {
			tf.takes, tf.values = value, a.choices(f.Names()[0])
			tf.files = value == "FILE"
		}
		for _, n := range f.Names() {
			if len(n) == 1 {
				tf.short = append(tf.short, n)
			} else {
				tf.long = append(tf.long, n)
			}
		}
		out = append(out, tf)
	}
	return out
}

// choices are the values that a flag can have; nil where they are not counted.
func (a *app) choices(flag string) []string {
	switch flag {
	case "type":
		return a.types()
	case "report":
		return reportNames()
	case "fail-on":
		return []string{"info", "warning", "error"}
	case "orphans":
		return []string{"report", "free", "rescue"}
	case "fill":
		return []string{"zero", "none"}
	case "valid":
		return []string{"none", "all"}
	case "encoding":
		return []string{"utf8", "utf8:strict"}
	case "links":
		return []string{"follow", "skip", "error"}
	case "codepage":
		return a.codepages()
	case "table":
		return []string{"none", "mbr", "gpt"}
	}
	return nil
}

// problemCodes are the codes of all catalogues, in order.
func (a *app) problemCodes() []string {
	var codes []string
	for _, c := range a.catalogues() {
		for _, p := range c.problems {
			codes = append(codes, p.Code)
		}
	}
	slices.Sort(codes)
	return codes
}

// generated is the first line of each file, after its comment sign.
const generated = "Completions of fatkit, which writes them: fatkit docs completions DIR."

// bash is for bash(1), with or without bash-completion.
func (t tree) bash() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", generated)
	b.WriteString(`_fatkit_reply() {
	local found
	found=$(compgen "$@")
	local IFS=$'\n'
	COMPREPLY=($found)
}

_fatkit() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd= i words=
	COMPREPLY=()
	# Bash takes "--flag=value" for three words.
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} != -* ]]; then
			cmd=${COMP_WORDS[i]}
			break
		fi
	done
	case $cmd:$prev in
`)
	for _, c := range t.commands {
		for _, f := range c.flags {
			if f.takes == "" {
				continue
			}
			var patterns []string
			for _, n := range f.dashed() {
				patterns = append(patterns, c.name+":"+n)
			}
			does := ":"
			if f.files {
				does = `_fatkit_reply -f -- "$cur"`
			} else if len(f.values) > 0 {
				does = fmt.Sprintf(`_fatkit_reply -W %s -- "$cur"`, quote(strings.Join(f.values, " ")))
			}
			fmt.Fprintf(&b, "\t%s)\n\t\t%s\n\t\treturn\n\t\t;;\n", strings.Join(patterns, "|"), does)
		}
	}
	fmt.Fprintf(&b, "\tesac\n\tcase $cmd in\n\t'')\n\t\tif [[ $cur == -* ]]; then\n\t\t\twords=%s\n\t\telse\n\t\t\twords=%s\n\t\tfi\n\t\t;;\n",
		quote(flagWords(t.flags)), quote(t.names()))
	for _, c := range t.commands {
		fmt.Fprintf(&b, "\t%s)\n\t\tif [[ $cur == -* ]]; then\n\t\t\twords=%s\n", c.name, quote(flagWords(c.flags)))
		if len(c.values) > 0 {
			fmt.Fprintf(&b, "\t\telse\n\t\t\twords=%s\n", quote(strings.Join(c.values, " ")))
		}
		b.WriteString("\t\tfi\n\t\t;;\n")
	}
	b.WriteString("\tesac\n" + `	if [[ -n $words ]]; then
		_fatkit_reply -W "$words" -- "$cur"
	elif [[ $cmd != version ]]; then
		_fatkit_reply -f -- "$cur"
	fi
}

complete -o filenames -F _fatkit fatkit
`)
	return b.String()
}

// names are the commands, with blanks between.
func (t tree) names() string {
	var names []string
	for _, c := range t.commands {
		names = append(names, c.name)
	}
	return strings.Join(names, " ")
}

func flagWords(flags []treeFlag) string {
	var words []string
	for _, f := range flags {
		words = append(words, f.dashed()...)
	}
	return strings.Join(words, " ")
}

// quote is s as one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
