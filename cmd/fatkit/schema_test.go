package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaDir = "../../docs/schema"

// closed makes a schema refuse keys that it does not name: what is printed must be
// written down. Those who read may get more one day, so the files do not say so.
func closed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = closed(v[k])
		}
		if _, ok := v["properties"].(map[string]any); ok && v["type"] == "object" {
			v["additionalProperties"] = false
		}
	case []any:
		for i := range v {
			v[i] = closed(v[i])
		}
	}
	return v
}

// schemas are those of docs/schema, by the value of the key schema.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(schemaDir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	all := map[string]*jsonschema.Schema{}
	for _, file := range files {
		c := jsonschema.NewCompiler()
		c.DefaultDraft(jsonschema.Draft2020)
		doc := readJSONFile(t, file)
		if doc.(map[string]any)["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("%s: it does not say which draft it is of", file)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if err := c.AddResource(name, closed(doc)); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile(name)
		if err != nil {
			t.Fatal(err)
		}
		all["fatkit."+name+"/1"] = s
	}
	return all
}

func readJSONFile(t *testing.T, file string) any {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return doc
}

// realRun runs the program with its own drivers, in the working directory.
func realRun(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, errw bytes.Buffer
	a := newApp(drivers(), strings.NewReader(""), &out, &errw)
	code := a.run(t.Context(), append([]string{"fatkit"}, args...))
	return outcome{code, out.String(), errw.String()}
}

