package main

import (
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// versionNumber is the release that this is, or leads to.
const versionNumber = "0.1.0"

// versionDoc is what version --json prints.
type versionDoc struct {
	Schema   string   `json:"schema"`
	Version  string   `json:"version"`
	Revision string   `json:"revision,omitempty"`
	Modified bool     `json:"modified,omitempty"`
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Types    []string `json:"types"` // what format -t takes
}

func (a *app) versionCommand() *cli.Command {
	return &cli.Command{
		Name:      "version",
		Usage:     "print the version",
		ArgsUsage: " ",
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("version takes no argument")
			}
			return a.version(c)
		},
	}
}

// version prints the version: with -q the number alone, with -v also what the
// program was built from.
func (a *app) version(*cli.Context) error {
	d := a.versionDoc()
	switch {
	case a.json:
		a.printJSON(d)
	case a.quiet:
		a.printf("%s\n", d.Version)
	default:
		a.printf("fatkit %s (%s, %s)\n", d.Version, d.Go, d.Platform)
		if a.verbose {
			a.printf("revision %s, modified %t\n", d.Revision, d.Modified)
			a.printf("types %v\n", d.Types)
		}
	}
	return nil
}

func (a *app) versionDoc() versionDoc {
	d := versionDoc{Schema: "fatkit.version/1", Version: versionNumber, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Types: a.types()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return d
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			d.Revision = s.Value
		case "vcs.modified":
			d.Modified = s.Value == "true"
		}
	}
	return d
}
