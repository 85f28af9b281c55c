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