// faultyDisk makes a disk in the working directory whose table and volumes have
// all sorts of faults, an image beside it that is cut short, and one that is fine.
func faultyDisk(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	realRun(t, "format", "-t", "fat16", "-s", "16M", "-L", "GOOD", "good.img").want(t, 0)
	realRun(t, "format", "-t", "fat16", "-s", "40M", "--table", "gpt", "-L", "CARD", "--partition-label", "Karte", "disk.img").want(t, 0)
	realRun(t, "prealloc", "--create", "-l", "100K", "disk.img", "A.BIN", "SUB/B.BIN").want(t, 0)
	if err := errors.Join(os.Mkdir("src", 0o755), os.WriteFile("short.img", []byte("x"), 0o644)); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile("disk.img", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for off, b := range map[int64]string{
		512 + 16:       "\x00\x00",         // checksum of the GPT
		1<<20 + 510:    "\x00\x00",         // signature of the boot sector
		1<<20 + 2048:   "\x00\x00\x00\x00", // the first FAT begins with something else
		1<<20 + 2048*2: "\xff",
	} {
		if _, err := f.WriteAt([]byte(b), off); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSchemas: what the commands print with --json is what docs/schema says, and
// every document of it is met.
func TestSchemas(t *testing.T) {
	all := schemas(t)
	met := map[string]int{}
	faultyDisk(t)
	for _, args := range []string{
		"format -t exfat -s 32M --table mbr --json new.img", "format -t f2fs -s 64M --json --dry-run dry.img",
		"check --json disk.img good.img none.img", "check --report jsonl disk.img good.img none.img",
		"check -y --dry-run --json disk.img", "check -y --dry-run --report jsonl disk.img", "check -y --json --keep-undo disk.img:1", "undo --json disk.img",
		"prealloc --json --create -l 64K good.img A.BIN", "prealloc --json --create -l 64K new.img B.BIN", "zero --json -l 4K good.img A.BIN", "zero --free --json good.img",
		"mount-scan --json disk.img good.img new.img none.img", "info --json disk.img", "info --json good.img",
		"explain --json", "explain --json DISK-0102", "version --json", "check --json", "undo --json good.img", "ls --json -R --extents good.img", "map --json good.img", "map --json good.img A.BIN",
		"mkdir --json good.img D", "rm --json good.img D", "copy --json short.img good.img::B.BIN", "format -t fat16 -s auto -d src --json filled.img", "prealloc --json -l 1G --create good.img C.BIN",
	} {
		got := realRun(t, strings.Fields(args)...)
		for line := range strings.Lines(got.out) {
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
			if err != nil {
				t.Fatalf("%s: %v: %s", args, err, line)
			}
			name, _ := doc.(map[string]any)["schema"].(string)
			s := all[name]
			if s == nil {
				t.Errorf("%s: there is no schema for %q", args, name)
				continue
			}
			met[name]++
			if err := s.Validate(doc); err != nil {
				t.Errorf("%s: %v\n%s", args, err, line)
			}
		}
	}
	for name := range all {
		if met[name] == 0 {
			t.Errorf("%s: nothing printed it", name)
		}
	}
}

// TestSchemasAreComplete: no source names a document that has no schema.
func TestSchemasAreComplete(t *testing.T) {
	all := schemas(t)
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"(fatkit\.[a-z0-9-]+/[0-9]+)"`).FindAllSubmatch(b, -1) {
			if all[string(m[1])] == nil && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s: %s has no schema", name, m[1])
			}
		}
	}
}

// sarifSchemaVariable names the schema of SARIF 2.1.0 that OASIS publishes, for
// TestSARIF to validate against it, too.
const sarifSchemaVariable = "FATKIT_SARIF_SCHEMA"

// TestSARIF: the report is a log of SARIF 2.1.0 by the rules of the standard for
// what is in it, which testdata/sarif.json holds, and stable.
func TestSARIF(t *testing.T) {
	subset := compile(t, filepath.Join("..", "..", "testdata", "sarif.json"))
	var whole *jsonschema.Schema
	if file := os.Getenv(sarifSchemaVariable); file != "" {
		whole = compile(t, file)
	} else {
		t.Logf("%s is not set: NOT VALIDATED against the published schema, only against our own of what we use", sarifSchemaVariable)
	}
	faultyDisk(t)
	first := realRun(t, "check", "--report", "sarif", "disk.img", "good.img", "none.img")
	first.want(t, exitLeft|exitFailed)
	for _, out := range []outcome{first, realRun(t, "check", "-y", "--dry-run", "--report", "sarif", "disk.img"),
		realRun(t, "check", "--report", "sarif", "good.img"), realRun(t, "check", "-y", "--report", "sarif", "disk.img")} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(out.out))
		if err != nil {
			t.Fatal(err)
		}
		if err := subset.Validate(doc); err != nil {
			t.Errorf("%v\n%s", err, out.out)
		}
		if whole != nil {
			if err := whole.Validate(doc); err != nil {
				t.Errorf("published schema: %v\n%s", err, out.out)
			}
		}
		checkSARIF(t, out)
	}
}

func compile(t *testing.T, file string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif", readJSONFile(t, file)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sarif")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkSARIF holds what a schema cannot say: indices lead to what they should, and
// no two results have the same fingerprint.
func checkSARIF(t *testing.T, out outcome) {
	t.Helper()
	var log sarifLog
	if err := json.Unmarshal([]byte(out.out), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if run.Invocations[0].ExitCode != out.code || run.Invocations[0].Successful != (out.code&exitFailed == 0) {
		t.Errorf("exit %d: %+v", out.code, run.Invocations)
	}
	prints := map[string]bool{}
	for _, r := range run.Results {
		if rule := run.Tool.Driver.Rules[r.RuleIndex]; rule.ID != r.RuleID || rule.Help.Text == "" {
			t.Errorf("%s: rule %+v", r.RuleID, rule)
		}
		uri := r.Locations[0].Physical.Artifact
		if run.Artifacts[uri.Index].Location.URI != uri.URI {
			t.Errorf("%s: artifact %+v", r.RuleID, uri)
		}
		if print := uri.URI + r.Fingerprints[fingerprint]; prints[print] {
			t.Errorf("%s: its fingerprint is there twice", r.RuleID)
		} else {
			prints[print] = true
		}
		if fixed := r.Properties["repaired"] != ""; fixed != (r.Level == "none") || fixed != (r.Kind == "informational") {
			t.Errorf("%s: level %s, kind %s, repaired %v", r.RuleID, r.Level, r.Kind, r.Properties["repaired"])
		}
	}
}

// TestSARIFFingerprints: a partition that is moved, with all that is in it, has
// the same findings.
func TestSARIFFingerprints(t *testing.T) {
	faultyDisk(t)
	prints := func() string {
		var log sarifLog
		if err := json.Unmarshal([]byte(realRun(t, "check", "--report", "sarif", "disk.img:1").out), &log); err != nil {
			t.Fatal(err)
		}
		s := ""
		for _, r := range log.Runs[0].Results {
			s += fmt.Sprintln(r.RuleID, r.Fingerprints[fingerprint])
		}
		return s
	}
	before := prints()
	b, err := os.ReadFile("disk.img")
	if err != nil {
		t.Fatal(err)
	}
	const mib = 1 << 20
	moved := make([]byte, len(b)+mib)
	copy(moved[2*mib:], b[mib:len(b)-mib])
	e := moved[446:]
	e[4], e[9], e[14] = 0x0E, 0x10, 1 // from sector 4096, 65536 of them
	e[13] = 0x30
	moved[510], moved[511] = 0x55, 0xAA
	if err := os.WriteFile("disk.img", moved, 0o644); err != nil {
		t.Fatal(err)
	}
	if after := prints(); after != before || before == "" {
		t.Errorf("before\n%safter\n%s", before, after)
	}
}

// TestFileURI: names that are none of a URI are escaped.
func TestFileURI(t *testing.T) {
	for path, want := range map[string]string{
		"card.img": "card.img", "out/a b.img": "out/a%20b.img", "c:d.img": "./c:d.img", "50%.img": "50%25.img", "ä#?.img": "%C3%A4%23%3F.img",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := fileURI(filepath.FromSlash("/x/y.img")); filepath.IsAbs("/x/y.img") && got != "file:///x/y.img" {
		t.Error(got)
	}
}
