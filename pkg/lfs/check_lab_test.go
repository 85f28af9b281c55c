package lfs

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest"
	"github.com/fatkit/fatkit/pkg/vol"
)

// labFeatures are all that change what a check sees.
const labFeatures = "extra_attr,inode_checksum,sb_checksum,flexible_inline_xattr,inode_crtime,quota,project_quota,lost_found,casefold,compression"

// lab is a small volume that has one of everything, by name.
type lab struct {
	*builder
	at map[string]*built
}

func newLab(t testing.TB, features string) *lab {
	t.Helper()
	return fillLab(newBuilder(t, 64<<20, vol.FormatOptions{Features: features, Label: "LAB"}))
}

// fillLab makes the files and writes them.
func fillLab(m *builder) *lab {
	m.t.Helper()
	l := fill(m)
	l.finish()
	return l
}

// fill makes the files.
func fill(m *builder) *lab {
	m.t.Helper()
	l := &lab{builder: m, at: map[string]*built{}}
	add := func(name string, f file) { l.at[name] = m.file(m.root, name, f) }
	add("plain", file{pages: []uint32{0, 1, 2, 3}})
	add("spread", file{pages: []uint32{0, uint32(m.g.per().inodeSlots() - maxExtraLen/4 - 1)}})
	add("inline", file{inline: []byte("hello, inline")})
	add("empty", file{})
	per := uint32(m.g.per().nodeSlots())
	inode := uint32(m.g.per().inodeSlots())
	add("direct", file{pages: []uint32{0, inode + 5, inode + per + 7}})
	add("indirect", file{pages: []uint32{0, inode + 2*per + 9, inode + 3*per, inode + 2*per + per*per + 3}})
	add("double", file{pages: []uint32{inode + 2*per + 2*per*per + 1, inode + 2*per + 3*per*per + 17}})
	add("link", file{mode: modeSymlink, pages: []uint32{0}, size: 20})
	add("short link", file{mode: modeSymlink, inline: []byte("/there")})
	add("fifo", file{mode: modeFIFO})
	add("socket", file{mode: modeSocket})
	add("device", file{mode: modeChar, change: func(n nodeBlock) { n.putWord(m.g.extraWords(n), 0x0103) }})
	add("kept", file{pages: []uint32{0}, reserved: []uint32{1, 2, 3}, size: 100, change: func(n nodeBlock) { n[inodeAdvise] = adviseKeepSize }})
	add("pinned", file{pages: []uint32{0, 1}, size: 100, change: func(n nodeBlock) { n[inodeInline] |= inlinePinned }})
	add("attributes", file{pages: []uint32{0}, xattrs: xattr(1, "colour", []byte("blue"))})
	add("more attributes", file{xattrs: xattr(1, "colour", []byte("blue")), more: xattr(1, "long", bytes.Repeat([]byte{0x55}, 900))})
	add("renamed", file{change: func(n nodeBlock) { // over another
		n[inodeAdvise] = adviseLostParent
		n[inodeName] = 'x'
		n.put32(inodeParent, 1)
	}})
	add("renamed and synced", file{change: func(n nodeBlock) { // Linux has its parent right again, and the old name
		n.putName([]byte("old name"))
		n.putTime(inodeCtime, inodeCtimeNsec, time.Unix(1_600_000_000, 4_000_000))
	}})
	add("extent", file{pages: []uint32{0, 1, 2}, change: func(n nodeBlock) {
		n.put32(inodeExtent+4, m.next[warmData])
		n.put32(inodeExtent+8, 3)
	}})
	if m.g.Has(featCompression) {
		l.at["compressed"] = m.compressed(m.root, "compressed")
	}
	dir := m.dir(m.root, "dir")
	l.at["dir"] = dir
	l.at["inner"] = m.file(dir, "inner", file{inline: []byte("inner")})
	twice := m.file(dir, "twice", file{inline: []byte("two names"), links: 2})
	l.at["twice"] = twice
	m.root.enter("twice too", twice.ino, typeFile)
	if m.g.Has(featCasefold) {
		folded := m.dir(m.root, "folded")
		folded.node.put32(inodeFlags, flagCasefold)
		l.at["folded"] = folded
		m.file(folded, "README.TXT", file{})
		m.file(folded, "ÄÖÜ", file{})
	}
	l.at["small"] = m.inlineDir(m.root, "small")
	l.at["small file"] = m.file(l.at["small"], "small file", file{})
	many := m.dir(m.root, "many")
	l.at["many"] = many
	names := 600
	if m.few {
		names = 5
	}
	for i := range names {
		m.file(many, fmt.Sprintf("a name that takes four slots %d", i), file{})
	}
	return l
}

// newOrphans is a lab with a file that was deleted while it was open, and a list
// of orphans that has it, or the inodes given.
func newOrphans(t testing.TB, list ...uint32) *lab {
	t.Helper()
	l := fill(newBuilder(t, 64<<20, vol.FormatOptions{}))
	x := l.file(l.root, "", file{pages: []uint32{0, 1}, change: func(n nodeBlock) { n.put32(inodeLinks, 0) }})
	l.at["orphan"] = x
	l.orphans = append([]uint32{x.ino}, list...)
	l.finish()
	return l
}

