package lfs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// TestRefuseVolume: what must not be built upon is refused in words of its own,
// before anything is written.
func TestRefuseVolume(t *testing.T) {
	flag := func(f uint32) func(l *lab) {
		return func(l *lab) { l.alterPack(func(c checkpoint) { c.put32(cpFlags, c.flags()|f) }) }
	}
	field := func(off int, v uint32) func(l *lab) {
		return func(l *lab) { l.alterPack(func(c checkpoint) { c.put32(off, v) }) }
	}
	for _, c := range []struct {
		name   string
		kind   error
		words  string
		forced bool // with force it is taken
		damage func(l *lab)
	}{
		{"features", vol.ErrRequest, "not known", false, func(l *lab) { l.alterSupers(func(s superblock) { s.put32(sbFeatures, s.features()|1<<30) }) }},
		{"zoned", vol.ErrRequest, "zones", false, func(l *lab) { l.alterSupers(func(s superblock) { s.put32(sbFeatures, s.features()|featZoned) }) }},
		{"device alias", vol.ErrRequest, "devices", false, func(l *lab) { l.alterSupers(func(s superblock) { s.put32(sbFeatures, s.features()|featDeviceAlias) }) }},
		{"two devices", vol.ErrRequest, "2 devices", false, func(l *lab) {
			l.alterSupers(func(s superblock) {
				s[sbDevices], s[sbDevices+deviceLen] = 'a', 'b'
				s.put32(sbDevices+devicePathLen, s.u32(sbSegments))
			})
		}},
		{"stop reason", vol.ErrDirty, "stopped writing", true, func(l *lab) { l.alterSupers(func(s superblock) { s[sbStopReasons] = 1 }) }},
		{"errors", vol.ErrDirty, "met errors", true, func(l *lab) { l.alterSupers(func(s superblock) { s[sbErrors] = 1 }) }},
		{"segment size", vol.ErrDamaged, "log_blocks_per_seg", false, func(l *lab) { l.alterSupers(func(s superblock) { s.put32(sbLogSegment, 10) }) }},
		{"no superblock", vol.ErrNotVolume, "magic", false, func(l *lab) { l.alterSupers(func(s superblock) { s.put32(sbMagic, 1) }) }},
		{"no pack", vol.ErrDamaged, "neither checkpoint pack", false, func(l *lab) {
			for i := range packCount {
				l.edit(l.g.PackBlock(i), func(b []byte) { b[5]++ })
			}
		}},
		{"cp error", vol.ErrDirty, "I/O error", false, flag(cpError)},
		{"disabled", vol.ErrDirty, "disabled", false, flag(cpDisabled)},
		{"resize", vol.ErrDirty, "resize", false, flag(cpResize)},
		{"unknown flags", vol.ErrRequest, "flags", false, flag(1 << 20)},
		{"checksum", vol.ErrRequest, "checksum", false, field(cpChecksumOffset, 300)},
		{"fsck", vol.ErrDirty, "asks for a check", true, flag(cpFsck)},
		{"quota", vol.ErrDirty, "quotas need a check", true, flag(cpQuotaFsck)},
		{"reserve", vol.ErrDamaged, "reserved", false, field(cpReserved, 0)},
		{"user blocks", vol.ErrDamaged, "users", false, field(cpUserBlocks, 1)},
		{"nodes", vol.ErrDamaged, "nodes", false, field(cpValidNodes, 12)},
		{"log", vol.ErrDamaged, "log", false, field(cpDataSegments, 1<<20)},
		{"log in use", vol.ErrDamaged, "in use", false, func(l *lab) {
			l.alterPack(func(c checkpoint) { c.putLog(warmData, c.logSegment(warmData), 0) })
		}},
		{"sit", vol.ErrDamaged, "SIT contradicts", false, func(l *lab) {
			segno := l.g.SegmentOf(l.at["plain"].pages[0])
			l.edit(l.g.SITBlock(segno, false), func(b []byte) {
				_, slot := l.g.SITIndex(segno)
				b[slot*sitLen+sitVblocks]++
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, "")
			c.damage(l)
			was := sum(t, l.d)
			_, err := open(t.Context(), l.d, vol.OpenOptions{})
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v, should be %v with %q", err, c.kind, c.words)
			}
			if _, err := open(t.Context(), l.d, vol.OpenOptions{Force: true}); (err == nil) != c.forced {
				t.Errorf("with force: %v", err)
			}
			if sum(t, l.d) != was {
				t.Error("something was written")
			}
		})
	}
}

