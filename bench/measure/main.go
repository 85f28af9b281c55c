// Command measure times commands in turn and prints, as rows of a Markdown
// table, the median, the range, the peak memory, and how each compares with
// the first.
//
//	measure -title "check, 200 000 files" -n 5 "fatkit=fatkit check a.img" "fsck.fat=fsck.fat -n a.img"
//
// Each command is one for sh; what it prints is thrown away. Taking the tools in
// turn lets what else the machine does hit them alike.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fatkit/fatkit/bench/gen"
)

func main() { gen.Main("measure", run) }

// tool is one command and what its runs took.
type tool struct {
	name, command string
	times         []time.Duration
	peak          int64 // KiB
	failed        string
}

type options struct {
	runs    int
	prepare string
	ok      []string
	limit   time.Duration
}

func run() error {
	title := flag.String("title", "", "first column")
	o := options{}
	flag.IntVar(&o.runs, "n", 5, "runs of each")
	flag.StringVar(&o.prepare, "prepare", "", "command before each run, not timed")
	flag.DurationVar(&o.limit, "limit", 10*time.Minute, "longest run")
	ok := flag.String("ok", "0", "exit codes that are no failure, with commas between")
	flag.Parse()
	o.ok = strings.Split(*ok, ",")
	var tools []*tool
	for _, arg := range flag.Args() {
		name, command, found := strings.Cut(arg, "=")
		if !found {
			return fmt.Errorf("%q is not NAME=COMMAND", arg)
		}
		tools = append(tools, &tool{name: name, command: command})
	}
	if len(tools) == 0 {
		return errors.New("no NAME=COMMAND")
	}
	for range o.runs {
		for _, t := range tools {
			if t.failed != "" {
				continue
			}
			if err := o.once(t); err != nil {
				return err
			}
		}
	}
	for _, t := range tools {
		fmt.Printf("| %s | %s | %s |\n", *title, t.name, t.row(tools[0]))
	}
	return nil
}

// once runs a tool; a run that fails is a result, too.
func (o *options) once(t *tool) error {
	if o.prepare != "" {
		if out, err := exec.Command("sh", "-c", o.prepare).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", o.prepare, err, out)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+t.command)
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.failed = "more than " + o.limit.String()
	case err == nil && slices.Contains(o.ok, "0"):
	case errors.As(err, &exit) && exit.ExitCode() >= 0 && slices.Contains(o.ok, strconv.Itoa(exit.ExitCode())):
	case errors.As(err, &exit):
		t.failed = fmt.Sprintf("%v after %.2f s", exit, took.Seconds())
	case err != nil:
		return err
	default:
		t.failed = "exit status 0"
	}
	t.times = append(t.times, took)
	t.peak = max(t.peak, peak(cmd.ProcessState))
	return nil
}

// row is median, range, peak and ratio.
func (t *tool) row(first *tool) string {
	memory := fmt.Sprintf("%.0f", float64(t.peak)/1024)
	if t.failed != "" {
		return fmt.Sprintf("%s | | %s |", t.failed, memory)
	}
	ratio := ""
	if t != first && first.failed == "" {
		ratio = fmt.Sprintf("%.1f", float64(t.median())/float64(first.median()))
	}
	return fmt.Sprintf("%.3f | %.3f–%.3f | %s | %s", t.median().Seconds(), slices.Min(t.times).Seconds(), slices.Max(t.times).Seconds(), memory, ratio)
}

func (t *tool) median() time.Duration {
	s := slices.Sorted(slices.Values(t.times))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}
