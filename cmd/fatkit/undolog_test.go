package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
)

func TestUndoTakesAKeptRunBack(t *testing.T) {
	f := newFake(t, pSafe)
	before := f.read()
	f.run("check", "-y", "--keep-undo", "IMAGE").want(t, 1, "fatkit undo")
	if bytes.Equal(before, f.read()) {
		t.Fatal("nothing was repaired")
	}
	// It is in the way of the next run that writes, and of no other.
	f.run("check", "IMAGE").want(t, 0)
	f.run("check", "-y", "IMAGE").want(t, 0)
	f.run("zero", "IMAGE", "a").want(t, 4, "kept undo log")
	f.run("format", "-t", "fake", "-f", "IMAGE").want(t, 4, "kept undo log")
	f.run("prealloc", "-l", "1", "IMAGE", "a").want(t, 4, "kept undo log")
	f.run("undo", "-v", "IMAGE").want(t, 0, "taken back: fatkit check", "bytes restored")
	if !bytes.Equal(before, f.read()) {
		t.Error("not as before")
	}
	f.run("undo", "IMAGE").want(t, 4, "nothing to undo")
	f.run("undo", "--undo", "IMAGE.x", "IMAGE").want(t, 8, "no such file")
}

func TestUndoElsewhere(t *testing.T) {
	f := newFake(t, pSafe)
	before := f.read()
	f.run("check", "-y", "--keep-undo", "--undo", "IMAGE.log", "IMAGE").want(t, 1)
	f.run("undo", "--json", "--undo", "IMAGE.log", "IMAGE").want(t, 0, `"schema":"fatkit.undo/1"`, `"state":"finished"`, `"label":"fatkit check"`)
	if !bytes.Equal(before, f.read()) {
		t.Error("not as before")
	}
}

// TestUndoElsewhereAfterCut: that a command has its log elsewhere does not make it
// blind to a run that was cut short: that is taken back before anything is written,
// not after.
func TestUndoElsewhereAfterCut(t *testing.T) {
	for _, command := range [][]string{
		{"check", "-y", "--undo", "IMAGE.log", "IMAGE"},
		{"prealloc", "--create", "-l", "1K", "--undo", "IMAGE.log", "IMAGE", "a"},
		{"zero", "-l", "512", "--undo", "IMAGE.log", "IMAGE", "a"},
		{"format", "-t", "fake", "-f", "--undo", "IMAGE.log", "IMAGE"},
	} {
		f := newFake(t, pSafe)
		f.interrupted()
		f.run(command...).want(t, anyCode, "restoring the state before it")
		if _, err := os.Stat(f.image + undoSuffix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the log is still there (%v)", command[0], err)
		}
	}
	f := newFake(t, pSafe)
	f.interrupted()
	f.run("check", "--undo", "IMAGE.log", "IMAGE").want(t, 16)
	f.run("prealloc", "--dry-run", "-l", "1K", "--undo", "IMAGE.log", "IMAGE", "a").want(t, anyCode, "was interrupted while it wrote")
}

// TestUndoAfterOthers: what a run left half done is not restored over what others
// wrote since, unless it is asked for by name.
func TestUndoAfterOthers(t *testing.T) {
	f := newFake(t, pSafe)
	before := f.interrupted()
	b := f.read()
	for i := range b {
		if b[i] != before[i] {
			b[i] ^= 0x5A // neither old nor new
			break
		}
	}
	f.write(f.image, b)
	for _, command := range []string{"check -y IMAGE", "prealloc --create -l 1K IMAGE a", "zero -l 512 IMAGE a", "undo IMAGE"} {
		f.run(strings.Fields(command)...).want(t, 8, "changed since")
	}
	f.run("check", "IMAGE").want(t, anyCode, "undo --force")
	if !bytes.Equal(b, f.read()) {
		t.Fatal("it was written to")
	}
	f.run("undo", "--force", "IMAGE").want(t, 0, "taken back")
	if !bytes.Equal(before, f.read()) {
		t.Error("not as before")
	}
}

// TestOddUndoLogs: what stands where the log goes is never removed unless it is one.
func TestOddUndoLogs(t *testing.T) {
	f := newFake(t, pSafe)
	before := f.read()
	f.run("check", "-y", "--undo", "IMAGE", "IMAGE").want(t, 16, "the image itself")
	if err := os.Mkdir(f.image+undoSuffix, 0o700); err != nil {
		t.Fatal(err)
	}
	f.run("check", "-y", "IMAGE").want(t, 8, "no regular file") // 4 would be of the volume
	f.run("undo", "IMAGE").want(t, 4, "no regular file")
	if err := os.Remove(f.image + undoSuffix); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", f.image+undoSuffix); err != nil {
		needs.Lacks(t, "symbolic links: %v", err) // on Windows they take a privilege
	}
	f.run("prealloc", "--create", "-l", "1K", "IMAGE", "a").want(t, 4, "no regular file")
	if !bytes.Equal(before, f.read()) {
		t.Error("it was written to")
	}
}

