package main

import (
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// versionNumber is the release that this is, or leads to.
const versionNumber = "0.1.0"

// What a release is built from, set by the linker: see .goreleaser.yaml. A build
// by go build has none of it, and takes what Go notes in the program.
//
//nolint:gochecknoglobals // the linker sets variables of a package, and nothing else
var (
	linkedVersion string // 0.1.0
	linkedCommit  string // full hash
	linkedDate    string // of the commit, RFC 3339
)

// versionDoc is what version --json prints.
type versionDoc struct {
	Schema   string   `json:"schema"`
	Version  string   `json:"version"`
	Commit   string   `json:"commit,omitempty"`
	Date     string   `json:"date,omitempty"` // of the commit, RFC 3339
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
	d := buildVersion()
	d.Types = a.types()
	switch {
	case a.json:
		a.printJSON(d)
	case a.quiet:
		a.printf("%s\n", d.Version)
	default:
		a.printf("fatkit %s (%s, %s)\n", d.Version, d.Go, d.Platform)
		if a.verbose {
			a.printf("commit %s of %s, modified %t\n", or(d.Commit, "unknown"), or(d.Date, "unknown"), d.Modified)
			a.printf("types %v\n", d.Types)
		}
	}
	return nil
}

// or is s, or what stands for nothing.
func or(s, nothing string) string {
	if s == "" {
		return nothing
	}
	return s
}

// buildVersion is what is known of how the program was built: what the linker
// was told comes before what Go noted.
func buildVersion() versionDoc {
	d := versionDoc{Schema: "fatkit.version/1", Version: or(linkedVersion, versionNumber), Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				d.Commit = s.Value
			case "vcs.time":
				d.Date = s.Value
			case "vcs.modified":
				d.Modified = s.Value == "true"
			}
		}
	}
	if linkedCommit != "" {
		d.Commit, d.Date = linkedCommit, linkedDate
	}
	return d
}
