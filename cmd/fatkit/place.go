package main

import (
	"strconv"
	"strings"
)

// place is what an IMAGE argument names: a file or device, and maybe a part.
type place struct {
	arg  string // as the user wrote it
	path string // the file or device
	part int    // number of a partition; 0: none named
	name string // name of a partition of a GPT; "": none named
	off  int64  // byte where the volume starts; -1: none named
}

// whole reports whether no part is named.
func (p place) whole() bool { return !p.partition() && p.off < 0 }

// partition reports whether a partition is named.
func (p place) partition() bool { return p.part != 0 || p.name != "" }

// parsePlace takes an IMAGE argument apart: card.img, card.img:2 or
// card.img@@1M. A file that really has the whole argument for its name wins;
// exists tells.
func parsePlace(arg string, exists func(string) bool) (place, error) {
	p := place{arg: arg, path: arg, off: -1}
	switch {
	case arg == "":
		return p, usagef("an image has an empty name")
	case strings.ContainsRune(arg, 0):
		return p, usagef("%q: a file name cannot hold a zero byte", arg)
	case exists(arg):
		return p, nil
	}
	if i := strings.LastIndex(arg, "@@"); i > 0 {
		off, err := parseOffset(arg[i+2:])
		if err != nil {
			return p, usagef("%q: what follows @@ is no offset such as 1M or 2048S", arg)
		}
		p.path, p.off = arg[:i], off
		return p, nil
	}
	i := strings.LastIndexByte(arg, ':')
	if i <= 0 || strings.Trim(arg[i+1:], "0123456789") != "" || i+1 == len(arg) {
		return p, nil
	}
	n, err := strconv.Atoi(arg[i+1:])
	if err != nil || n == 0 {
		return p, usagef("%q: partitions are numbered from 1", arg)
	}
	p.path, p.part = arg[:i], n
	return p, nil
}