// alterPack changes the checkpoint block of the pack that counts, at both ends.
func (l *lab) alterPack(fn func(c checkpoint)) {
	blk := l.g.PackBlock(0)
	c := checkpoint(l.read(blk))
	last := c.blocks() - 1
	fn(c)
	c.putSum()
	l.write(blk, c)
	l.write(blk+last, c)
}

// alterSupers changes both superblocks.
func (l *lab) alterSupers(fn func(s superblock)) {
	for i := range uint32(superBlocks) {
		l.edit(i, func(b []byte) {
			s := superblock(b[superOffset:][:superLen])
			if fn(s); s.has(featSuperChecksum) {
				s.put32(sbChecksum, superSum(s))
			}
		})
	}
}

// TestRefuseOther: volumes that are only read, have large blocks, are cut short,
// or were not unmounted.
func TestRefuseOther(t *testing.T) {
	refused := func(name string, d dev.Device, kind error, words string) {
		t.Helper()
		if _, err := open(t.Context(), d, vol.OpenOptions{Force: true}); !errors.Is(err, kind) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: error %v, should be %v with %q", name, err, kind, words)
		}
	}
	d, _ := newVolume(t, 64<<20, vol.FormatOptions{Features: "ro"})
	refused("ro", d, vol.ErrRequest, "feature ro")
	d, _ = newVolume(t, gib, vol.FormatOptions{ClusterSize: 16384})
	refused("16 KiB", d, vol.ErrRequest, "16384 bytes")
	d, _ = newVolume(t, 64<<20, vol.FormatOptions{})
	short, err := dev.Section(d, dev.Range{Len: 60 << 20})
	if err != nil {
		t.Fatal(err)
	}
	refused("short", short, vol.ErrDamaged, "only")
	for _, flags := range []uint32{cpFastboot, cpCRCRecovery} {
		m := newBuilder(t, 64<<20, vol.FormatOptions{})
		m.flags = flags
		m.finish()
		refused("not unmounted", m.d, vol.ErrDirty, "not unmounted")
	}
	m := newBuilder(t, 64<<20, vol.FormatOptions{})
	m.finish()
	b := make(nodeBlock, m.g.BlockSize)
	b.putFooter(50, 50, footerFsync<<0, m.cp.version(), 0)
	m.write(m.next[warmNode], b)
	refused("log", m.d, vol.ErrDirty, "replayed")
	m = newBuilder(t, 64<<20, vol.FormatOptions{})
	x := m.file(m.root, "orphan", file{links: 1})
	m.orphans = []uint32{x.ino}
	m.finish()
	if _, err := open(t.Context(), m.d, vol.OpenOptions{}); !errors.Is(err, vol.ErrDirty) || !strings.Contains(err.Error(), "deleted while open") {
		t.Errorf("orphans: %v", err)
	}
}

