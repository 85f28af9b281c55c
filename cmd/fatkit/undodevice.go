package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
)

// deviceJournal is the undo log of the block device d, which is called path today.
// A card may come back under another name, and another card under its name: so a
// log is known by what it says of the device, not by what it is called.
func (a *app) deviceJournal(ctx context.Context, path string, d dev.Device) (dev.Journal, error) {
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	logs, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*"+undoSuffix))
	if err != nil {
		return nil, err
	}
	for _, name := range logs {
		j := dev.FileJournal(name)
		info, err := dev.InspectUndo(ctx, j, d)
		if cancelled(ctx) {
			return nil, err
		}
		switch info.State { // none where whose it is cannot be told, as it cannot be read
		case dev.UndoArmed, dev.UndoFinished, dev.UndoStale:
			return j, nil
		}
	}
	name, err := deviceLogName(path, d)
	return stateJournal{dev.FileJournal(filepath.Join(dir, name))}, err
}

// systemState is where the logs are of checks that the system runs at boot, with
// neither a user nor a home: [FHS] /var/lib is for the state of programs.
const systemState = "/var/lib/fatkit"

// stateDir is where the logs of block devices are.
func (a *app) stateDir() (string, error) {
	state := a.getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := a.getenv("HOME")
		if home == "" && os.Geteuid() == 0 {
			return systemState, nil
		}
		if home == "" {
			return "", usagef("neither XDG_STATE_HOME nor HOME is set, so there is no place for the undo log: name one with --undo")
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "fatkit"), nil
}

// escapeGlob makes a pattern of a name that matches nothing else.
func escapeGlob(name string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(name)
}

// deviceLogName is a name for a new log: that of the device, for people, and a hash
// of its size and its beginning, which keeps cards apart that share a reader.
func deviceLogName(path string, d dev.Device) (string, error) {
	first := make([]byte, min(d.Size(), 64<<10))
	if _, err := d.ReadAt(first, 0); err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", d.Size())
	h.Write(first)
	name := strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimPrefix(path, "/dev/"))
	return name + "-" + hex.EncodeToString(h.Sum(nil)[:6]) + undoSuffix, nil
}

// stateJournal is an undo log in a directory that may have to be made first.
type stateJournal struct{ dev.Journal }

// Create makes the directory, for its owner only, and the log.
func (j stateJournal) Create() (dev.LogFile, error) {
	if err := os.MkdirAll(filepath.Dir(j.Name()), 0o700); err != nil {
		return nil, err
	}
	return j.Journal.Create()
}
