package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// helpExamples is what --help shows after the options: the examples of the manual
// page. It is part of a template, in which two braces would begin a command.
func helpExamples(command string) string {
	text := manWords(command).examples
	if text == "" {
		return ""
	}
	text = strings.ReplaceAll("\n"+strings.TrimRight(text, "\n"), "\n", "\n   ")
	text = strings.ReplaceAll(text, "\n   \n", "\n\n")
	return "\nEXAMPLES:" + strings.ReplaceAll(text, "{{", `{{"{{"}}`) + "\n"
}

// helpCommand takes the place of the library's, which prints its own words for an
// option that it does not know, and does not stop there.
func (a *app) helpCommand() *cli.Command {
	return &cli.Command{
		Name:         "help",
		Aliases:      []string{"h"},
		Usage:        "show what fatkit does, or one of its commands",
		ArgsUsage:    "[COMMAND]",
		OnUsageError: a.badUsage,
		Action: func(c *cli.Context) error {
			root := c.Lineage()[len(c.Lineage())-2]
			switch name := c.Args().First(); {
			case c.NArg() > 1:
				return usagef("help wants one command, not %d", c.NArg())
			case name == "":
				return cli.ShowAppHelp(root)
			case root.App.Command(name) == nil:
				a.unknown(name)
				return nil
			default:
				return cli.ShowCommandHelp(root, name)
			}
		},
	}
}
