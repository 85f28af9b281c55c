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
	"runtime/debug"
	"syscall"
)

// gcPercent trades a little time for memory: a check holds a few large maps,
// beside which the garbage of half the heap is much.
const gcPercent = 50

func main() { os.Exit(start()) }

// start runs the program on the process's own arguments and files.
func start() int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
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

// outliveReader keeps the program alive when nobody reads its output any more, as in
// "| head": while one image is reported others are being written. That the report was
// lost shows in the exit code.
func outliveReader() { signal.Ignore(syscall.SIGPIPE) }

// run is the program: args[0] is its name, the result its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return newApp(drivers(), stdin, stdout, stderr).run(ctx, args)
}
