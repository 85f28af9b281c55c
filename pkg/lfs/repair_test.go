package lfs

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// mends: all that is offered for a damage is repaired in one run, but what the
// case names; another check finds nothing then, and the files have what they had.
func (l *lab) mends(c damage, before map[uint32]string) {
	l.t.Helper()
	txn := dev.Begin(l.d)
	defer txn.Rollback()
	res, err := vol.Fsck(l.t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
	if err != nil || res.Unproven != nil {
		l.t.Fatalf("-y: %v, %+v", err, res)
	}
	var left []string
	for _, o := range res.Outcomes {
		switch {
		case o.Repaired != nil || o.Severity < vol.SevWarning:
		case len(o.Repairs) == 0:
			return // nobody can mend it
		default:
			left = append(left, o.Slug)
		}
	}
	slices.Sort(left)
	left = slices.Compact(left)
	if got := strings.Join(left, " "); got != c.left {
		l.t.Errorf("-y leaves %q, should leave %q: %q", got, c.left, found(res))
		return
	}
	if c.left != "" {
		return
	}
	again := checked(l.t, txn)
	if slices.ContainsFunc(again.Outcomes, func(o vol.Outcome) bool { return o.Severity >= vol.SevWarning }) {
		l.t.Errorf("after -y there is %q", found(again))
		return
	}
	changed := 0
	now := holdings(l.t, txn)
	if now == nil {
		return
	}
	for ino, was := range before {
		if now[ino] != was {
			changed++
		}
	}
	if changed > c.lost {
		l.t.Errorf("%d files are not what they were, %d may be; -y: %q", changed, c.lost, found(res))
	}
}

// holdings is what all files have, by inode: sums of their blocks and of what is
// kept in the inode.
func holdings(t testing.TB, d dev.Device) map[uint32]string {
	t.Helper()
	l, err := load(t.Context(), d, loadOptions{force: true})
	if errors.Is(err, vol.ErrRequest) {
		return nil // the writer does not know such volumes
	}
	if err != nil {
		t.Fatal(err)
	}
	tabs, _, err := l.s.loadTables(t.Context(), d, 0)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWriter(l, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[uint32]string{}
	for _, n := range tabs.nodes {
		if n.nid != n.ino || !l.g.ValidMain(n.addr) || w.g.isQuota(n.nid) {
			continue
		}
		h, err := w.open("", n.nid)
		if err != nil {
			t.Fatal(err)
		}
		if !h.b.isDir() {
			out[n.nid] = h.contents(t)
		}
	}
	return out
}

func (h *handle) contents(t testing.TB) string {
	g := h.w.g
	s := textf("mode %o", h.b.mode())
	switch kind := h.b.fileType(); {
	case kind != modeFile && kind != modeSymlink:
		return s
	case h.b.inline()&inlineData != 0:
		// Zeros at the end do not count: where the size itself was hit, what is
		// put right may have some.
		area := g.inlineArea(h.b)
		data := bytes.TrimRight(area[:min(h.b.size(), uint64(len(area)))], "\x00")
		return s + textf(" inline %x", crcUpdate(1, data))
	}
	last, err := h.lastPage()
	if err != nil {
		t.Fatal(err)
	}
	err = h.eachNode(0, last, false, func(p *pointers, page uint64, first, end int) error {
		for word := first; word < end; word++ {
			if a := p.get(word); g.ValidMain(a) {
				b, err := readBlock(h.w.d, g, a)
				if err != nil {
					return err
				}
				s += textf(" %d:%x", page+uint64(word-first), crcUpdate(1, b))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tryRepairs repairs all there is, and takes it back. What was repaired must be
// so: where a run says that nothing is left, the next one finds nothing.
func tryRepairs(ctx context.Context, t testing.TB, d dev.Device) {
	t.Helper()
	txn := dev.Begin(d)
	defer txn.Rollback()
	res, err := vol.Fsck(ctx, txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
	if err != nil || res.Unproven != nil || res.Stopped {
		if res == nil || res.Unproven != nil {
			why := err
			if res != nil {
				why = res.Unproven
			}
			t.Logf("not repaired: %v", why)
		}
		return
	}
	again, err := vol.Fsck(ctx, txn, Driver(), vol.CheckOptions{}, nil, nil)
	if err != nil {
		t.Errorf("after the repair: %v", err)
		return
	}
	was := map[string]bool{}
	for _, o := range res.Outcomes {
		if o.Repaired == nil {
			was[o.Slug] = true
		}
	}
	for _, o := range again.Outcomes {
		if o.Severity >= vol.SevWarning && !was[o.Slug] {
			t.Errorf("after the repair there is %s %s %s; it was %q", o.Slug, o.Loc.Path, o.Message(), found(res))
			return
		}
	}
}

// TestManyUnlinked: ten thousand files without a name come to lost+found, all of
// them and soon.
func TestManyUnlinked(t *testing.T) {
	const files = 10_000
	l := newUnlinked(t, files)
	start := time.Now()
	txn := dev.Begin(l.d)
	res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
	if err != nil || res.Unproven != nil || res.Left(vol.SevWarning) {
		t.Fatalf("%v, %+v", err, res)
	}
	t.Logf("repaired in %v, %d rounds", time.Since(start), res.Rounds)
	if got := checked(t, txn); len(got.Outcomes) > 0 || got.Stats.Files != res.Stats.Files {
		t.Errorf("then there is %q", slugs(got))
	}
	if b := contentsOf(t, txn, textf("lost+found/#%d", l.at["last"].ino)); string(b) != "number 9999" {
		t.Errorf("the last one holds %q", b)
	}
}

// BenchmarkManyUnlinked is the time that this takes.
func BenchmarkManyUnlinked(b *testing.B) {
	l := newUnlinked(b, 10_000)
	for b.Loop() {
		txn := dev.Begin(l.d)
		res, err := vol.Fsck(b.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
		if err != nil || res.Unproven != nil || res.Left(vol.SevWarning) {
			b.Fatalf("%v, %+v", err, res)
		}
		txn.Rollback()
	}
}

// newUnlinked is a volume with so many files that have no name.
func newUnlinked(t testing.TB, files int) *lab {
	l := fill(newBuilder(t, 256<<20, vol.FormatOptions{}))
	for i := range files {
		l.at["last"] = l.file(l.root, "", file{inline: []byte(textf("number %d", i))})
	}
	l.finish()
	return l
}

// TestDeclined: what is declined is not written, whatever else is: with -p
// nothing that loses anything, and with a no to everything not a byte.
func TestDeclined(t *testing.T) {
	for _, c := range slices.Concat(superDamages(), packDamages(), tableDamages(), nodeDamages(), inodeDamages(), dirDamages()) {
		t.Run(c.slug+c.name, func(t *testing.T) {
			features := c.with
			if features == "all" {
				features = labFeatures
			}
			l := newLab(t, features)
			before := holdings(t, l.d)
			c.do(l)
			txn := dev.Begin(l.d)
			defer txn.Rollback()
			no := func(*vol.Finding) int { return -1 }
			res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, no, nil)
			if err != nil || res.Repaired || txn.Dirty() {
				t.Fatalf("everything declined: %v, %+v", err, res)
			}
			res, err = vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Lossless, nil)
			if err != nil || res.Unproven != nil {
				t.Fatalf("-p: %v, %+v", err, res)
			}
			if res.Left(vol.SevWarning) || res.Stopped || c.slug == "replay" {
				return
			}
			now := holdings(t, txn)
			for ino, was := range before {
				if now != nil && now[ino] != was {
					t.Errorf("-p: inode %d has %q, had %q: %q", ino, now[ino], was, found(res))
				}
			}
		})
	}
}

// damaged breaks a volume in its superblock, its root directory and SIT.
func damaged(d dev.Device) error {
	l, err := load(context.Background(), d, loadOptions{force: true})
	if err != nil {
		return err
	}
	e, err := l.s.readNAT(d, rootIno)
	if err != nil {
		return err
	}
	if err := vol.Patch(d, l.g.BlockOff(e.addr()), l.g.BlockSize, func(b []byte) {
		nodeBlock(b).put32(inodeLinks, 99)
		nodeBlock(b).put64(inodeBlocks, 99)
	}); err != nil {
		return err
	}
	if err := vol.Patch(d, superOffset+l.g.BlockSize, 4, func(b []byte) { clear(b) }); err != nil {
		return err
	}
	return vol.Patch(d, l.g.BlockOff(l.s.p.start), l.g.BlockSize, func(b []byte) {
		checkpoint(b).put32(cpValidInodes, 12345)
		checkpoint(b).putSum()
	})
}

// TestRepairCuts: a power cut while repairs, or a replay, are written leaves the
// volume as before, with what the undo log has, or as after.
func TestRepairCuts(t *testing.T) {
	for _, slug := range []string{"replay", "sit-free", "dentry-twice", "inode-unreachable", "quota-file", "orphans"} {
		all := allDamagesOf(slug)
		if len(all) == 0 {
			t.Fatalf("there is no damage %s", slug)
		}
		t.Run(slug, func(t *testing.T) {
			features := all[0].with
			if features == "all" {
				features = labFeatures
			}
			l := newLab(t, features)
			all[0].do(l)
			devtest.Matrix(t, devtest.Case{
				Image: func() dev.Device { return l.d }, Max: 12,
				Change: func(d dev.Device, j dev.Journal) error {
					txn := dev.Begin(d)
					res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{Workers: 1}, voltest.Always, nil)
					if err != nil {
						return err
					}
					if res.Unproven != nil || res.Left(vol.SevWarning) {
						t.Errorf("left %q", found(res))
					}
					_, err = txn.Commit(t.Context(), dev.CommitOptions{Undo: j})
					return err
				},
			})
		})
	}
}

// allDamagesOf are the corruptors of a row.
func allDamagesOf(slug string) (out []damage) {
	for _, c := range slices.Concat(superDamages(), packDamages(), tableDamages(), nodeDamages(), inodeDamages(), dirDamages()) {
		if c.slug == slug {
			out = append(out, c)
		}
	}
	return out
}

// TestReplayOptions: a log that is to be replayed is left with all that rests on
// it, or given up, if that is asked for.
func TestReplayOptions(t *testing.T) {
	l := newLab(t, "")
	before := holdings(t, l.d)
	l.sync(newAddr, 3)
	l.put32(cpFreeSegments, 1)
	run := func(o vol.CheckOptions, decide vol.Decider) (*vol.Result, map[uint32]string) {
		txn := dev.Begin(l.d)
		defer txn.Rollback()
		res, err := vol.Fsck(t.Context(), txn, Driver(), o, decide, nil)
		if err != nil || res.Unproven != nil {
			t.Fatalf("%+v: %v, %+v", o, err, res)
		}
		if res.Left(vol.SevWarning) {
			if txn.Dirty() {
				t.Errorf("%+v: %q are left, and something is written", o, slugs(res))
			}
			return res, nil
		}
		return res, holdings(t, txn)
	}
	if res, _ := run(vol.CheckOptions{NoReplay: true}, voltest.Always); res.Repaired || !res.Left(vol.SevWarning) {
		t.Errorf("without a replay: %+v", res)
	}
	if res, now := run(vol.CheckOptions{DiscardLog: true}, voltest.Always); !res.Repaired || !maps.Equal(now, before) {
		t.Errorf("given up: %q", found(res))
	}
	if res, _ := run(vol.CheckOptions{DiscardLog: true}, voltest.Lossless); res.Repaired {
		t.Errorf("given up by -p: %q", found(res))
	}
	if res, now := run(vol.CheckOptions{}, voltest.Lossless); !res.Repaired || maps.Equal(now, before) {
		t.Errorf("replayed: %q", found(res))
	}
}

// TestUnreadMend: what cannot be read is not taken for something that is not there:
// nothing is given up for it, and it is found when it can be read again.
func TestUnreadMend(t *testing.T) {
	for name, do := range map[string]func(l *lab) uint32{
		"node": func(l *lab) uint32 {
			l.editNAT(l.at["direct"].nodes[1].nid, func(e natEntry) { clear(e) })
			return l.at["direct"].nodes[1].addr
		},
		"inode": func(l *lab) uint32 {
			l.editNAT(l.at["plain"].ino, func(e natEntry) { clear(e) })
			return l.at["plain"].addr
		},
		"pointer": func(l *lab) uint32 {
			l.at["direct"].editInode(func(n nodeBlock) { n.putWord(n.words(), l.at["plain"].ino) })
			return l.at["direct"].nodes[1].addr
		},
		"nothing leads to it": func(l *lab) uint32 {
			l.at["direct"].editInode(func(n nodeBlock) { n.putWord(n.words(), 0) })
			return l.at["direct"].nodes[1].addr
		},
	} {
		l := newLab(t, "")
		before := holdings(t, l.d)
		bad := l.g.BlockRange(do(l), 1)
		fault := devtest.NewFault(l.d)
		fault.Where(func(o devtest.Op) bool { return o.Kind == devtest.Read && !o.Range.Intersect(bad).Empty() }, errBroken)
		if err := repairAll(t, fault); err == nil || errors.Is(err, errBroken) && fault.Hits() == 0 {
			t.Errorf("%s: unread, it says %v", name, err)
		}
		if err := repairAll(t, l.d); err != nil {
			t.Errorf("%s: read again: %v", name, err)
		}
		if now := holdings(t, l.d); !maps.Equal(now, before) {
			t.Errorf("%s: files hold something else", name)
		}
	}
}

// repairAll commits what -y does, and says what it left.
func repairAll(t *testing.T, d dev.Device) error {
	t.Helper()
	txn := dev.Begin(d)
	defer txn.Rollback()
	res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
	if err != nil {
		return err
	}
	if _, err := txn.Commit(t.Context(), dev.CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	if res.Left(vol.SevWarning) {
		return errors.New(strings.Join(found(res), "\n"))
	}
	return nil
}

// TestFreeReleased: of a compressed file that was deleted while it was open, and had
// given back what it saved, as much is freed as counted.
func TestFreeReleased(t *testing.T) {
	l := fill(newBuilder(t, 64<<20, vol.FormatOptions{Features: "extra_attr,compression"}))
	x := l.file(l.root, "", file{pages: []uint32{1, 2, 4, 5, 6, 7}, change: func(n nodeBlock) {
		n.put32(inodeLinks, 0)
		n.put32(inodeFlags, flagCompressed)
		n[inodeLogCluster] = 2
		n[inodeInline] |= inlineReleased
	}})
	x.point(0, compressAddr)
	l.freesOrphan(t, x).Rollback()
}

// freesOrphan has -y free x, which has no name and is on the list of orphans: nothing
// else is wrong. It returns the repaired volume.
func (l *lab) freesOrphan(t *testing.T, x *built) *dev.Txn {
	t.Helper()
	l.orphans = []uint32{x.ino}
	l.finish()
	txn := dev.Begin(l.d)
	res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
	if err != nil || !slices.Equal(slugs(res), []string{"orphans"}) {
		t.Errorf("found %q, %v", found(res), err)
	}
	return txn
}