// interrupted makes the log of a finished run one of a run that was cut short,
// by taking its mark away.
func (f *fake) interrupted() []byte {
	f.t.Helper()
	before := f.read()
	f.run("check", "-y", "--keep-undo", "IMAGE").want(f.t, 1)
	log, err := os.ReadFile(f.image + undoSuffix)
	if err != nil {
		f.t.Fatal(err)
	}
	clear(log[512:1024])
	f.write(f.image+undoSuffix, log)
	return before
}

func TestInterruptedRun(t *testing.T) {
	f := newFake(t, pSafe)
	before := f.interrupted()
	after := f.read()
	for _, reader := range []string{"check", "info", "mount-scan"} {
		f.run(reader, "IMAGE").want(t, 0, "was interrupted while it wrote", "fatkit undo")
	}
	f.run("check", "-y", "--dry-run", "IMAGE").want(t, 0, "was interrupted")
	if !bytes.Equal(after, f.read()) {
		t.Fatal("a reader has written")
	}
	f.run("undo", "IMAGE").want(t, 0, "taken back")
	if !bytes.Equal(before, f.read()) {
		t.Error("not as before")
	}
}

func TestWritersRestoreFirst(t *testing.T) {
	for _, args := range []string{"check -y IMAGE", "zero IMAGE a", "prealloc -l 1 IMAGE a", "format -t fake -f IMAGE", "zero --free IMAGE"} {
		f := newFake(t, pSafe)
		f.interrupted()
		code := 0
		switch {
		case strings.HasPrefix(args, "check"):
			code = 1 // the error is there again
		case strings.Contains(args, "--free"):
			code = 4
		}
		f.run(strings.Fields(args)...).want(t, code, "restoring the state before it")
		if _, err := os.Stat(f.image + undoSuffix); err == nil {
			t.Errorf("%s: the log is left", args)
		}
	}
}

func TestBadUndoLogs(t *testing.T) {
	for name, log := range map[string][]byte{
		"damaged":    bytes.Repeat([]byte("x"), 5000),
		"incomplete": make([]byte, 5000),
		"empty":      {},
	} {
		f := newFake(t, pSafe)
		f.write(f.image+undoSuffix, log)
		f.run("check", "IMAGE").want(t, 4)
		if name == "damaged" {
			f.run("check", "-y", "IMAGE").want(t, 8, "damaged", "remove it", undoSuffix)
			f.run("undo", "IMAGE").want(t, 8, "damaged")
			continue
		}
		f.run("check", "-y", "IMAGE").want(t, 1, "had not begun to write")
	}
	f, other := newFake(t, pSafe), newFake(t, pSafe)
	b := other.read()
	b[fakeSize-1] = 1 // another image, where the log has nothing to say
	other.write(other.image, b)
	f.interrupted()
	log, err := os.ReadFile(f.image + undoSuffix)
	if err != nil {
		t.Fatal(err)
	}
	other.write(other.image+undoSuffix, log)
	other.run("check", "-y", "IMAGE").want(t, 8, "does not belong to this image")
	other.run("undo", "--json", "IMAGE").want(t, 8, `"kind":"undo"`)
}