// TestRefuseFile: files that are not changed.
func TestRefuseFile(t *testing.T) {
	m := newBuilder(t, 64<<20, vol.FormatOptions{Features: "encrypt,verity,extra_attr,compression"})
	with := func(name string, f file, fn func(n nodeBlock)) {
		f.change = fn
		m.file(m.root, name, f)
	}
	with("immutable", file{pages: []uint32{0}}, func(n nodeBlock) { n.put32(inodeFlags, flagImmutable) })
	with("append", file{pages: []uint32{0}}, func(n nodeBlock) { n.put32(inodeFlags, flagAppend) })
	with("verity", file{pages: []uint32{0}}, func(n nodeBlock) { n[inodeAdvise] = adviseVerity })
	with("alias", file{}, func(n nodeBlock) { n.put32(inodeFlags, flagDeviceAlias) })
	with("pinned", file{pages: []uint32{0}}, func(n nodeBlock) { n[inodeInline] |= inlinePinned })
	with("encrypted", file{pages: []uint32{0, 1}}, func(n nodeBlock) { n[inodeAdvise] = adviseEncrypted })
	with("encrypted inline", file{inline: []byte("x")}, func(n nodeBlock) { n[inodeAdvise] = adviseEncrypted })
	m.compressed(m.root, "compressed")
	m.file(m.root, "link", file{mode: modeSymlink, inline: []byte("/there")})
	m.file(m.root, "fifo", file{mode: modeFIFO})
	m.file(m.root, "plain", file{pages: []uint32{0, 1, 2}})
	dir := m.dir(m.root, "secret")
	dir.node[inodeAdvise] = adviseEncrypted
	m.finish()
	was := sum(t, m.d)
	for _, c := range []struct {
		path, words string
		prealloc    func(r *vol.PreallocRequest) // nil: zero
	}{
		{"immutable", "immutable", func(*vol.PreallocRequest) {}}, {"immutable", "immutable", nil},
		{"append", "only grows", nil},
		{"verity", "verity", func(*vol.PreallocRequest) {}}, {"verity", "verity", nil},
		{"alias", "device", func(*vol.PreallocRequest) {}}, {"alias", "device", nil},
		{"compressed", "compressed", func(*vol.PreallocRequest) {}}, {"compressed", "compressed", nil},
		{"pinned", "pinned", nil}, {"encrypted", "encrypted", nil},
		{"encrypted inline", "encrypted", func(*vol.PreallocRequest) {}},
		{"link", "symbolic link", func(*vol.PreallocRequest) {}}, {"fifo", "regular", nil}, {"secret/new", "encrypted", func(r *vol.PreallocRequest) { r.Create = true }},
		{"plain/x", "no directory", func(r *vol.PreallocRequest) { r.Create = true }},
		{"plain", "that has none", func(r *vol.PreallocRequest) { r.ValidAll = true; r.Files[0].Length = 1 << 20 }},
		{"plain", "alignment", func(r *vol.PreallocRequest) { r.Align = 1 << 20 }},
		{strings.Repeat("n", 256), "255 bytes", func(r *vol.PreallocRequest) { r.Create = true }},
		{"a\x00b", "zero byte", func(r *vol.PreallocRequest) { r.Create = true }},
		{"plain", "cannot have", func(r *vol.PreallocRequest) { r.Files[0].Length = 1 << 52 }},
	} {
		v, err := open(t.Context(), dev.Begin(m.d), vol.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if c.prealloc == nil {
			_, err = v.ZeroRanges(t.Context(), vol.ZeroRequest{Files: []vol.ZeroFile{{Path: c.path, Offset: 1, Length: 5}}})
		} else {
			r := vol.PreallocRequest{Files: []vol.PreallocFile{{Path: c.path, Length: 5}}}
			c.prealloc(&r)
			_, err = v.Preallocate(t.Context(), r)
		}
		if !errors.Is(err, vol.ErrRequest) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%.20s: error %v, should have %q", c.path, err, c.words)
		}
	}
	if sum(t, m.d) != was {
		t.Error("something was written")
	}
}

