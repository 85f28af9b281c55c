package main

import "github.com/urfave/cli/v2"

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