// A log is removed in the end; what is none must never be.
func TestUndoLogThatIsNone(t *testing.T) {
	f := newFake(t, pSafe)
	f.write(f.image+".zeros", make([]byte, 8192)) // an unformatted image, or an unfinished log
	for args, code := range map[string]int{"check -y --undo IMAGE.zeros IMAGE": 8, "undo --undo IMAGE.zeros IMAGE": 4, "zero --undo IMAGE.zeros IMAGE a": 4} {
		f.run(strings.Fields(args)...).want(t, code, "or something else")
	}
	f.run("check", "-y", "--undo", "IMAGE", "IMAGE").want(t, 16, "the image itself")
	f.run("check", "-y", "--undo", filepath.Dir(f.image), "IMAGE").want(t, 16, "no regular file")
	for _, name := range []string{f.image, f.image + ".zeros"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	f.write(f.image+".new", nil) // as mktemp(1) leaves it
	f.run("check", "-y", "--undo", "IMAGE.new", "IMAGE").want(t, 1)
	if runtime.GOOS == "linux" {
		f.run("check", "-y", "--undo", "/dev/null", "IMAGE").want(t, 16, "no regular file")
	}
}

func TestLocked(t *testing.T) {
	f := newFake(t, pSafe)
	d, err := dev.OpenFile(f.image, dev.OpenOptions{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	f.run("check", "--json", "IMAGE").want(t, 8, `"kind":"locked"`)
	f.run("format", "-t", "fake", "-s", "1M", "-f", "IMAGE").want(t, 8, "in use by another fatkit")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	f.run("check", "IMAGE").want(t, 4)
}

func TestFormatBesideAnUndoLog(t *testing.T) {
	f := newFake(t, pSafe)
	f.interrupted()
	if err := os.Remove(f.image); err != nil {
		t.Fatal(err)
	}
	f.run("format", "-t", "fake", "-s", "1M", "IMAGE").want(t, 4, "is the undo log of an image of that name")
	if _, err := os.Stat(f.image); err == nil {
		t.Error("the image was made")
	}
}

func TestJournalPlace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "real.img")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	a := newApp(nil, nil, nil, nil)
	a.getenv = func(name string) string { return env[name] }
	place := func(path, explicit string) string {
		t.Helper()
		j, err := fileJournal(path, explicit)
		if err != nil {
			return err.Error()
		}
		return j.Name()
	}
	if got := place(file, ""); !strings.HasSuffix(got, "real.img.fatkit-undo") {
		t.Error(got)
	}
	if got := place(file, "else.where"); got != "else.where" {
		t.Error(got)
	}
	if runtime.GOOS != "windows" {
		link := filepath.Join(dir, "link.img")
		if err := os.Symlink(file, link); err != nil {
			t.Fatal(err)
		}
		if got := place(link, ""); filepath.Base(got) != "real.img.fatkit-undo" {
			t.Errorf("through a link: %s", got)
		}
	}
	switch _, err := a.deviceJournal(context.Background(), "/dev/no-such-sdb", dev.NewMem(1<<20)); {
	case os.Geteuid() == 0:
		if got := deviceLog(t, a, "/dev/no-such-sdb", dev.NewMem(1<<20)); filepath.Dir(got) != systemState {
			t.Errorf("root without a home: %s", got)
		}
	case err == nil || !strings.Contains(err.Error(), "--undo"):
		t.Errorf("no home: %v", err)
	}
	env["HOME"] = filepath.Join(dir, "home")
	if got := deviceLog(t, a, "/dev/no-such/sdb", dev.NewMem(1<<20)); !strings.HasPrefix(got, filepath.Join(dir, "home", ".local", "state", "fatkit", "no-such-sdb-")) {
		t.Error(got)
	}
	env["XDG_STATE_HOME"] = filepath.Join(dir, "state")
	if got := deviceLog(t, a, "/dev/no-such-sdb", dev.NewMem(1<<20)); filepath.Dir(got) != filepath.Join(dir, "state", "fatkit") {
		t.Error(got)
	}
}

func deviceLog(t *testing.T, a *app, path string, d dev.Device) string {
	t.Helper()
	j, err := a.deviceJournal(context.Background(), path, d)
	if err != nil {
		t.Fatal(err)
	}
	return j.Name()
}

// TestJournalOfACard: the log of a card is found again when the card comes back under
// another name, and is not taken for that of another card under its name.
func TestJournalOfACard(t *testing.T) {
	env := map[string]string{"XDG_STATE_HOME": filepath.Join(t.TempDir(), "a [b]*")}
	a := newApp(nil, nil, nil, nil)
	a.getenv = func(name string) string { return env[name] }
	card, other := dev.NewMem(1<<20), dev.NewMem(1<<20)
	if _, err := other.WriteAt([]byte("another"), 30_000); err != nil {
		t.Fatal(err)
	}
	j, err := a.deviceJournal(context.Background(), "/dev/sdb", card)
	if err != nil {
		t.Fatal(err)
	}
	txn := dev.Begin(card)
	for _, off := range []int64{100, 500_000} {
		if _, err := txn.WriteAt([]byte("new"), off); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := txn.Commit(t.Context(), dev.CommitOptions{Undo: j, Keep: true}); err != nil {
		t.Fatal(err)
	}
	if got := deviceLog(t, a, "/dev/sdc", card); got != j.Name() {
		t.Errorf("the log of sdb is %s, found for sdc is %s", j.Name(), got)
	}
	if got := deviceLog(t, a, "/dev/sdb", other); got == j.Name() {
		t.Error("another card has the same log")
	}
	dying := devtest.NewFault(card)
	dying.Where(func(o devtest.Op) bool { return o.Kind == devtest.Read && o.Off <= 500_000 && 500_000 < o.End() }, errors.New("input/output error"))
	if got := deviceLog(t, a, "/dev/sdd", dying); got != j.Name() {
		t.Errorf("the log of sdb is %s, found for it when a part of it cannot be read is %s", j.Name(), got)
	}
}
