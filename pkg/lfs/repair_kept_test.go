package lfs

import (
	"strconv"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// loss is a damage after which something must still be there, and where.
type loss struct {
	name  string
	do    func(l *lab)
	plain bool            // it is a lab without features that it makes
	lost  map[string]bool // files of the lab that may be other than they were
	from  string          // a directory or file of the lab that is in lost+found then
}

func losses() []loss {
	gone := func(l *lab, name string) { // the inode, its block and its name
		x := l.at[name]
		l.editNAT(x.ino, func(e natEntry) { clear(e) })
		l.edit(x.addr, func(b []byte) { clear(b) })
		l.root.editEntry(name, func(d dentryBlock, i int) { d.drop(i) })
	}
	mode := func(name string, m uint16) func(l *lab) {
		return func(l *lab) {
			l.at[name].editInode(func(n nodeBlock) { n.put16(inodeMode, n.mode()&^modeType|m) })
		}
	}
	return []loss{
		{name: "direct node", do: func(l *lab) {
			l.at["direct"].editInode(func(n nodeBlock) { n.putWord(n.words(), 0) })
		}},
		{name: "indirect node", do: func(l *lab) {
			l.at["indirect"].editInode(func(n nodeBlock) { n.putWord(n.words()+2, 0) })
		}},
		{name: "attributes", do: func(l *lab) {
			l.at["more attributes"].editInode(func(n nodeBlock) { n.put32(inodeXattrNid, 0) })
		}},
		{name: "node on the way", do: func(l *lab) {
			x := l.at["indirect"]
			x.editInode(func(n nodeBlock) { n.putWord(n.words()+2, 0) })
			n := x.nodes[3]
			l.editNAT(n.nid, func(e natEntry) { clear(e) })
			l.edit(n.addr, func(b []byte) { clear(b) })
		}},
		{name: "inode, direct", do: func(l *lab) { gone(l, "direct") }, lost: map[string]bool{"direct": true}},
		{name: "inode, indirect", do: func(l *lab) { gone(l, "indirect") }, lost: map[string]bool{"indirect": true}},
		{name: "inode, double", do: func(l *lab) { gone(l, "double") }, lost: map[string]bool{"double": true}},
		{name: "nodes among data", do: func(l *lab) { l.mix() }},
		{name: "first blocks of both packs", do: func(l *lab) {
			for i := range packCount {
				l.edit(l.g.PackBlock(i), func(b []byte) { clear(b[:100]) })
			}
		}},
		{name: "payload, with orphans", do: func(l *lab) {
			l.list()
			l.editSupers(func(b superblock) { b.put32(sbCPPayload, 1) })
		}, plain: true},
		{name: "lengths of bitmaps", do: func(l *lab) {
			l.editPack(func(c checkpoint) { c.put32(cpSitBitmap, 1<<30); c.put32(cpNatBitmap, 7); c.put32(cpStartSum, 77) }, 0, 0)
		}},
		{name: "file that quotas would be kept in", do: func(l *lab) {
			l.editSupers(func(b superblock) { b.put32(sbQuotaInos, l.at["plain"].ino) })
		}},
		{name: "directory as file", do: mode("many", modeFile)},
		{name: "directory as device", do: mode("many", modeChar)},
		{name: "directory in its inode as file", do: mode("small", modeFile)},
		{name: "directory of no type", do: mode("many", 0)},
		{name: "file as directory", do: mode("plain", modeDir)},
		{name: "large file as directory", do: mode("indirect", modeDir)},
		{name: "file as directory without a name", do: func(l *lab) {
			mode("plain", modeDir)(l)
			l.root.editEntry("plain", func(d dentryBlock, i int) { d.drop(i) })
		}, from: "plain"},
		{name: "directory as file without a name", do: func(l *lab) {
			mode("dir", modeFile)(l)
			l.root.editEntry("dir", func(d dentryBlock, i int) { d.drop(i) })
		}, from: "dir"},
	}
}

// TestKept: what is left of files and directories is found again after -y, as
// much of it as there is, and where it was or in lost+found.
func TestKept(t *testing.T) {
	for _, c := range losses() {
		for _, features := range []string{"", labFeatures} {
			if c.plain && features != "" {
				continue
			}
			t.Run(c.name+" "+features[:min(1, len(features))], func(t *testing.T) {
				l := newLab(t, features)
				before, paths := holdings(t, l.d), l.paths()
				c.do(l)
				txn := dev.Begin(l.d)
				defer txn.Rollback()
				res, err := vol.Fsck(t.Context(), txn, Driver(), vol.CheckOptions{}, voltest.Always, nil)
				if err != nil || res.Unproven != nil || res.Left(vol.SevWarning) {
					t.Fatalf("-y: %v, %+v, %q", err, res.Unproven, found(res))
				}
				if again := checked(t, txn); len(again.Outcomes) > 0 {
					t.Errorf("then there is %q", found(again))
				}
				now := holdings(t, txn)
				for name, x := range l.at {
					if _, was := paths[name]; x.node.isDir() || !was {
						continue
					}
					got, want := now[x.ino], before[x.ino]
					if c.lost[name] { // all but the blocks that the inode led to
						if got, want = distances(got), distances(want); got != want {
							t.Errorf("of %s there is %q, should be %q: %q", name, got, want, found(res))
						}
						continue
					}
					if got != want {
						t.Errorf("%s holds %q, held %q: %q", name, got, want, found(res))
					}
					path := paths[name]
					if c.from != "" && (path == c.from || strings.HasPrefix(path, c.from+"/")) {
						path = textf("lost+found/#%d", l.at[c.from].ino) + path[len(c.from):]
					}
					if x.node.fileType() == modeFile && x.node.size() < 1<<20 && name != "compressed" {
						contentsOf(t, txn, path)
					}
				}
			})
		}
	}
}

// mix moves an inode among data, by all that says where it is.
func (l *lab) mix() {
	x, blk := l.at["empty"], l.next[warmData]
	l.write(blk, l.read(x.addr))
	l.editNAT(x.ino, func(e natEntry) { e.put(0, x.ino, blk) })
	l.editSIT(l.g.SegmentOf(x.addr), func(e sitEntry) { flip(e, l.g.IndexOf(x.addr)) })
	l.editSIT(l.g.SegmentOf(blk), func(e sitEntry) { flip(e, l.g.IndexOf(blk)) })
	l.editSummary(warmData, func(b summaryBlock) { b.entry(int(l.g.IndexOf(blk))).put(x.ino, 0, 0) })
	l.editPack(func(c checkpoint) { c.putLog(warmData, l.g.SegmentOf(blk), uint16(l.g.IndexOf(blk))+1) }, 0, 0)
}

// distances is what a file holds, as holdings has it, with pages that no inode
// has counted from the first of them: how many one had that is gone cannot always
// be told.
func distances(s string) string {
	out, first := "", -1
	for _, word := range strings.Fields(s)[2:] {
		page, sum, _ := strings.Cut(word, ":")
		n, _ := strconv.Atoi(page)
		switch {
		case n < 800:
			n++
		case first < 0:
			n, first = 0, n
		default:
			n -= first
		}
		out += textf(" %d:%s", n, sum)
	}
	return out
}

// paths are those of what the lab has.
func (l *lab) paths() map[string]string {
	out := map[string]string{}
	for name, x := range l.at {
		out[name] = strings.TrimPrefix(x.path(), "/")
	}
	return out
}
