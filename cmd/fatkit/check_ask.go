package main

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// maxTries is how often a question is asked again after an answer that is none.
const maxTries = 3

// asker asks a person about each repair, of one volume at a time.
type asker struct {
	app   *app
	meter *meter
	name  string // of the volume
	base  int64  // where it begins in the image
	lines *bufio.Reader
	all   bool // yes to all that follow
	done  bool // no to all that follow
}

// decide asks about one finding. At the end of the input, or when the run is
// cancelled, the answer is no from then on.
func (k *asker) decide(ctx context.Context, f *vol.Finding, offered []vol.Repair) int {
	if k.done || k.all {
		return k.sweep(f)
	}
	k.meter.clear()
	k.show(f, offered)
	for range maxTries {
		k.app.tell("Repair? [%s] ", k.choices(offered))
		line, ok := k.read(ctx)
		if !ok {
			k.done = true
			k.app.tell("\n")
			return -1
		}
		if i, ok := k.answer(line, offered); ok {
			return i
		}
	}
	return -1
}

// sweep is the answer to what follows "all" or "quit".
func (k *asker) sweep(f *vol.Finding) int {
	if k.done || f.Severity < vol.SevWarning {
		return -1
	}
	return 0
}

func (k *asker) show(f *vol.Finding, offered []vol.Repair) {
	d := newFindingDoc(&vol.Outcome{Finding: f, Mendable: true}, k.base)
	k.app.tell("\n%s\n", k.app.fit(fmt.Sprintf("%s: %s %s %s%s", printable(k.name), d.Severity, d.Code, where(d.locationDoc), printable(d.Message))))
	for i, r := range offered {
		loss := lossWords(r.Loss.String())
		if loss == "" {
			loss = losesNothing
		}
		k.app.tell("  %d  %s%s\n", i+1, r.Title, loss)
	}
}

func (k *asker) choices(offered []vol.Repair) string {
	numbers := "y"
	if len(offered) > 1 {
		numbers = fmt.Sprintf("1-%d", len(offered))
	}
	return numbers + ", n = no, a = the first way for all that follow, q = no more questions"
}

// answer understands a line; ok is false where it is none of the choices.
func (k *asker) answer(line string, offered []vol.Repair) (i int, ok bool) {
	switch word := strings.ToLower(strings.TrimSpace(line)); word {
	case "n", "no":
		return -1, true
	case "y", "yes":
		return 0, true
	case "a", "all":
		k.all = true
		return 0, true
	case "q", "quit":
		k.done = true
		return -1, true
	default:
		n, err := strconv.Atoi(word)
		return n - 1, err == nil && n >= 1 && n <= len(offered)
	}
}

// read waits for a line, or for the run to be cancelled. A reader that is left
// waiting ends with the program.
func (k *asker) read(ctx context.Context) (string, bool) {
	if k.lines == nil {
		k.lines = bufio.NewReader(k.app.in)
	}
	s, err := dev.Await(ctx, func() (string, error) { return k.lines.ReadString('\n') }, nil)
	return s, err == nil
}