// TestRefuseQuota: a file whose owner has no record is not changed, as its usage
// could not be kept; with usage that is not known anyway it is.
func TestRefuseQuota(t *testing.T) {
	m := newBuilder(t, 64<<20, vol.FormatOptions{Features: "extra_attr,quota,project_quota"})
	m.file(m.root, "f", file{pages: []uint32{0}, change: func(n nodeBlock) { n.put32(inodeUID, 1234) }})
	m.finish()
	l := &lab{builder: m}
	was := sum(t, m.d)
	err := changed(t, m.d, func(ctx context.Context, v vol.Volume) error {
		_, err := v.Preallocate(ctx, vol.PreallocRequest{Files: []vol.PreallocFile{{Path: "f", Length: 1 << 20}}})
		return err
	})
	if !errors.Is(err, vol.ErrDirty) || !strings.Contains(err.Error(), "no record of 1234") || sum(t, m.d) != was {
		t.Errorf("it says %v", err)
	}
	l.alterPack(func(c checkpoint) { c.put32(cpFlags, c.flags()|cpQuotaFsck) })
	txn := dev.Begin(m.d)
	v, err := open(t.Context(), txn, vol.OpenOptions{Force: true})
	if err == nil {
		_, err = v.Preallocate(t.Context(), vol.PreallocRequest{Files: []vol.PreallocFile{{Path: "f", Length: 1 << 20}}})
	}
	if err != nil || !newestPack(t, txn).cp.has(cpQuotaFsck) {
		t.Errorf("with force: %v", err)
	}
}

// TestRefuseNames: a directory that folds case, and takes names in UTF-8 only.
func TestRefuseNames(t *testing.T) {
	l := newLab(t, labFeatures)
	for _, strict := range []bool{false, true} {
		if strict {
			l.alterSupers(func(s superblock) { s.put16(sbEncodingFlags, encodingStrict) })
		}
		for name, ok := range map[string]bool{"folded/\xff": !strict, "folded/Fine": true, "folded/a\u00adb": false, "folded/" + capitals(255): !strict} {
			v, err := open(t.Context(), dev.Begin(l.d), vol.OpenOptions{})
			if err == nil {
				_, err = v.Preallocate(t.Context(), vol.PreallocRequest{Create: true, Files: []vol.PreallocFile{{Path: name, Length: 1}}})
			}
			if (err == nil) != ok || err != nil && !errors.Is(err, vol.ErrRequest) {
				t.Errorf("strict %v: %q: %v", strict, name, err)
			}
		}
	}
}

// TestInodeAsNode: an inode that leads to itself as to one of its nodes, or to a
// node that says it is one, is damage, and found as such by all who go that way.
func TestInodeAsNode(t *testing.T) {
	for _, word := range []int{0, 2, 4} {
		l := newLab(t, "")
		x := l.at["plain"]
		x.editInode(func(n nodeBlock) { n.putWord(n.words()+word, x.ino) })
		for _, off := range []int64{4 << 20, 12 << 20, 9 << 30} {
			v, err := open(t.Context(), dev.Begin(l.d), vol.OpenOptions{})
			if err == nil {
				_, err = v.Preallocate(t.Context(), vol.PreallocRequest{Files: []vol.PreallocFile{{Path: "plain", Offset: off, Length: 64 << 20}}})
			}
			if err != nil && !errors.Is(err, vol.ErrDamaged) && !errors.Is(err, vol.ErrRequest) {
				t.Errorf("word %d, %d: %v", word, off, err)
			}
		}
		v, err := open(t.Context(), dev.Begin(l.d), vol.OpenOptions{})
		if err == nil {
			_, err = v.Remove(t.Context(), vol.RemoveRequest{Paths: []string{"plain"}})
		}
		if !errors.Is(err, vol.ErrDamaged) {
			t.Errorf("word %d: removed: %v", word, err)
		}
	}
	l := newLab(t, "")
	x := l.at["indirect"]
	l.edit(x.nodes[3].addr, func(b []byte) { // on the way to one that is lost
		b[len(b)-footerNid], b[len(b)-footerNid+1] = byte(x.ino), byte(x.ino>>8)
		clear(b[:len(b)-footerLen])
	})
	if err := repairAll(t, l.d); err != nil {
		t.Error(err)
	}
}

// TestOwnerOfNothing: an entry of NAT that has no owner, and leads to what is no
// node of that number, goes.
func TestOwnerOfNothing(t *testing.T) {
	l := newLab(t, "")
	l.editNAT(l.nid+9, func(e natEntry) { e.put(0, 1<<30, l.at["plain"].pages[0]) })
	if err := repairAll(t, l.d); err != nil {
		t.Error(err)
	}
}
