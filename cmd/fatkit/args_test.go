package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestArrange(t *testing.T) {
	common := []cli.Flag{toggle("", "json"), toggle("", "quiet", "q"), toggle("", "verbose", "v")}
	check := &cli.Command{Name: "check", Flags: append([]cli.Flag{
		toggle("", "n"), toggle("", "y"),
		&cli.StringFlag{Name: "size", Aliases: []string{"s"}}, &cli.IntFlag{Name: "C"},
	}, common...)}
	for in, want := range map[string]string{
		"":                         "",
		"check a.img":              "check -- a.img",
		"check a.img -y":           "check -y -- a.img",
		"check a.img --size 5 b":   "check --size 5 -- a.img b",
		"check a.img --size=5 b":   "check --size=5 -- a.img b",
		"check -yq a.img":          "check -y -q -- a.img",
		"check -C5 a.img":          "check -C 5 -- a.img",
		"check -yC 5 a.img":        "check -y -C 5 -- a.img",
		"check -yC5 a.img":         "check -y -C 5 -- a.img",
		"check -s64M a.img":        "check -s 64M -- a.img",
		"check -s -5 a.img":        "check -s -5 -- a.img",
		"check -size 5 a.img":      "check -size 5 -- a.img",
		"check -size=5 a.img":      "check -size=5 -- a.img",
		"check -- -y a.img":        "check -- -y a.img",
		"check a.img -- -y":        "check -- a.img -y",
		"check a.img -":            "check -- a.img -",
		"--json check a.img":       "check --json -- a.img",
		"-qv check a.img -y":       "check -q -v -y -- a.img",
		"check a.img --bogus b":    "check --bogus -- a.img b",
		"check -yz a.img":          "check -yz -- a.img",
		"check a.img -s":           "check -s", // which the cli package refuses: it has no value
		"check -y a.img -yC":       "check -y -y -C",
		"unknown -y x":             "unknown -y x",
		"--json":                   "--json",
		"check --json=false a.img": "check --json=false -- a.img",
	} {
		args := append([]string{"fatkit"}, strings.Fields(in)...)
		got := arrange(args, common, []*cli.Command{check})
		if !slices.Equal(got[1:], strings.Fields(want)) {
			t.Errorf("%q: %q, want %q", in, strings.Join(got[1:], " "), want)
		}
	}
	if got := arrange(nil, common, nil); got != nil {
		t.Errorf("no arguments: %q", got)
	}
}

func TestWantsJSON(t *testing.T) {
	for in, want := range map[string]bool{
		"check --json x": true, "check x --json": true, "check --report json x": true, "check --report=json x": true,
		"check x": false, "check -- --json": false, "check --report text": false, "check --report": false,
	} {
		if got := wantsJSON(strings.Fields(in)); got != want {
			t.Errorf("%q: %t", in, got)
		}
	}
}
