package main

import (
	"fmt"
	"strings"
)

// zsh is for zsh(1): a file of that name in a directory of its fpath.
func (t tree) zsh() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef fatkit\n# %s\n\n_fatkit() {\n\tlocal curcontext=$curcontext state line\n\tlocal -a commands\n\tcommands=(\n", generated)
	for _, c := range t.commands {
		fmt.Fprintf(&b, "\t\t%s\n", quote(c.name+":"+c.usage))
	}
	b.WriteString("\t)\n\t_arguments -C \\\n")
	zshFlags(&b, "\t\t", t.flags)
	b.WriteString("\t\t'1: :->command' \\\n\t\t'*:: :->argument' && return\n\tcase $state in\n\tcommand)\n\t\t_describe -t commands command commands\n\t\t;;\n\targument)\n\t\tcase $line[1] in\n")
	for _, c := range t.commands {
		fmt.Fprintf(&b, "\t\t%s)\n\t\t\t_arguments -s -S \\\n", c.name)
		zshFlags(&b, "\t\t\t\t", c.flags)
		what := "'*:file:_files'"
		if c.values != nil {
			what = quote("*: :(" + strings.Join(c.values, " ") + ")")
		}
		fmt.Fprintf(&b, "\t\t\t\t%s\n\t\t\t;;\n", what)
	}
	b.WriteString("\t\tesac\n\t\t;;\n\tesac\n}\n\n_fatkit \"$@\"\n")
	return b.String()
}

// zshFlags writes the specifications of flags for _arguments, a line each.
func zshFlags(b *strings.Builder, indent string, flags []treeFlag) {
	words := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`)
	for _, f := range flags {
		value := ""
		switch {
		case f.files:
			value = ":" + words.Replace(f.takes) + ":_files"
		case len(f.values) > 0:
			value = ":" + words.Replace(f.takes) + ":(" + words.Replace(strings.Join(f.values, " ")) + ")"
		case f.takes != "":
			value = ":" + words.Replace(f.takes) + ": "
		}
		names := f.dashed()
		for _, n := range names {
			spec := n + "[" + words.Replace(f.usage) + "]" + value
			if len(names) > 1 {
				spec = "(" + strings.Join(names, " ") + ")" + spec
			}
			fmt.Fprintf(b, "%s%s \\\n", indent, quote(spec))
		}
	}
}

// fish is for fish(1).
func (t tree) fish() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\ncomplete -c fatkit -n __fish_use_subcommand -f\n", generated)
	for _, c := range t.commands {
		fmt.Fprintf(&b, "complete -c fatkit -n __fish_use_subcommand -a %s -d %s\n", c.name, fishQuote(c.usage))
	}
	fishFlags(&b, "__fish_use_subcommand", t.flags)
	for _, c := range t.commands {
		when := "__fish_seen_subcommand_from " + c.name
		if c.values != nil {
			fmt.Fprintf(&b, "complete -c fatkit -n %s -f -a %s\n", fishQuote(when), fishQuote(strings.Join(c.values, " ")))
		}
		fishFlags(&b, when, c.flags)
	}
	return b.String()
}

func fishFlags(b *strings.Builder, when string, flags []treeFlag) {
	for _, f := range flags {
		fmt.Fprintf(b, "complete -c fatkit -n %s", fishQuote(when))
		for _, n := range f.short {
			b.WriteString(" -s " + n)
		}
		for _, n := range f.long {
			b.WriteString(" -l " + n)
		}
		switch {
		case f.files:
			b.WriteString(" -r -F")
		case len(f.values) > 0:
			b.WriteString(" -x -a " + fishQuote(strings.Join(f.values, " ")))
		case f.takes != "":
			b.WriteString(" -x")
		}
		fmt.Fprintf(b, " -d %s\n", fishQuote(f.usage))
	}
}

// fishQuote is s as one word of fish, which takes a backslash for what it is in
// many places between single quotes.
func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}

// powershell is for PowerShell: to be run from a profile.
func (t tree) powershell() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nRegister-ArgumentCompleter -Native -CommandName fatkit -ScriptBlock {\n", generated)
	b.WriteString("    param($wordToComplete, $commandAst, $cursorPosition)\n    $commands = [ordered]@{\n")
	for _, c := range t.commands {
		fmt.Fprintf(&b, "        %s = %s\n", psQuote(c.name), psQuote(c.usage))
	}
	b.WriteString("    }\n    $flags = @{\n")
	psFlags(&b, "", t.flags)
	for _, c := range t.commands {
		psFlags(&b, c.name, c.flags)
	}
	b.WriteString("    }\n    $values = @{\n")
	for _, c := range t.commands {
		if len(c.values) > 0 {
			fmt.Fprintf(&b, "        %s = %s\n", psQuote(c.name+":"), psQuote(strings.Join(c.values, " ")))
		}
		for _, f := range c.flags {
			for _, n := range f.dashed() {
				if len(f.values) > 0 {
					fmt.Fprintf(&b, "        %s = %s\n", psQuote(c.name+":"+n), psQuote(strings.Join(f.values, " ")))
				}
			}
		}
	}
	b.WriteString(`    }
    $words = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
    $command = $words | Select-Object -Skip 1 | Where-Object { -not $_.StartsWith('-') } | Select-Object -First 1
    $candidates = @()
    if ($wordToComplete.StartsWith('-')) {
        $candidates = $flags["$command"]
    } elseif ($command -and $values.ContainsKey("${command}:$($words[-1])")) {
        $candidates = $values["${command}:$($words[-1])"] -split ' '
    } elseif (-not $command) {
        $candidates = $commands.Keys
    } elseif ($values.ContainsKey("${command}:")) {
        $candidates = $values["${command}:"] -split ' '
    }
    $candidates | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
        $tip = if (-not $command -and $commands.Contains($_)) { $commands[$_] } else { $_ }
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $tip)
    }
}
`)
	return b.String()
}

func psFlags(b *strings.Builder, command string, flags []treeFlag) {
	var names []string
	for _, f := range flags {
		for _, n := range f.dashed() {
			names = append(names, psQuote(n))
		}
	}
	fmt.Fprintf(b, "        %s = %s\n", psQuote(command), strings.Join(names, ", "))
}

// psQuote is s as a string of PowerShell.
func psQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
