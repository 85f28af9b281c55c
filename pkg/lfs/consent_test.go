package lfs

import (
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// follows: what an accepted repair settles besides, as it cannot be done without.
var follows = map[string]string{
	"sit-free/cp-totals": "the total was right, and the block was missing",
}

// TestConsent: a repair that is accepted mends nothing that was declined, though
// all go to one checkpoint: what was declined is found again.
func TestConsent(t *testing.T) {
	yes := "sit-free nat-reserved cp-totals cp-fsck log-place orphan-linked orphans dentry-twice inode-unreachable cp-tail log-alloc journal sit-count"
	if testing.Short() {
		yes = "nat-reserved log-place orphan-linked"
	}
	for _, slug := range strings.Fields(yes) {
		a := allDamagesOf(slug)[0]
		for _, b := range slices.Concat(packDamages(), tableDamages()) {
			relists := func(c damage) bool { return strings.HasPrefix(c.slug, "orphan") }
			if a.slug == b.slug || relists(a) && relists(b) || b.with != "" || b.slug == "ssa-type" {
				continue
			}
			l := newFew(t)
			if relists(b) { // these make a volume of their own
				b.do(l)
				a.do(l)
			} else {
				a.do(l)
				b.do(l)
			}
			l.consents(a.slug, b.slug, a.name+" / "+b.name)
		}
	}
}

// newFew is a small lab, which is made soon.
func newFew(t testing.TB) *lab {
	m := newBuilder(t, 64<<20, vol.FormatOptions{})
	m.few = true
	return fillLab(m)
}

// consents: with a yes to one row and a no to all others what was found of
// another row is found again.
func (l *lab) consents(yes, no, names string) {
	l.t.Helper()
	txn := dev.Begin(l.d)
	defer txn.Rollback()
	count := func(res *vol.Result) (n int) {
		for _, o := range res.Outcomes {
			if o.Slug == no {
				n++
			}
		}
		return n
	}
	had := count(checked(l.t, txn))
	decide := func(f *vol.Finding) int {
		if f.Slug != yes {
			return -1
		}
		return voltest.Always(f)
	}
	res, err := vol.Fsck(l.t.Context(), txn, Driver(), vol.CheckOptions{}, decide, nil)
	if err != nil || res.Unproven != nil {
		l.t.Errorf("yes to %s, no to %s (%s): %v, %+v", yes, no, names, err, res)
		return
	}
	for _, o := range res.Outcomes {
		if o.Repaired != nil && o.Slug != yes {
			l.t.Errorf("yes to %s: %s is repaired", yes, o.Slug)
		}
	}
	if has := count(checked(l.t, txn)); has < had && follows[yes+"/"+no] == "" {
		l.t.Errorf("yes to %s, no to %s (%s): of %d findings %d are left", yes, no, names, had, has)
	}
}

// TestOneLogDeclined: of several logs that write where they cannot each is moved
// or left as is said.
func TestOneLogDeclined(t *testing.T) {
	for declined := range 2 {
		l := newFew(t)
		l.put32(cpDataSegments+4*warmData, 1<<31)
		l.put32(cpNodeSegments+4*1, 1<<30)
		l.editPack(func(c checkpoint) { c.put32(cpFreeSegments, 3) }, cpFreeSegments, 4)
		txn := dev.Begin(l.d)
		asked := 0
		decide := func(f *vol.Finding) int {
			if f.Slug != "log-place" {
				return -1
			}
			asked++
			if asked-1 == declined {
				return -1
			}
			return 0
		}
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, decide, nil)
		if err != nil || res.Unproven != nil || !res.Repaired {
			t.Fatalf("%v, %+v", err, res)
		}
		if asked != 2 {
			t.Errorf("asked %d times", asked)
		}
		if got := strings.Join(slugs(checked(t, txn)), " "); got != "cp-free-segments log-place" {
			t.Errorf("left is %q: %q", got, found(res))
		}
		txn.Rollback()
	}
}
