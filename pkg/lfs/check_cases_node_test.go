package lfs

import "github.com/fatkit/fatkit/pkg/vol"

// nodeDamages break nodes and what they lead to.
func nodeDamages() []damage {
	pathed := func(name string) func(l *lab) vol.Location {
		return func(l *lab) vol.Location { return vol.Location{Path: "/" + name} }
	}
	inode := func(slug, name, more string, where func(l *lab) vol.Location, fn func(l *lab, n nodeBlock)) damage {
		return damage{slug: slug, more: more, do: func(l *lab) vol.Location {
			l.at[name].editInode(func(n nodeBlock) { fn(l, n) })
			return where(l)
		}}
	}
	footer := func(slug, name, more string, place uint32, fn func(n nodeBlock)) damage {
		return damage{slug: slug, more: more, do: func(l *lab) vol.Location {
			n := l.at[name].nodes[place]
			l.edit(n.addr, func(b []byte) { fn(nodeBlock(b)) })
			return vol.Location{Path: "/" + name, Cluster: n.addr, Range: l.g.BlockRange(n.addr, 1)}
		}}
	}
	child := func(l *lab, n nodeBlock, i int, nid uint32) { n.putWord(n.words()+i, nid) }
	return []damage{
		footer("node-footer", "direct", "inode-blocks sit-leak", 1, func(n nodeBlock) { n.put32(len(n)-footerNid, 77) }),
		{slug: "node-footer", name: " inode", more: "cp-totals dentry-ino node-lost sit-leak", do: func(l *lab) vol.Location {
			x := l.at["empty"]
			l.edit(x.addr, func(b []byte) { nodeBlock(b).put32(len(b)-footerIno, 77) })
			return vol.Location{Cluster: x.addr, Range: l.g.BlockRange(x.addr, 1)}
		}},
		footer("node-place", "direct", "", 1, func(n nodeBlock) { n.put32(len(n)-footerFlag, 9<<footerShift) }),
		footer("node-place", "more attributes", "", xattrPlace, func(n nodeBlock) { n.put32(len(n)-footerFlag, 0) }),
		inode("node-pointer", "plain", "", pathed("plain"), func(l *lab, n nodeBlock) { child(l, n, 0, 1<<31) }),
		inode("node-pointer", "plain", "", pathed("plain"), func(l *lab, n nodeBlock) { child(l, n, 4, l.nid+5) }),
		inode("node-pointer", "plain", "", pathed("plain"), func(l *lab, n nodeBlock) { child(l, n, 2, l.at["inline"].ino) }),
		inode("node-pointer", "plain", "", pathed("plain"), func(l *lab, n nodeBlock) { child(l, n, 0, l.at["direct"].nodes[1].nid) }),
		inode("node-pointer", "plain", "", pathed("plain"), func(_ *lab, n nodeBlock) { n.put32(inodeXattrNid, 0xFFFFFFFF) }),
		inode("node-twice", "direct", "inode-blocks node-lost sit-leak", pathed("direct"), func(l *lab, n nodeBlock) { child(l, n, 1, l.at["direct"].nodes[1].nid) }),
		inode("addr-range", "plain", "inode-blocks sit-leak", pathed("plain"), func(l *lab, n nodeBlock) { n.putWord(2, 5) }),
		{slug: "addr-twice", more: "sit-leak", do: func(l *lab) vol.Location {
			a := l.at["plain"].pages[0]
			l.at["pinned"].editInode(func(n nodeBlock) { n.putWord(0, a) })
			return vol.Location{Cluster: a, Range: l.g.BlockRange(a, 1), Path: "/pinned"}
		}},
		inode("addr-compress", "plain", "inode-blocks sit-leak", pathed("plain"), func(_ *lab, n nodeBlock) { n.putWord(2, compressAddr) }),
		{slug: "addr-compress", name: " slot", with: "all", do: func(l *lab) vol.Location {
			x := l.at["compressed"]
			x.editInode(func(n nodeBlock) { n.putWord(l.g.extraWords(n)+9, compressAddr) })
			return vol.Location{Path: "/compressed"}
		}},
		{slug: "xattr-list", do: func(l *lab) vol.Location {
			x := l.at["attributes"]
			x.editInode(func(n nodeBlock) { n[x.xattrOff()+xattrHeaderLen+3] = 0xFF })
			return vol.Location{Path: "/attributes", Cluster: x.addr}
		}},
		{slug: "xattr-list", name: " beyond", do: func(l *lab) vol.Location {
			x := l.at["more attributes"]
			x.editInode(func(n nodeBlock) { n[x.xattrOff()+xattrHeaderLen+3] = 0xFF })
			return vol.Location{Path: "/more attributes", Cluster: x.nodes[xattrPlace].addr}
		}},
		{slug: "xattr-list", name: " junk", do: func(l *lab) vol.Location {
			x := l.at["attributes"]
			x.editInode(func(n nodeBlock) { n[x.xattrOff()+4*defaultXattrWords-1] = 0xFF })
			return vol.Location{Path: "/attributes", Cluster: x.addr}
		}},
		{slug: "xattr-magic", do: func(l *lab) vol.Location {
			x := l.at["attributes"]
			x.editInode(func(n nodeBlock) { n[x.xattrOff()] ^= 1 })
			return vol.Location{Path: "/attributes", Cluster: x.addr}
		}},
	}
}

// xattrOff is where the list of attributes starts in the inode of x.
func (x *built) xattrOff() int { return inodeAddrs + 4*(x.node.words()-x.m.g.xattrWords(x.node)) }
