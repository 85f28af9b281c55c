package lfs

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// syncedNode is a node of a log, as a sync of its file writes it.
type syncedNode struct {
	nid, ino, place uint32
	named           bool
	fill            func(n nodeBlock)
}

// syncNodes leaves a log of these nodes behind the checkpoint.
func (m *builder) syncNodes(nodes ...syncedNode) {
	ver := m.cp.version()
	if m.cp.has(cpCRCRecovery) {
		ver |= uint64(m.cp.sum()) << 32
	}
	for i, x := range nodes {
		blk := m.next[warmNode] + uint32(i)
		b := make(nodeBlock, m.g.BlockSize)
		x.fill(b)
		flag := x.place<<footerShift | footerFsync
		if x.named {
			flag |= footerDentry
		}
		b.putFooter(x.nid, x.ino, flag, ver, blk+1)
		m.seal(b)
		m.write(blk, b)
	}
}

// newcomer is the inode of a file that was made after the checkpoint, of so many
// blocks, the first of which is at addr.
func (m *builder) newcomer(dir *built, name string, ino, pages, addr uint32) syncedNode {
	return syncedNode{nid: ino, ino: ino, named: true, fill: func(n nodeBlock) {
		n.put16(inodeMode, modeFile|0o600)
		n.put32(inodeLinks, 1)
		n.put64(inodeSize, uint64(pages)*uint64(m.g.BlockSize))
		n.put64(inodeBlocks, 3)
		n.put32(inodeParent, dir.ino)
		n.put32(inodeNameLen, uint32(len(name)))
		copy(n[inodeName:], name)
		if m.g.Has(featExtraAttr) {
			n[inodeInline] |= inlineExtra
			n.put16(inodeExtraLen, uint16(extraLen(m.g.Features)))
		}
		n.putWord(m.g.extraWords(n), addr)
	}}
}

// replayedLab checks with -y what is said to need nothing but a replay, and gives
// what it is then.
func replayedLab(t *testing.T, l *lab) *dev.Txn {
	t.Helper()
	txn := dev.Begin(l.d)
	t.Cleanup(txn.Rollback)
	res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
	if err != nil || !slices.Equal(slugs(res), []string{"replay"}) {
		t.Fatalf("found %q, %v", found(res), err)
	}
	if res := checked(t, txn); len(res.Outcomes) > 0 {
		t.Errorf("then there is %q", found(res))
	}
	return txn
}

// TestReplayOrder: a new file is replayed whole where a node of it has a lower
// number than its inode, and so comes before that.
func TestReplayOrder(t *testing.T) {
	for _, features := range []string{"", labFeatures} {
		l := newLab(t, features)
		direct, ino := l.nid, l.nid+1
		first, second := l.next[warmData]+100, l.next[warmData]+101
		l.write(first, noise(int(l.g.BlockSize)))
		l.write(second, noise(int(l.g.BlockSize)))
		inode := l.newcomer(l.root, "new", ino, 0, first)
		b := make(nodeBlock, l.g.BlockSize)
		inode.fill(b)
		slots := uint32(b.words() - l.g.extraWords(b) - l.g.xattrWords(b))
		l.syncNodes(syncedNode{nid: direct, ino: ino, place: 1, fill: func(n nodeBlock) { n.put32(4*5, second) }},
			l.newcomer(l.root, "new", ino, slots+6, first))
		got := treeContents(t, replayedLab(t, l), "new")
		for page, blk := range map[int64]uint32{0: first, int64(slots) + 5: second} {
			if !bytes.Equal(got[page*l.g.BlockSize:][:l.g.BlockSize], l.read(blk)) {
				t.Errorf("%q: block %d is another", features, page)
			}
		}
	}
}

// TestReplayNumbers: what is made in a replay gets no number that a new file has
// further on in the log.
func TestReplayNumbers(t *testing.T) {
	l := newLab(t, "")
	free := l.next[warmData] + 100
	l.write(free, noise(int(l.g.BlockSize)))
	l.write(free+1, noise(int(l.g.BlockSize)))
	plain := l.at["plain"]
	slots := l.slots(plain)
	// The log has the file's new node as number nid+1; the next number that is free
	// is that of the new file.
	l.syncNodes(
		syncedNode{nid: plain.ino, ino: plain.ino, fill: func(n nodeBlock) {
			copy(n, plain.node)
			n.put64(inodeSize, uint64(slots+1)*uint64(l.g.BlockSize))
			n.putWord(n.words(), l.nid+1)
		}},
		syncedNode{nid: l.nid + 1, ino: plain.ino, place: 1, fill: func(n nodeBlock) { n.put32(0, free) }},
		l.newcomer(l.root, "new", l.nid, 1, free+1))
	d := replayedLab(t, l)
	for name, at := range map[string]struct{ page, blk uint32 }{"plain": {slots, free}, "new": {0, free + 1}} {
		if got := treeContents(t, d, name)[int64(at.page)*l.g.BlockSize:]; !bytes.Equal(got, l.read(at.blk)) {
			t.Errorf("%s ends with another block", name)
		}
	}
}