// compressed is a file with a cluster that is compressed, and one that is not.
func (m *builder) compressed(dir *built, name string) *built {
	x := m.file(dir, name, file{pages: []uint32{1, 2, 4, 5, 6, 7}, reserved: []uint32{3}, change: func(n nodeBlock) {
		n.put32(inodeFlags, flagCompressed)
		n[inodeLogCluster] = 2
		n.put64(inodeComprBlocks, 2)
	}})
	x.point(0, compressAddr)
	m.edit(x.pages[1], func(b []byte) {
		z := packedLZO(comprLZO, "0123456789abcdef", 4*len(b))
		binary.LittleEndian.PutUint32(b, uint32(len(z)))
		copy(b[clusterHeadLen:], z)
	})
	return x
}

// check runs a check, and holds it to changing nothing.
func (m *builder) check() *vol.Result {
	m.t.Helper()
	return checked(m.t, m.d)
}

func checked(t testing.TB, d dev.Device) *vol.Result {
	t.Helper()
	trace := devtest.NewTrace(d)
	res, err := vol.Fsck(context.Background(), trace, Driver(), vol.CheckOptions{}, nil, nil)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	for _, o := range trace.Ops() {
		if o.Kind == devtest.Write || o.Kind == devtest.Zero {
			t.Errorf("the check did %v", o)
		}
	}
	return res
}

// found lists what a check found, as slug, place and path.
func found(res *vol.Result) []string {
	var out []string
	for _, o := range res.Outcomes {
		out = append(out, fmt.Sprintf("%s %v %s %s", o.Slug, o.Loc.Range, o.Loc.Path, o.Message()))
	}
	return out
}

// slugs are the rows that were found, each once, in order of name.
func slugs(res *vol.Result) []string {
	var out []string
	for _, o := range res.Outcomes {
		out = append(out, o.Slug)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestLabIsClean: a volume that has everything has nothing wrong with it, on
// blocks of every size and with all features.
func TestLabIsClean(t *testing.T) {
	for _, c := range []struct {
		name    string
		size    int64
		cluster int64
		o       vol.FormatOptions
		info    string // the one finding that there may be
	}{
		{name: "plain", size: 64 << 20},
		{name: "features", size: 64 << 20, o: vol.FormatOptions{Features: labFeatures}},
		{name: "extra_attr", size: 64 << 20, o: vol.FormatOptions{Features: "extra_attr"}},
		{name: "sections", size: 256 << 20, o: vol.FormatOptions{SegmentsPerSection: ptr(2), SectionsPerZone: ptr(2)}},
		{name: "8 KiB", size: 256 << 20, cluster: 8192, info: "sb-page-size"},
		{name: "16 KiB", size: 512 << 20, cluster: 16384, o: vol.FormatOptions{Features: labFeatures}, info: "sb-page-size"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.ClusterSize = c.cluster
			l := fillLab(newBuilder(t, c.size, c.o))
			res := l.check()
			if got := slugs(res); strings.Join(got, " ") != c.info {
				t.Errorf("found %q", found(res))
			}
			if res.Stats.Files == 0 || res.Stats.Directories < 3 || res.Stopped {
				t.Errorf("stats are %+v", res.Stats)
			}
			scan, err := mountScan(context.Background(), l.d, vol.ScanOptions{})
			if err != nil || len(scan.Reasons) > 0 != (c.info != "") || scan.Dirty {
				t.Errorf("mount-scan says %+v, %v", scan, err)
			}
		})
	}
}

// TestCheckAlone: with one worker the same is found.
func TestCheckAlone(t *testing.T) {
	l := newLab(t, "")
	l.editSummary(warmData, func(b summaryBlock) { clear(b[:100*summaryLen]) })
	want := found(l.check())
	res, err := vol.Fsck(t.Context(), l.d, Driver(), vol.CheckOptions{Workers: 1}, nil, nil)
	if err != nil || len(want) == 0 || !slices.Equal(found(res), want) {
		t.Errorf("found %q, %v; should be %q", found(res), err, want)
	}
}

// TestSharedBlocks: a directory that has the same block many times over is read
// once, and soon.
func TestSharedBlocks(t *testing.T) {
	l := newLab(t, "")
	x := l.at["many"]
	x.editInode(func(n nodeBlock) {
		for i := range n.words() {
			n.putWord(i, x.pages[0])
		}
	})
	looks(t, l.d)
	res := l.check()
	if got := slugs(res); !slices.Contains(got, "addr-twice") || res.Stats.BytesRead > 16<<20 {
		t.Errorf("found %q, %d bytes read", got, res.Stats.BytesRead)
	}
}

// TestManyFindings: of a volume that is wrong throughout everything is counted,
// and not everything kept.
func TestManyFindings(t *testing.T) {
	w := newWalk(t.Context(), nil, &state{g: &Geometry{BlockSize: minBlock, MainSegments: 1}}, nil, make([]byte, 16))
	h := newHarvest(w)
	for range 3 {
		h.reset()
		for range maxNotes + 1 {
			h.note(note{slug: "inode-time", inode: -1})
		}
		h.note(note{slug: "inode-links", inode: -1})
		w.takeNotes(h, 0)
		h.full = w.full
	}
	if len(w.notes) != maxNotes+3 || w.noted["inode-time"] != 3*(maxNotes+1) || !h.enough("inode-time") || h.enough("inode-links") {
		t.Errorf("%d notes are kept of %v", len(w.notes), w.noted)
	}
}
