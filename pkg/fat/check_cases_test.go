package fat

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

// damage is one way to break a lab, and what must come of it.
type damage struct {
	name  string   // if there are several of the slug
	slug  string   // the finding that it must show as
	also  []string // other warnings and errors that it shows as
	kinds string   // labs that it can be done to
	fix   string   // the repair to choose; "" where the first one is meant
	hit   func(l *lab) spot
	gone  []string // files that it, or its repair, takes or changes
	stays bool     // no repair: it is found again
	// peer says why fsck.fat may have something to say of the repaired volume.
	peer string
	then func(l *lab, now *reader) // what else to prove of the result
}

// spot is where a finding must be; what is zero is not looked at.
type spot struct {
	path    string
	cluster uint32
	off     int64
}

func (d *damage) title() string {
	return strings.Join(strings.Fields(d.slug+" "+d.name+" "+d.fix), " ")
}

// damages are all of them.
func damages() []damage {
	return slices.Concat(bootDamages(), fatalDamages(), infoDamages(), tableDamages(), chainDamages(), linkDamages(),
		lostDamages(), dirDamages(), labelDamages(), longDamages(), shortDamages())
}

// eachDamage runs fn for every damage on every lab that it is for.
func eachDamage(t *testing.T, fn func(t *testing.T, d *damage, l *lab)) {
	labs := map[string]*lab{}
	for _, kind := range strings.Fields(allKinds) {
		labs[kind] = newLab(t, kind)
	}
	all := damages()
	for i := range all {
		d := &all[i]
		t.Run(d.title(), func(t *testing.T) {
			for _, kind := range strings.Fields(d.kinds) {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					fn(t, d, labs[kind].clone(t))
				})
			}
		})
	}
}

// TestCatalogueIsReached holds the catalogue against the damages: each row has
// one, and each repair of each row.
func TestCatalogueIsReached(t *testing.T) {
	var all []voltest.Damage
	for _, d := range damages() {
		all = append(all, voltest.Damage{Title: d.title(), Slug: d.slug, Fix: d.fix, Stays: d.stays})
	}
	voltest.Reached(t, Problems(), all)
}

// fsck runs the check; a decider makes it repair.
func fsck(t testing.TB, d dev.Device, decide vol.Decider) *vol.Result {
	t.Helper()
	res, err := vol.Fsck(context.Background(), d, Driver(), vol.CheckOptions{}, decide, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestDamage reports: each damage is found, at its place, as what it is and as
// nothing else, and finding it changes nothing.
func TestDamage(t *testing.T) {
	eachDamage(t, func(t *testing.T, d *damage, l *lab) {
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
			} else if o.Severity > vol.SevInfo && o.Slug != d.slug && !slices.Contains(d.also, o.Slug) {
				t.Errorf("also found: %s", voltest.Line(o))
			}
		}
		if !found {
			t.Errorf("%s is not found at %+v", d.slug, want)
			voltest.Log(t, res)
		}
	})
}

func (s spot) fits(l vol.Location) bool {
	return (s.path == "" || s.path == l.Path) && (s.cluster == 0 || s.cluster == l.Cluster) && (s.off == 0 || s.off == l.Range.Off)
}

// TestRepair chooses the repair that each damage is for: after one run there is
// nothing left that can be mended, files that were not hit hold what they held,
// and fsck.fat agrees.
func TestRepair(t *testing.T) {
	eachDamage(t, func(t *testing.T, d *damage, l *lab) {
		d.hit(l)
		tx := dev.Begin(l.m)
		res := fsck(t, tx, voltest.Choose(d.slug, d.fix))
		if res.Unproven != nil {
			voltest.Log(t, res)
			t.Fatalf("unproven: %v", res.Unproven)
		}
		if p := vol.Find(Problems(), d.slug); !d.stays && p.Severity > vol.SevInfo && !voltest.Mended(res, d.slug, d.fix) {
			t.Errorf("it was not repaired by %q", d.fix)
			voltest.Log(t, res)
		}
		commit(t, tx)
		again := fsck(t, l.m, nil)
		for _, o := range again.Outcomes {
			if o.Severity > vol.SevInfo && !(d.stays && (o.Slug == d.slug || slices.Contains(d.also, o.Slug))) {
				t.Errorf("after the repair: %s", voltest.Line(o))
				voltest.Log(t, res)
			}
		}
		if d.stays && vol.Find(Problems(), d.slug).Severity > vol.SevInfo {
			return
		}
		now, err := newReader(l.m)
		if err != nil {
			t.Fatal(err)
		}
		voltest.SameFiles(t, now.files(), l.known, d.gone)
		if d.then != nil {
			d.then(l, now)
		}
		if first, last := d.kinds[:2], d.kinds[len(d.kinds)-2:]; d.peer == "" && !testing.Short() && (l.kind == first || l.kind == last) {
			peerSilent(t, l.m)
		}
	})
}

// peerSilent runs fsck.fat -n, which may count files but not complain.
func peerSilent(t testing.TB, d dev.Device) {
	t.Helper()
	cmd := exec.Command(voltest.Peer(t, "fsck.fat"), "-n", voltest.Saved(t, d))
	out, err := cmd.CombinedOutput()
	for i, s := range splitLines(string(out)) {
		if i > 0 && !isTotals(s) {
			t.Errorf("fsck.fat: %s", s)
		}
	}
	if err != nil {
		t.Errorf("fsck.fat: %v", err)
	}
}

// TestRepairLossless: see voltest.RepairsLossless.
func TestRepairLossless(t *testing.T) {
	eachDamage(t, func(t *testing.T, d *damage, l *lab) {
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
	tx := dev.Begin(m)
	res := fsck(t, tx, voltest.Always)
	if res.Unproven != nil {
		voltest.Log(t, res)
		t.Fatalf("unproven: %v", res.Unproven)
	}
	commit(t, tx)
	for _, o := range fsck(t, m, nil).Outcomes {
		if o.Severity > vol.SevInfo {
			t.Errorf("after the repair: %s", voltest.Line(o))
		}
	}
	return res
}
