package vol

import (
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strings"
	"unicode/utf8"
)

// Nearest is the one of have that want was most likely meant to be: with the fewest
// letters wrong, missing, too many or exchanged, upper and lower case being the
// same. It is "" where none is near, which is up to a third of the letters.
func Nearest(want string, have iter.Seq[string]) string {
	best := ""
	folded := []rune(strings.ToLower(want))
	most := (len(folded) + 2) / 3
	for s := range have {
		if s == want || max(utf8.RuneCountInString(s)-len(folded), len(folded)-utf8.RuneCountInString(s)) > most {
			continue
		}
		if n := distance(folded, []rune(strings.ToLower(s)), most); n <= most {
			best, most = s, n-1
		}
	}
	return best
}

// distance is how many letters are to be changed, put in, left out or exchanged with
// their neighbour to make b of a; more than most where it is more than that.
func distance(a, b []rune, most int) int {
	rows := [3][]int{}
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i, x := range a {
		before, last, now := rows[0], rows[1], rows[2]
		now[0] = i + 1
		least := now[0]
		for j, y := range b {
			cost := 1
			if x == y {
				cost = 0
			}
			now[j+1] = min(last[j+1]+1, now[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x == b[j-1] && a[i-1] == y {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
			least = min(least, now[j+1])
		}
		if least > most {
			return least
		}
		rows[0], rows[1], rows[2] = last, now, before
	}
	return rows[1][len(b)]
}

// NoSuch is ErrRequest, and fs.ErrNotExist, for the path p of a file: the directory dir
// has none called name. Of names, those that it has, the nearest is suggested.
func NoSuch(p, dir, name string, names iter.Seq[string]) error {
	hint := ""
	others := func(yield func(string) bool) {
		names(func(s string) bool { return s == "." || s == ".." || yield(s) })
	}
	if near := Nearest(name, others); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	return Saying(fmt.Sprintf("%s: %s: there is no %q in %s%s", ErrRequest, path.Clean("/"+strings.TrimPrefix(p, "::")), name, dir, hint), ErrRequest, fs.ErrNotExist)
}

// NoNames is for NoSuch where nobody knows what else there is.
func NoNames(func(string) bool) {}
