package exfat

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// injury is one way to break a lab, and what must come of it.
type injury struct {
	name  string   // if there are several of the slug
	slug  string   // the finding that it must show as
	also  []string // other warnings and errors that it shows as
	kinds string   // labs that it can be done to; all where empty
	fix   string   // the repair to choose; "" where the first one is meant
	hit   func(l *lab) spot
	gone  []string // files that it, or its repair, takes or changes
	stays bool     // no repair: it is found again
	// peer says why fsck.exfat may have something to say of the repaired volume.
	peer string
	then func(l *lab, now *reader) // what else to prove of the result
}

// spot is where a finding must be; what is zero is not looked at.
type spot struct {
	path    string
	cluster uint32
	off     int64
}

func (d *injury) title() string {
	return strings.Join(strings.Fields(d.slug+" "+d.name+" "+d.fix), " ")
}

func (d *injury) labs() []string {
	if d.kinds == "" {
		return strings.Fields(allKinds)
	}
	return strings.Fields(d.kinds)
}

// peersLab is the one of its labs that fsck.exfat is asked about: to start it
// takes longer than all of ours.
func (d *injury) peersLab() string {
	ls := d.labs()
	return ls[len(d.title())%len(ls)]
}

// injuries are all of them.
func injuries() []injury {
	return slices.Concat(bootInjuries(), fatalInjuries(), specialInjuries(), chainInjuries(), linkInjuries(), spaceInjuries(),
		setInjuries(), streamInjuries(), dirInjuries(), nameInjuries())
}

// eachInjury runs fn for every injury on every lab that it is for.
func eachInjury(t *testing.T, fn func(t *testing.T, d *injury, l *lab)) {
	labs := map[string]*lab{}
	for _, kind := range strings.Fields(allKinds + " big") {
		labs[kind] = newLab(t, kind)
	}
	all := injuries()
	for i := range all {
		d := &all[i]
		t.Run(d.title(), func(t *testing.T) {
			for _, kind := range d.labs() {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					fn(t, d, labs[kind].clone(t))
				})
			}
		})
	}
}

// TestCatalogueIsReached holds the catalogue against the injuries: each row has
// one, and each repair of each row.
func TestCatalogueIsReached(t *testing.T) {
	var all []voltest.Damage
	for _, d := range injuries() {
		all = append(all, voltest.Damage{Title: d.title(), Slug: d.slug, Fix: d.fix, Stays: d.stays})
	}
	voltest.Reached(t, Problems(), all)
}

// fsck runs the check; a decider makes it repair.
func fsck(t testing.TB, d dev.Device, decide vol.Decider) *vol.Result {
	t.Helper()
	res, err := vol.Fsck(context.Background(), d, Driver(), vol.CheckOptions{}, decide, nil)
	must(t, err)
	return res
}

// TestInjury reports: each injury is found, at its place, as what it is and as
// nothing else, and finding it changes nothing.
func TestInjury(t *testing.T) {
	eachInjury(t, func(t *testing.T, d *injury, l *lab) {
		want := d.hit(l)
		before := voltest.HashOf(t, l.m)
		l.m.SetReadOnly(true)
		res := fsck(t, l.m, nil)
		if voltest.HashOf(t, l.m) != before {
			t.Fatal("the check changed the image")
		}
		found := false
		for _, o := range res.Outcomes {
			if o.Slug == d.slug && want.fits(o.Loc) {
				found = true
			} else if o.Severity > vol.SevInfo && o.Slug != d.slug && o.Slug != "percent-in-use" && !slices.Contains(d.also, o.Slug) {
				t.Errorf("also found: %s", line(o))
			}
		}
		if !found {
			t.Errorf("%s is not found at %+v", d.slug, want)
			report(t, res)
		}
	})
}

func (s spot) fits(l vol.Location) bool {
	return (s.path == "" || s.path == l.Path) && (s.cluster == 0 || s.cluster == l.Cluster) && (s.off == 0 || s.off == l.Range.Off)
}