// TestReplaySummaries: a log that is moved for a replay leaves the summary of its
// segment behind, also where the pack has none, as of nodes while a volume is
// mounted.
func TestReplaySummaries(t *testing.T) {
	m := newBuilder(t, 64<<20, vol.FormatOptions{})
	l := fill(m)
	l.flags = cpCRCRecovery
	l.finish()
	for _, log := range []int{hotNode, warmNode, coldNode} { // what was there before
		l.must(vol.Patch(l.d, l.g.SummaryOff(l.logSegment(log)), l.g.SummaryBytes, func(b []byte) { clear(b) }))
	}
	free := l.next[warmData] + 100
	l.sync(free, 2)
	replayedLab(t, l)
}

// TestReplayHash: of a name that is encrypted and folded the hash stands behind
// it.
func TestReplayHash(t *testing.T) {
	m := newBuilder(t, 64<<20, vol.FormatOptions{Features: labFeatures + ",encrypt"})
	l := fill(m)
	dir := m.dir(m.root, "secret")
	dir.node.put32(inodeFlags, flagCasefold)
	dir.node[inodeAdvise] = adviseEncrypted
	l.finish()
	const hash = 0x12345678
	name, free := "0123456789abcdef", l.next[warmData]+100
	inode := l.newcomer(dir, name, l.nid, 1, free)
	fill := inode.fill
	inode.fill = func(n nodeBlock) {
		fill(n)
		n[inodeAdvise] = adviseEncrypted | adviseEncryptedName
		binary.LittleEndian.PutUint32(n[inodeName+len(name):], hash)
	}
	l.syncNodes(inode)
	d := replayedLab(t, l)
	tr, err := read(t.Context(), d, vol.ReadOptions{})
	l.must(err)
	n, err := vol.Resolve(tr, "secret/"+keylessName(hash, []byte(name)))
	if err != nil || n.ID != uint64(l.nid) {
		t.Errorf("it is not there: %+v, %v", n, err)
	}
	w := reader(&loaded{d: d, sb: l.sb, g: l.g, s: stateOf(t, d)})
	h, err := w.open("secret", l.nid)
	if err != nil || h.b.u32(inodeName+len(name)) != hash {
		t.Errorf("the hash behind its name is gone: %v", err)
	}
}

// TestReplayDamaged: a log that cannot be carried out, which shows only when it is
// tried, is damaged, and can be given up; it is not an error of the check.
func TestReplayDamaged(t *testing.T) {
	for name, do := range map[string]func(l *lab){
		"in use": func(l *lab) { l.sync(l.at["plain"].pages[0], 1) },
		"place": func(l *lab) {
			x := l.at["direct"]
			l.syncNodes(syncedNode{nid: x.nodes[1].nid, ino: x.ino, place: 0x1FFFFFF0, fill: func(nodeBlock) {}})
		},
		"directory": func(l *lab) {
			l.syncNodes(syncedNode{nid: l.nid, ino: l.at["dir"].ino, place: 1, fill: func(n nodeBlock) { n.put32(0, l.next[warmData]+100) }})
		},
		"type": func(l *lab) {
			x := l.at["short link"]
			l.syncNodes(syncedNode{nid: x.ino, ino: x.ino, fill: func(n nodeBlock) { copy(n, l.at["inline"].node) }})
		},
	} {
		l := newLab(t, "")
		before := holdings(t, l.d)
		do(l)
		if got := slugs(l.check()); !slices.Equal(got, []string{"replay", "replay-address"}) {
			t.Errorf("%s: found %q", name, got)
		}
		txn := dev.Begin(l.d)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
		if err != nil || res.Left(vol.SevWarning) || !maps.Equal(holdings(t, txn), before) {
			t.Errorf("%s: found %q, %v", name, found(res), err)
		}
		txn.Rollback()
	}
}

