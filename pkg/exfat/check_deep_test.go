package exfat

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fatkit/fatkit/pkg/vol"
)

// askedCtx counts how often somebody looks whether it has ended.
type askedCtx struct {
	context.Context
	n *int
}

func (c askedCtx) Err() error {
	*c.n++
	return c.Context.Err()
}

// TestDeepTree: a tree of thousands of levels, of which there is something to say
// in each, is checked at once, with paths that can be printed.
func TestDeepTree(t *testing.T) {
	l := newLab(t, "512")
	const levels, name = 3000, 150
	cs := l.run(levels)
	long := strings.Repeat("ä", name-1)
	top := l.run(1)
	l.own(top, noFat)
	l.redo("/EMPTY.DAT", func(b []byte) {
		copy(b, newSetOf("/EMPTY.DAT", 0x10, noFat, top, uint64(l.cluster), uint64(l.cluster)))
	})
	for i, c := range cs {
		set := sealed(newSetOf("/"+long+string(rune('A'+i%26)), 0x10, noFat, []uint32{c}, uint64(l.cluster), 0))
		if l.bit(c, true); i == 0 {
			l.put(l.offset(top[0]), set...)
		} else {
			l.put(l.offset(cs[i-1]), set...)
		}
	}
	n := 0
	for _, o := range fsck(t, l.m, nil).Outcomes {
		if p := o.Loc.Path; o.Slug == "directory-valid" {
			if n++; len(p) > vol.MaxPath+2*name+10 || !utf8.ValidString(p) || !strings.HasSuffix(p, long+string(rune('A'+(n-1)%26))) {
				t.Fatalf("%d bytes of path: %.200s", len(p), p)
			}
		}
	}
	if n != levels {
		t.Errorf("%d directories were found, planted %d", n, levels)
	}
}

// TestCheckCanEnd: whoever ends a check need not wait for all that there is to say.
func TestCheckCanEnd(t *testing.T) {
	l := newLab(t, "32k")
	const files = 200
	for i := range files {
		set := newSetOf("/F"+string(rune('A'+i/26))+string(rune('A'+i%26)), 0x20, 0, nil, 0, 0)
		set[10], set[11] = 0, 0 // a day that is none
		l.append(l.node("/SUB"), sealed(set))
	}
	n := 0
	_, err := vol.Fsck(askedCtx{context.Background(), &n}, l.m, Driver(), vol.CheckOptions{}, nil, nil)
	must(t, err)
	if n < 2*files { // once when it is reported, once when it is decided on
		t.Errorf("asked %d times for %d findings", n, files)
	}
}
