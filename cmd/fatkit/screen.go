package main

import (
	"os"

	"golang.org/x/term"
)

// leastColumns is the narrowest terminal that is written for.
const leastColumns = 40

// columnsOf is how wide the terminal is that v is; 0 where it is none or does not
// say.
func columnsOf(v any) int {
	f, ok := v.(*os.File)
	if !ok || !isTerminal(v) {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil || w <= 0 {
		return 0
	}
	return max(w, leastColumns)
}
