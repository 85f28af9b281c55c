package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// completionDir is where the completions are kept.
const completionDir = "../../docs/completions"

// The completions in the tree are those that the program writes.
func TestCompletionsAreUpToDate(t *testing.T) {
	upToDate(t, completionDir, newApp(drivers(), strings.NewReader(""), io.Discard, io.Discard).completionFiles(), "docs completions docs/completions")
}

// A value that is offered is one that the flag takes, and nothing else is.
func TestCompletionChoices(t *testing.T) {
	a := newApp(drivers(), strings.NewReader(""), io.Discard, io.Discard)
	for _, c := range a.completionTree().commands {
		for _, f := range c.flags {
			if len(f.values) == 0 {
				continue
			}
			name := f.dashed()[len(f.dashed())-1]
			args := []string{"fatkit", c.name, name, "no-such-value", "/no/such/image"}
			if out, code := runNamed(t, args...); code != exitUsage && name != "--encoding" {
				t.Errorf("%s %s takes anything: exit %d: %s", c.name, name, code, out)
			}
			for _, v := range f.values {
				args[3] = v
				if out, _ := runNamed(t, args...); strings.Contains(out, name+" \""+v) || strings.Contains(out, "-t \""+v) {
					t.Errorf("%s %s %s: %s", c.name, name, v, out)
				}
			}
		}
	}
}

// completion is what is typed, and what a shell must offer for it.
type completion struct {
	line        string
	offers, not []string
}

func completionCases() []completion {
	return []completion{
		{"fatkit fo", []string{"format"}, []string{"check"}},
		{"fatkit ", []string{"format", "check", "mount-scan", "help"}, []string{"docs"}},
		{"fatkit check --fail", []string{"--fail-on"}, []string{"--force"}},
		{"fatkit check --fail-on w", []string{"warning"}, []string{"error"}},
		{"fatkit format -t f", []string{"fat32", "f2fs"}, []string{"exfat"}},
		{"fatkit format --type e", []string{"exfat"}, []string{"fat32"}},
		{"fatkit explain EXFAT-01", []string{"EXFAT-0112"}, []string{"FAT-0112"}},
		{"fatkit explain DISK-010", []string{"DISK-0105"}, []string{"DISK-0001"}},
		{"fatkit copy --links f", []string{"follow"}, []string{"skip"}},
		{"fatkit help u", []string{"undo"}, []string{"check"}},
		{"fatkit check ca", []string{"card.img"}, []string{"other.img"}},
		{"fatkit check --undo ca", []string{"card.img"}, []string{"other.img"}},
	}
}

// lines are the words that a shell offers, each in the beginning of a line.
func lines(out string) []string {
	var words []string
	for line := range strings.Lines(out) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		words = append(words, strings.TrimSpace(word))
	}
	return words
}

func TestCompletionBash(t *testing.T) {
	bash := voltest.Peer(t, "bash")
	runCompletions(t, bash, "fatkit.bash", lines, func(script, line string) []string {
		return []string{"--norc", "-c", `
			source "$1"
			line=$2
			COMP_LINE=$line COMP_POINT=${#line}
			read -ra COMP_WORDS <<<"$line"
			[[ $line != *" " ]] || COMP_WORDS+=("")
			COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			_fatkit fatkit
			printf '%s\n' "${COMPREPLY[@]}"
			complete -p fatkit >/dev/null`, "bash", script, line}
	})
}

func TestCompletionFish(t *testing.T) {
	fish := voltest.Peer(t, "fish")
	runCompletions(t, fish, "fatkit.fish", lines, func(script, line string) []string {
		return []string{"--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, script, line}
	})
}

// zshHook makes a zsh print what is added to the matches, and say when it is done.
const zshHook = `
finish() { print END }
comppostfuncs=(finish)
compadd() {
	local -a hits
	if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
		builtin compadd -A hits "$@"
		print -rl -- "" $hits
	fi
	builtin compadd "$@"
}
`

// TestCompletionZsh has a zsh of its own in a pseudo terminal complete: there is no
// other way to ask.
func TestCompletionZsh(t *testing.T) {
	zsh := voltest.Peer(t, "zsh")
	hook := filepath.Join(t.TempDir(), "hook")
	if err := os.WriteFile(hook, []byte(zshHook), 0o644); err != nil {
		t.Fatal(err)
	}
	listed := func(out string) []string {
		return strings.FieldsFunc(out, func(r rune) bool { return strings.ContainsRune(" \t\r\n\x1b", r) })
	}
	runCompletions(t, zsh, "_fatkit", listed, func(script, line string) []string {
		return []string{"-f", "-c", `
			zmodload zsh/zpty || exit 9
			zpty z zsh -f -i
			zpty -w z "PROMPT=; stty -echo; fpath=(${1:h} \$fpath); autoload -Uz compinit; compinit -D -u; source $3; print REA''DY"
			zpty -r z out '*READY*' || exit 8
			zpty -w -n z "$2"$'\t'
			zpty -r z out '*E''ND*' || exit 7
			print -r -- $out`, "zsh", script, line, hook}
	})
}

// runCompletions asks a shell for all cases, in a directory with two images.
func runCompletions(t *testing.T, shell, file string, offered func(string) []string, args func(script, line string) []string) {
	script, err := filepath.Abs(filepath.Join(completionDir, file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"card.img", "other.img"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range completionCases() {
		cmd := exec.Command(shell, args(script, c.line)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TERM=dumb", "HOME="+dir, "COLUMNS=200")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", c.line, err, out)
			continue
		}
		typed := string(out)
		words := offered(typed)
		for _, w := range c.offers {
			if !slices.Contains(words, w) {
				t.Errorf("%s: %q is not offered in\n%s", c.line, w, typed)
			}
		}
		for _, w := range c.not {
			if slices.Contains(words, w) {
				t.Errorf("%s: %q is offered in\n%s", c.line, w, typed)
			}
		}
	}
}