func line(o vol.Outcome) string { return voltest.Line(o) }

func report(t testing.TB, res *vol.Result) {
	t.Helper()
	voltest.Log(t, res)
}

func choose(slug, fix string) vol.Decider { return voltest.Choose(slug, fix) }

// TestInjuryRepaired chooses the repair that each injury is for: after one run
// there is nothing left that can be mended, files that were not hit hold what
// they held, and fsck.exfat agrees.
func TestInjuryRepaired(t *testing.T) {
	eachInjury(t, func(t *testing.T, d *injury, l *lab) {
		d.hit(l)
		tx := dev.Begin(l.m)
		res := fsck(t, tx, choose(d.slug, d.fix))
		if res.Unproven != nil {
			report(t, res)
			t.Fatalf("unproven: %v", res.Unproven)
		}
		if !d.stays && !mendedBy(res, d) {
			t.Errorf("%s was not repaired by %q", d.slug, d.fix)
			report(t, res)
		}
		commit(t, tx)
		for _, o := range fsck(t, l.m, voltest.Always).Outcomes {
			if o.Severity > vol.SevInfo && !(d.stays && (o.Slug == d.slug || slices.Contains(d.also, o.Slug))) {
				t.Errorf("after the repair: %s", line(o))
			}
			if o.Repaired != nil {
				t.Errorf("repaired in a second run: %s", line(o))
			}
		}
		now, err := newReader(l.m)
		if err != nil {
			if !d.stays {
				t.Fatal(err)
			}
			return
		}
		l.compare(t, now.files(), d.gone)
		if d.then != nil {
			d.then(l, now)
		}
		if t.Failed() {
			report(t, res)
		} else if d.peer == "" && !d.stays && l.kind == d.peersLab() {
			peerSilent(t, l.forPeer(t).m)
		}
	})
}

// mendedBy reports whether a finding of the slug was mended as d wants.
func mendedBy(res *vol.Result, d *injury) bool { return voltest.Mended(res, d.slug, d.fix) }

// compare holds what there is against what was planted, but for the files gone.
func (l *lab) compare(t *testing.T, got map[string]string, gone []string) {
	t.Helper()
	voltest.SameFiles(t, got, l.known, gone)
}

// peerSilent runs fsck.exfat -n, which may count files but not complain.
func peerSilent(t testing.TB, d dev.Device) {
	t.Helper()
	out, err := exec.Command(voltest.Peer(t, "fsck.exfat"), "-n", voltest.Saved(t, d)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), ": clean.") || strings.Contains(string(out), "ERROR") {
		t.Errorf("fsck.exfat: %v\n%s", err, out)
	}
}

// TestInjuryLossless: see voltest.RepairsLossless.
func TestInjuryLossless(t *testing.T) {
	eachInjury(t, func(t *testing.T, d *injury, l *lab) {
		d.hit(l)
		voltest.RepairsLossless(t, l.m, Driver(), l.known, func() (voltest.Reading, error) {
			r, err := newReader(l.m)
			if err != nil {
				return voltest.Reading{}, err
			}
			return voltest.Reading{Files: r.files(), Holds: r.holds}, nil
		})
	})
}

// fsckAll is -y, which must leave a volume that is clean.
func fsckAll(t testing.TB, m *dev.Mem) *vol.Result {
	t.Helper()
	return fsckWith(t, m, voltest.Always)
}

// fsckWith is fsckAll with another decider.
func fsckWith(t testing.TB, m *dev.Mem, decide vol.Decider) *vol.Result {
	t.Helper()
	tx := dev.Begin(m)
	res := fsck(t, tx, decide)
	if res.Unproven != nil {
		report(t, res)
		t.Fatalf("unproven: %v", res.Unproven)
	}
	commit(t, tx)
	for _, o := range fsck(t, m, nil).Outcomes {
		if o.Severity > vol.SevInfo {
			t.Errorf("after the repair: %s", line(o))
		}
	}
	return res
}
