package main

import (
	"strings"
	"testing"
)

// What is mistyped is asked about; what is not near to anything is not.
func TestDidYouMean(t *testing.T) {
	f := newFake(t)
	f.run("chekc", "IMAGE").want(t, exitUsage, `no command "chekc" (did you mean check?)`)
	f.run("check", "--fial-on", "info", "IMAGE").want(t, exitUsage, "(did you mean --fail-on?)")
	f.run("--vresion").want(t, exitUsage, "(did you mean --version?)")
	f.run("explain", "FAKE-00001").want(t, exitUsage, "(did you mean FAKE-0001?)")
	f.run("explain", "DISK-00001").want(t, exitUsage, "(did you mean DISK-0001?)")
	f.run("explain", "hopeles").want(t, exitUsage, "(did you mean hopeless?)")
	f.run("check", f.image[:len(f.image)-len("card.img")]+"crad.img").want(t, exitFailed, "(did you mean card.img?)")
	f.run("info", "--json", f.image[:len(f.image)-len("card.img")]+"card.mg:2").want(t, exitFailed, `(did you mean card.img:2?)`)
	for _, args := range [][]string{{"frobnicate"}, {"check", "--zzz", "IMAGE"}, {"explain", "x"}, {"check", "IMAGE.other/x"}, {"check", "/no/such/dir/card.img"}} {
		if o := f.run(args...); o.code == exitOK || len(o.err) == 0 {
			t.Errorf("%v: exit %d", args, o.code)
		} else if strings.Contains(o.err, "did you mean") {
			t.Errorf("%v: %s", args, o.err)
		}
	}
}

// What is not there is said once, and only an image that is not there is asked about.
func TestMissingOnce(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, typ := range []string{"fat16", "exfat", "f2fs"} {
		if out, code := runNamed(t, "fatkit", "format", "-q", "-f", "-t", typ, "-s", "64M", "card.img"); code != exitOK {
			t.Fatal(out)
		}
		for _, args := range []string{"ls card.img A/B", "cat card.img A/B", "map card.img A/B", "map --show A/B card.img", "rm card.img A/B", "mkdir card.img A/B",
			"prealloc -l 1 card.img A/B", "zero card.img A/B", "copy card.img::A/B x"} {
			out, code := runNamed(t, append([]string{"fatkit"}, strings.Fields(args)...)...)
			if code != exitLeft || strings.Contains(out, "not exist") || !strings.Contains(out, "A/B") {
				t.Errorf("%s: %s: exit %d: %s", typ, args, code, out)
			}
			if want := "fatkit: card.img: request cannot be met: /A/B: there is no \"A\" in /\n"; out != want {
				t.Errorf("%s: %s: %s", typ, args, out)
			}
			doc, _ := runNamed(t, append([]string{"fatkit", "--json"}, strings.Fields(args)...)...)
			if strings.HasPrefix(args, "cat") || strings.Contains(args, "--show") {
				continue // there are no documents of it
			}
			if !strings.Contains(doc, `"message":"request cannot be met: /A/B: there is no \"A\" in /"`) {
				t.Errorf("%s: %s: %s", typ, args, doc)
			}
		}
		if out, _ := runNamed(t, "fatkit", "ls", "card.img", "A*B"); out != "fatkit: card.img: request cannot be met: nothing matches \"A*B\"\n" {
			t.Errorf("%s: %s", typ, out)
		}
	}
	if out, code := runNamed(t, "fatkit", "format", "-t", "fat16", "-s", "16M", "-d", "nodir", "cart.img"); code != exitFailed || !strings.Contains(out, "nodir") || strings.Contains(out, "mean") {
		t.Errorf("exit %d: %s", code, out)
	}
	if out, code := runNamed(t, "fatkit", "undo", "--undo", "log", "card.img"); code != exitFailed || strings.Count(out, "open") != 1 {
		t.Errorf("exit %d: %s", code, out)
	}
}