// TestReplayIntoDamage: a log that is for a damaged file or directory can be given up,
// and the rest is mended then.
func TestReplayIntoDamage(t *testing.T) {
	for name, do := range map[string]func(l *lab){
		"footer": func(l *lab) { l.edit(l.at["plain"].addr, func(b []byte) { b[len(b)-footerNid] ^= 1 }) },
		"NAT": func(l *lab) {
			l.editNAT(l.at["plain"].ino, func(e natEntry) { e.put(0, e.ino(), l.at["inline"].addr) })
		},
		"parent": func(l *lab) { l.edit(l.root.addr, func(b []byte) { b[len(b)-footerNid] ^= 1 }) },
	} {
		l := newLab(t, "")
		before, plain, free := holdings(t, l.d), l.at["plain"], l.next[warmData]+100
		node := syncedNode{nid: plain.ino, ino: plain.ino, fill: func(n nodeBlock) {
			copy(n, plain.node)
			n.putWord(0, free)
		}}
		if name == "parent" {
			node = l.newcomer(l.root, "new", l.nid, 1, free)
		}
		l.syncNodes(node)
		do(l)
		if got := slugs(l.check()); !slices.Contains(got, "replay-address") {
			t.Errorf("%s: found %q", name, got)
		}
		if err := repairAll(t, l.d); err != nil || !maps.Equal(holdings(t, l.d), before) {
			t.Errorf("%s: then there is %v", name, err)
		}
		if res := l.check(); len(res.Outcomes) > 0 {
			t.Errorf("%s: then there is %q", name, found(res))
		}
	}
}

// TestReplayOverDirectory: a file that was made where a directory had been takes its
// name. One that was empty at the checkpoint goes; of another nothing is lost.
func TestReplayOverDirectory(t *testing.T) {
	for name, want := range map[string][]string{"none": {"replay"}, "dir": {"inode-unreachable", "replay"}} {
		m := newBuilder(t, 64<<20, vol.FormatOptions{})
		l := fill(m)
		m.dir(m.root, "none")
		l.finish()
		free := l.next[warmData] + 100
		l.write(free, noise(int(l.g.BlockSize)))
		l.syncNodes(l.newcomer(l.root, name, l.nid, 1, free))
		txn := dev.Begin(l.d)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
		if err != nil || !slices.Equal(slugs(res), want) || res.Left(vol.SevWarning) {
			t.Fatalf("%s: found %q, %v", name, found(res), err)
		}
		if got := treeContents(t, txn, name); !bytes.Equal(got, l.read(free)) {
			t.Errorf("%s holds other bytes", name)
		}
		if name == "dir" {
			contentsOf(t, txn, textf("lost+found/#%d/inner", l.at["dir"].ino))
		}
		txn.Rollback()
	}
}

// ownedBy has the inode of a node of the log belong to others.
func ownedBy(x syncedNode, uid, gid uint32) syncedNode {
	fill := x.fill
	x.fill = func(n nodeBlock) {
		fill(n)
		n.put32(inodeUID, uid)
		n.put32(inodeGID, gid)
	}
	return x
}

// TestReplayQuotas: what a replay changes of the usage of users, groups and projects
// it counts by itself, as Linux does: files that are new, that grow, that change
// hands and that lose their name to another.
func TestReplayQuotas(t *testing.T) {
	l := newLab(t, labFeatures)
	free := l.next[warmData] + 100
	for i := range uint32(3) {
		l.write(free+i, noise(int(l.g.BlockSize)))
	}
	plain := l.at["plain"]
	slot := int(l.slots(plain)) - 1
	grown := syncedNode{nid: plain.ino, ino: plain.ino, fill: func(n nodeBlock) {
		copy(n, plain.node)
		n.put64(inodeSize, uint64(slot+1)*uint64(l.g.BlockSize))
		n.putWord(l.g.extraWords(n)+slot, free)
	}}
	l.syncNodes(ownedBy(grown, 5, 0), ownedBy(l.newcomer(l.root, "new", l.nid, 1, free+1), 70_000, 7),
		l.newcomer(l.root, "more attributes", l.nid+1, 1, free+2))
	d := replayedLab(t, l)
	for id, want := range map[uint32]quotaUse{5: {5 * 4096, 1}, 70_000: {4096, 1}} {
		editQuota(t, d, l.g.QuotaInos[userQuota], func(q *quotaTable) {
			rec, err := q.find(id)
			l.must(err)
			got := quotaUse{binary.LittleEndian.Uint64(rec[quotaSpace:]), binary.LittleEndian.Uint64(rec[quotaInodes:])}
			if got != want {
				t.Errorf("user %d has %+v, should have %+v", id, got, want)
			}
		})
	}
}

