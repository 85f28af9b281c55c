// Command fatkit formats, checks, repairs, preallocates in and zeroes FAT, exFAT and
// F2FS volumes in image files and on block devices.
//
// This package is what its users meet: flags, printing and exit codes. What a
// command does to a volume is decided here, in one file a subcommand; how, in
// the packages under pkg.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

// Garbage may take up gcPercent of what is in use and of ballast, bytes that are
// never touched and so take no memory: where little is in use that is 7 MiB, and not
// a collection for each two; beside the lists and maps of millions of files, which are
// in use to the end, it is a seventh.
const (
	gcPercent = 15
	ballast   = 48 << 20
)

func main() { os.Exit(start()) }

// start runs the program on the process's own arguments and files.
func start() int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
		defer runtime.KeepAlive(make([]byte, ballast))
	}
	// The signals stay caught to the end: a second Ctrl-C must not kill the
	// program while it puts the image back as it was.
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	return run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
}

// stopSignals are those that ask us to stop. A hangup that is ignored, as
// nohup(1) arranges, stays ignored.
func stopSignals() []os.Signal {
	s := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		s = append(s, syscall.SIGHUP)
	}
	return s
}

// outliveReader keeps the program alive when nobody reads any more what it says, as in
// "| head": it is writing to an image, or to one while another is reported. That the
// report was lost shows in the exit code.
func outliveReader() { signal.Ignore(syscall.SIGPIPE) }

// run is the program: args[0] is its name, the result its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return newApp(drivers(), stdin, stdout, stderr).run(ctx, args)
}
