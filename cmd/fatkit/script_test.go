package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
)

// TestMain lets the scripts run this very program as "fatkit", and what calls other
// tools run it under their names.
func TestMain(m *testing.M) {
	if toolNamed(os.Args[0]) != nil {
		os.Exit(start())
	}
	testscript.Main(m, map[string]func(){"fatkit": main})
}

// TestScripts runs the scripts of testdata/script: each is a user at a shell.
// Beside testscript's own commands they have
//
//	code N COMMAND...   the command ends with exit code N
//	poke FILE OFFSET HEX...   write bytes into a file
//	resize FILE SIZE   make a file, if it is not there, and have it end at SIZE
//	peer COMMAND...   as code 0, for another implementation; without it the
//	                  line is passed over, or fails with FATKIT_PEERS=required
//
// and the condition [tmpfs]: a script may mount one, in a name space of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			if name != "tmpfs" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt").Run()
			if err != nil && needs.IsRequired() {
				return false, fmt.Errorf("HOST LACKS IT: a tmpfs that can be mounted: %w, and %s=required", err, needs.Required)
			}
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": cmdCode, "poke": cmdPoke, "resize": cmdResize, "peer": cmdPeer,
		},
	})
}

func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func cmdResize(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: resize FILE SIZE")
	}
	size, err := parseSize(args[1])
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY|os.O_CREATE, 0o644)
	ts.Check(err)
	ts.Check(errors.Join(f.Truncate(size), f.Close()))
}

func cmdPoke(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: poke FILE OFFSET HEX...")
	}
	off, err := parseOffset(args[1])
	ts.Check(err)
	b, err := hex.DecodeString(strings.Join(args[2:], ""))
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteAt(b, off)
	ts.Check(errors.Join(err, f.Close()))
}

func cmdPeer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: peer COMMAND...")
	}
	path := ""
	for _, name := range []string{args[0], "/usr/sbin/" + args[0], "/sbin/" + args[0]} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	switch {
	case path != "":
		ts.Check(ts.Exec(path, args[1:]...))
	case needs.IsRequired():
		ts.Fatalf("HOST LACKS IT: %s is not installed, and FATKIT_PEERS=required", args[0])
	default:
		ts.Logf("HOST LACKS IT, NOT TESTED: %s is not installed: NOT COMPARED with it", args[0])
	}
}