// TestReplayDamagedQuotas: a quota file that cannot be read hinders no replay; it
// is mended after that.
func TestReplayDamagedQuotas(t *testing.T) {
	for name, do := range map[string]func(b []byte){
		"magic": func(b []byte) { b[0] ^= 1 },
		"tree":  func(b []byte) { binary.LittleEndian.PutUint32(b[quotaBlock:], 1<<30) },
		"room":  func(b []byte) { binary.LittleEndian.PutUint32(b[quotaInfoBlocks:], 1) },
		"list":  func(b []byte) { binary.LittleEndian.PutUint32(b[quotaInfoEntry:], 1<<20) },
	} {
		l := newLab(t, "quota")
		for _, x := range l.all {
			if x.ino == l.g.QuotaInos[userQuota] {
				l.edit(x.pages[0], do)
			}
		}
		free := l.next[warmData] + 100
		l.write(free, noise(int(l.g.BlockSize)))
		l.syncNodes(ownedBy(l.newcomer(l.root, "new", l.nid, 1, free), 70_000, 7))
		txn := dev.Begin(l.d)
		res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
		if err != nil || res.Left(vol.SevWarning) || !slices.Contains(slugs(res), "replay") {
			t.Fatalf("%s: found %q, %v", name, found(res), err)
		}
		if got := treeContents(t, txn, "new"); !bytes.Equal(got, l.read(free)) {
			t.Errorf("%s: the new file holds other bytes", name)
		}
		if res := checked(t, txn); len(res.Outcomes) > 0 {
			t.Errorf("%s: then there is %q", name, found(res))
		}
		txn.Rollback()
	}
}

// TestOrphanQuotas: what files had that were deleted while they were open is counted
// no more when they are freed, in the same round.
func TestOrphanQuotas(t *testing.T) {
	l := fill(newBuilder(t, 64<<20, vol.FormatOptions{Features: labFeatures}))
	x := l.file(l.root, "", file{pages: []uint32{0, 1}, change: func(n nodeBlock) { n.put32(inodeLinks, 0) }})
	txn := l.freesOrphan(t, x)
	defer txn.Rollback()
	if res := checked(t, txn); len(res.Outcomes) > 0 {
		t.Errorf("then there is %q", found(res))
	}
}

// TestReplayReaches: a file reaches to the last block that the log changed, also where
// its synced inode has a smaller size, unless that says that blocks are kept beyond it.
func TestReplayReaches(t *testing.T) {
	for advise, want := range map[byte]int{0: 4 * 4096, adviseKeepSize: 100} {
		l := newLab(t, "")
		free := l.next[warmData] + 100
		l.write(free, noise(int(l.g.BlockSize)))
		inode := l.newcomer(l.root, "new", l.nid, 1, free)
		fill := inode.fill
		inode.fill = func(n nodeBlock) {
			fill(n)
			n.put64(inodeSize, 100)
			n[inodeAdvise] = advise
			n.putWord(l.g.extraWords(n)+3, newAddr)
		}
		l.syncNodes(inode)
		if got := treeContents(t, replayedLab(t, l), "new"); len(got) != want {
			t.Errorf("with advise %#x it has %d bytes, should have %d", advise, len(got), want)
		}
	}
}

// TestReplayOverItself: a directory that has an entry for itself, whose name a file of
// the log takes, is not taken for one that was removed.
func TestReplayOverItself(t *testing.T) {
	for _, kind := range []func(m *builder) *built{
		func(m *builder) *built { return m.dir(m.root, "loop") },
		func(m *builder) *built { return m.inlineDir(m.root, "loop") },
	} {
		m := newBuilder(t, 64<<20, vol.FormatOptions{})
		l := fill(m)
		dir := kind(m)
		dir.enter("self", dir.ino, typeDir)
		l.finish()
		free := l.next[warmData] + 100
		l.write(free, noise(int(l.g.BlockSize)))
		l.syncNodes(l.newcomer(dir, "self", l.nid, 1, free))
		if err := repairAll(t, l.d); err != nil {
			t.Error(err)
		}
		if got := treeContents(t, l.d, "loop/self"); !bytes.Equal(got, l.read(free)) {
			t.Error("the file holds other bytes")
		}
	}
}
