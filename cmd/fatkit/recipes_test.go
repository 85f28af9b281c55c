package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// actionFile is what GitHub runs for "uses: fatkit/fatkit".
type actionFile struct {
	Inputs map[string]struct {
		Required bool   `json:"required"`
		Default  string `json:"default"`
	} `json:"inputs"`
	Outputs map[string]struct {
		Value string `json:"value"`
	} `json:"outputs"`
	Runs struct {
		Using string `json:"using"`
		Steps []step `json:"steps"`
	} `json:"runs"`
}

// step is one of an action or of a job.
type step struct {
	ID    string            `json:"id"`
	Uses  string            `json:"uses"`
	If    string            `json:"if"`
	Shell string            `json:"shell"`
	Run   string            `json:"run"`
	With  map[string]string `json:"with"`
	Env   map[string]string `json:"env"`
}

// readYAML reads a YAML text into v, as the library of Python has it.
func readYAML(t *testing.T, text string, v any) {
	t.Helper()
	voltest.PeerModule(t, "/usr/bin/python3", "python3-yaml", "-c", "import yaml")
	cmd := exec.Command("/usr/bin/python3", "-c", "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := json.Unmarshal(out, v); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// actionRun is what came of the action.
type actionRun struct {
	code          int
	log, exitCode string
}

// runAction runs the scripts of action.yml in dir as a runner would.
func runAction(t *testing.T, dir string, with map[string]string) actionRun {
	t.Helper()
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a actionFile
	readYAML(t, string(text), &a)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"github.action_path": root}
	for name, in := range a.Inputs {
		v, ok := with[name]
		if !ok && in.Required {
			t.Errorf("the input %s is not given", name)
		} else if !ok {
			v = in.Default
		}
		values["inputs."+name] = v
	}
	for name := range with {
		if _, ok := a.Inputs[name]; !ok {
			t.Errorf("the action has no input %s", name)
		}
	}
	temp := t.TempDir()
	output := filepath.Join(temp, "output")
	// The program that is tested is there already: what the action builds is it.
	linkProgram(t, filepath.Join(temp, "fatkit"))
	var run actionRun
	for _, s := range a.Runs.Steps {
		switch {
		case s.Uses == "actions/setup-go@v5" || strings.HasPrefix(s.Run, "go build "):
			continue
		case s.Uses != "" || s.Shell != "bash":
			t.Errorf("a step that cannot be run here: %+v", s)
			continue
		}
		cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", s.Run)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+output)
		for name, v := range s.Env {
			cmd.Env = append(cmd.Env, name+"="+filledIn(t, v, values))
		}
		out, _ := cmd.CombinedOutput() // the code tells
		run.code, run.log = cmd.ProcessState.ExitCode(), string(out)
	}
	out, err := os.ReadFile(output)
	if err != nil {
		t.Fatalf("%v\n%s", err, run.log)
	}
	run.exitCode = strings.TrimSpace(string(out))
	return run
}

// filledIn fills in an expression of the form ${{ name }}.
func filledIn(t *testing.T, text string, values map[string]string) string {
	t.Helper()
	name, ok := strings.CutPrefix(text, "${{ ")
	if !ok {
		return text
	}
	name, ok = strings.CutSuffix(name, " }}")
	v, known := values[name]
	if !ok || !known {
		t.Errorf("there is no value of %q", text)
	}
	return v
}

// linkProgram puts this very program at path.
func linkProgram(t *testing.T, path string) {
	t.Helper()
	self, err := exec.LookPath("fatkit") // testscript has put it there
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
}

func TestAction(t *testing.T) {
	voltest.Peer(t, "bash")
	dir := t.TempDir()
	buildImages(t, dir)
	odd := filepath.Join(dir, "a $(touch pwned) 'b.img")
	if err := os.Rename(filepath.Join(dir, "build", "fat.img"), odd); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad.img")
	if out, code := runNamed(t, "fatkit", "format", "-t", "fat", "-s", "64M", bad); code != exitOK {
		t.Fatal(out)
	}
	damageAt(t, bad, 5000)
	for _, c := range []struct {
		images string
		with   map[string]string
		code   int
		want   string
	}{
		{"build/*.img\n\n  a $(touch pwned) 'b.img  \n", nil, 0, "build/exfat.img: EXFAT"},
		{"**/*.img", nil, 4, "bad.img: error"},
		{"bad.img", map[string]string{"fail-on": "info", "report": "json"}, 4, `"fatkit.check/1"`},
		{"build/*.raw", nil, 8, "::error::nothing matches build/*.raw"},
		{"no.img", nil, 8, "no.img"},
		{" \n", nil, 16, "::error::no images"},
		{"bad.img", map[string]string{"fail-on": "nonsense"}, 16, "fail-on"},
		{"bad.img", map[string]string{"report": "nonsense"}, 16, "report"},
	} {
		with := map[string]string{"images": c.images}
		for k, v := range c.with {
			with[k] = v
		}
		run := runAction(t, dir, with)
		if run.code != c.code || run.exitCode != "exit-code="+strconv.Itoa(c.code) || !strings.Contains(run.log, c.want) {
			t.Errorf("%q %v: exit %d, output %q, want %d\n%s", c.images, c.with, run.code, run.exitCode, c.code, run.log)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a name was taken for a command")
	}
	run := runAction(t, dir, map[string]string{"images": "bad.img", "report": "json", "output": "report.json"})
	if b, err := os.ReadFile(filepath.Join(dir, "report.json")); err != nil || !bytes.Contains(b, []byte("FAT-0204")) || strings.Contains(run.log, "FAT-0204") {
		t.Errorf("output: %v\n%s\n%s", err, b, run.log)
	}
}

// TestActionNames: names out of an image are no commands to the runner, which takes a
// line that begins with "::", and "##[" wherever it stands, until it is told to stop.
func TestActionNames(t *testing.T) {
	voltest.Peer(t, "bash")
	dir := t.TempDir()
	image := filepath.Join(dir, "a.img")
	const name = "##[set-output name=exit-code]0"
	runNamed(t, "fatkit", "format", "-t", "fat16", "-s", "16M", image)
	if out, code := runNamed(t, "fatkit", "prealloc", "--create", "-l", "1K", image, name); code != exitOK {
		t.Fatal(out)
	}
	b, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("#\x00#\x00[\x00")) // in the first piece of the long name, which is the last before the entry
	damageAt(t, image, int64(at-1+32+30))           // the size
	for _, report := range []string{"text", "json", "github"} {
		run := runAction(t, dir, map[string]string{"images": "a.img", "report": report, "fail-on": "info"})
		stopped, seen := "", 0
		for line := range strings.Lines(run.log) {
			line = strings.TrimSpace(line)
			switch token, stops := strings.CutPrefix(line, "::stop-commands::"); {
			case stopped != "" && line == "::"+stopped+"::":
				stopped = ""
			case stopped == "" && stops:
				stopped = token
			case strings.Contains(line, "##["):
				seen++
				if stopped == "" && !(report == "github" && strings.HasPrefix(line, "::error file=a.img,title=FAT-")) {
					t.Errorf("%s: a command to the runner: %q", report, line)
				}
			}
		}
		if run.code != exitLeft || seen == 0 || stopped != "" {
			t.Errorf("%s: exit %d, %d names, stopped %q\n%s", report, run.code, seen, stopped, run.log)
		}
	}
}

// TestReadmeJobs runs the jobs of the README: our own action by action.yml, commands
// by a shell, and of others' actions what they are given must be there.
func TestReadmeJobs(t *testing.T) {
	jobs := 0
	for _, b := range blocks(t, "../../README.md") {
		if b.kind != "yaml" {
			continue
		}
		jobs++
		var steps []step
		readYAML(t, strings.Join(b.lines, "\n"), &steps)
		dir := t.TempDir()
		buildImages(t, dir)
		for _, s := range steps {
			switch {
			case strings.HasPrefix(s.Uses, "fatkit/fatkit@"):
				if run := runAction(t, dir, s.With); run.code != exitOK {
					t.Errorf("%v: exit %d\n%s", s.With, run.code, run.log)
				}
			case strings.HasPrefix(s.Uses, "github/codeql-action/upload-sarif@"):
				b, err := os.ReadFile(filepath.Join(dir, s.With["sarif_file"]))
				if err != nil || !json.Valid(b) || s.If == "" {
					t.Errorf("%v: %v", s, err)
				}
			case s.Uses == "actions/checkout@v4", s.Run == "make images":
			default:
				t.Errorf("a step that this test does not know: %+v", s)
			}
		}
	}
	if jobs == 0 {
		t.Error("the README has no job")
	}
}

// TestReadmeUnit: the unit of the README is one that systemd takes, and its command
// does what it is there for.
func TestReadmeUnit(t *testing.T) {
	var unit []string
	for _, b := range blocks(t, "../../README.md") {
		if b.kind == "ini" {
			unit = b.lines
		}
	}
	i := slices.IndexFunc(unit, func(l string) bool { return strings.HasPrefix(l, "ExecStart=") })
	if i < 0 || !slices.Contains(unit, "SuccessExitStatus=1") {
		t.Fatal("the README has no unit that runs fatkit and takes 1 for a success")
	}
	image := compatTarget(t, "fat!")
	line := strings.NewReplacer("ExecStart=/usr/bin/", "", "/dev/disk/by-label/CARD", image).Replace(unit[i])
	for _, want := range []int{exitCorrected, exitOK} {
		if out, code := runNamed(t, strings.Fields(line)...); code != want {
			t.Errorf("%s: exit %d, want %d\n%s", line, code, want, out)
		}
	}
	analyze := voltest.Peer(t, "systemd-analyze")
	self, err := exec.LookPath("fatkit")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "fatkit-card.service")
	text := strings.ReplaceAll(strings.Join(unit, "\n"), "/usr/bin/fatkit", self) + "\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
