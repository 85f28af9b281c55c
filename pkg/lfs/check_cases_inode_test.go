package lfs

import (
	"encoding/binary"
	"time"

	"github.com/fatkit/fatkit/pkg/vol"
)

// inodeDamages break inodes and quota files.
func inodeDamages() []damage {
	with := func(features, slug, name, more string, fn func(l *lab, n nodeBlock)) damage {
		return damage{slug: slug, more: more, with: features, do: func(l *lab) vol.Location {
			x := l.at[name]
			x.editInode(func(n nodeBlock) { fn(l, n) })
			return x.in()
		}}
	}
	edit := func(slug, name, more string, fn func(n nodeBlock)) damage {
		return with("", slug, name, more, func(_ *lab, n nodeBlock) { fn(n) })
	}
	return append([]damage{
		edit("inode-mode", "empty", "dentry-type", func(n nodeBlock) { n.put16(inodeMode, 0o644) }),
		edit("inode-links", "plain", "", func(n nodeBlock) { n.put32(inodeLinks, 9) }),
		edit("inode-links", "plain", "", func(n nodeBlock) { n.put32(inodeLinks, 0) }),
		edit("inode-links", "dir", "", func(n nodeBlock) { n.put32(inodeLinks, 3) }),
		edit("inode-blocks", "plain", "", func(n nodeBlock) { n.put64(inodeBlocks, 1<<60) }),
		edit("inode-size", "plain", "", func(n nodeBlock) { n.put64(inodeSize, 1<<62) }),
		edit("inode-size-short", "plain", "", func(n nodeBlock) { n.put64(inodeSize, 5) }),
		edit("inode-dir-size", "many", "", func(n nodeBlock) { n.put64(inodeSize, 4096) }),
		edit("inode-extent", "extent", "", func(n nodeBlock) { n.put32(inodeExtent, 1) }),
		edit("inode-extent", "extent", "", func(n nodeBlock) { n.put32(inodeExtent+4, n.u32(inodeExtent+4)-1) }),
		edit("inode-extent", "dir", "", func(n nodeBlock) { n.put32(inodeExtent+8, 128) }),
		edit("inode-extent-range", "extent", "", func(n nodeBlock) { n.put32(inodeExtent+8, 4) }),
		edit("inode-extent-range", "extent", "", func(n nodeBlock) { n.put32(inodeExtent+4, n.u32(inodeExtent+4)+1) }),
		edit("inode-extent-range", "plain", "", func(n nodeBlock) { n.put32(inodeExtent+8, 0xFFFFFFFF) }),
		with("", "inode-extent-range", "extent", "", func(l *lab, n nodeBlock) { n.put32(inodeExtent+4, l.g.Main-1) }),
		with("", "inode-extent-range", "inline", "", func(l *lab, n nodeBlock) {
			n.put32(inodeExtent+4, uint32(l.g.MainEnd()))
			n.put32(inodeExtent+8, 1)
		}),
		edit("inode-dir-level", "many", "", func(n nodeBlock) { n[inodeDirLevel] = 255 }),
		edit("inode-dir-level", "many", "", func(n nodeBlock) { n[inodeDirLevel] = 2 }),
		edit("inode-extra", "inline", "", func(n nodeBlock) { n[inodeInline] |= inlineExtra }),
		with("extra_attr", "inode-extra", "empty", "", func(_ *lab, n nodeBlock) { n.put16(inodeExtraLen, 5) }),
		with("extra_attr", "inode-extra", "empty", "", func(_ *lab, n nodeBlock) { n.put16(inodeExtraLen, 4000) }),
		with("extra_attr,flexible_inline_xattr", "inode-inline-xattr", "attributes", "", func(_ *lab, n nodeBlock) { n.put16(inodeXattrWords, 0xFFFF) }),
		with("extra_attr,flexible_inline_xattr", "inode-inline-xattr", "attributes", "", func(_ *lab, n nodeBlock) { n.put16(inodeXattrWords, 0) }),
		with("extra_attr,flexible_inline_xattr", "inode-inline-xattr", "attributes", "", func(_ *lab, n nodeBlock) { n.put16(inodeXattrWords, minXattrWords-1) }),
		with("extra_attr,flexible_inline_xattr", "inode-inline-xattr", "spread", "", func(_ *lab, n nodeBlock) { n.put16(inodeXattrWords, 0xFFFF) }),
		edit("inode-inline", "dir", "", func(n nodeBlock) { n[inodeInline] |= inlineData }),
		edit("inode-inline", "inline", "", func(n nodeBlock) { n[inodeInline] |= inlineDentry }),
		edit("inode-inline", "fifo", "", func(n nodeBlock) { n[inodeInline] |= inlineDentry }),
		edit("inode-inline", "inline", "", func(n nodeBlock) { n.put64(inodeSize, 1<<20) }),
		edit("inline-exist", "inline", "", func(n nodeBlock) { n[inodeInline] &^= inlineExist }),
		{slug: "inode-checksum", with: "extra_attr,inode_checksum", do: func(l *lab) vol.Location {
			x := l.at["plain"]
			l.edit(x.addr, func(b []byte) { b[inodeUID] ^= 1 })
			return x.in()
		}},
		edit("inode-casefold", "dir", "", func(n nodeBlock) { n.put32(inodeFlags, flagCasefold) }),
		edit("inode-compression", "plain", "", func(n nodeBlock) { n.put32(inodeFlags, flagCompressed) }),
		with("all", "inode-compress", "compressed", "", func(_ *lab, n nodeBlock) { n[inodeLogCluster] = 1 }),
		with("all", "inode-saved", "compressed", "", func(_ *lab, n nodeBlock) { n.put64(inodeComprBlocks, 7) }),
		edit("inode-flags", "plain", "", func(n nodeBlock) { n.put32(inodeFlags, 1<<20|flagNoDump) }),
		{slug: "inline-tail", lost: 1, do: func(l *lab) vol.Location { // the lab compares all of what is in the inode
			x := l.at["inline"]
			x.editInode(func(n nodeBlock) { n[inodeAddrs+4*inlineReserved+int(n.size())] = 1 })
			return x.in()
		}},
		edit("inode-name", "plain", "", func(n nodeBlock) { n[inodeName] = 'x' }),
		edit("inode-name", "socket", "", renamed),
		edit("inode-name", "plain", "", func(n nodeBlock) { renamed(n); n[inodeName+1] = 0 }),
		edit("inode-name", "plain", "", func(n nodeBlock) { renamed(n); n.put32(inodeNameLen, 0) }),
		edit("inode-name", "plain", "inode-parent-file", func(n nodeBlock) { renamed(n); n.put32(inodeParent, 9999) }),
		edit("inode-name-length", "plain", "", func(n nodeBlock) { n.put32(inodeNameLen, 300) }),
		edit("inode-parent", "dir", "", func(n nodeBlock) { n.put32(inodeParent, 9999) }),
		edit("inode-parent-file", "plain", "", func(n nodeBlock) { n.put32(inodeParent, 9999) }),
		edit("inode-time", "plain", "", func(n nodeBlock) { n.put32(inodeMtimeNsec, 1e9) }),
		edit("inode-depth", "many", "", func(n nodeBlock) { n.put32(inodeDepth, 1) }),
		edit("inode-depth", "many", "", func(n nodeBlock) { n.put32(inodeDepth, 64) }),
		{slug: "symlink-empty", lost: 1, do: func(l *lab) vol.Location { // what the lab has there is no path
			x := l.at["link"]
			x.editInode(func(n nodeBlock) { n.put64(inodeSize, 0) })
			return x.in()
		}},
		edit("symlink-empty", "short link", "", func(n nodeBlock) { n.put64(inodeSize, 0) }),
	}, inodeTreeDamages()...)
}

// renamed gives an inode another name of its own, and the times of one whose
// entry got another name since.
func renamed(n nodeBlock) {
	n[inodeName] = 'x'
	n.putTime(inodeCtime, inodeCtimeNsec, time.Unix(1_600_000_000, 4_000_000))
}

// inodeTreeDamages are those that show only beside others.
func inodeTreeDamages() []damage {
	quota := func(slug string, fn func(f []byte)) damage {
		return damage{slug: slug, with: "quota", do: func(l *lab) vol.Location {
			for _, x := range l.all {
				if x.ino == l.g.QuotaInos[0] {
					for i := range uint32(2) {
						l.edit(x.pages[i], func(b []byte) {
							if i == 0 && slug == "quota-file" || i == 1 && slug != "quota-file" {
								fn(b)
							}
						})
					}
					return vol.Location{Path: "<quota 0>", Cluster: x.addr}
				}
			}
			return vol.Location{}
		}}
	}
	return []damage{
		{slug: "inode-unreachable", more: "inode-links", do: func(l *lab) vol.Location {
			// Its only name leads to another file.
			l.root.editEntry("inline", func(d dentryBlock, i int) { setIno(d, i, l.at["plain"].ino) })
			return vol.Location{Cluster: l.at["inline"].addr}
		}},
		{slug: "root-lost", do: func(l *lab) vol.Location {
			l.root.editInode(func(n nodeBlock) { n.put16(inodeMode, modeFile|0o644) })
			return at(l.g.BlockOff(l.g.NAT)+rootIno*natLen, natLen)
		}},
		{slug: "root-lost", name: ", owner", do: func(l *lab) vol.Location {
			l.editSummary(hotData, func(b summaryBlock) {
				_, e := b.journal().nat(0)
				e.put(0, l.at["plain"].ino, e.addr())
			})
			return at(l.g.BlockOff(l.g.NAT)+rootIno*natLen, natLen)
		}},
		quota("quota-file", func(b []byte) { b[0] ^= 1 }),
		quota("quota-file", func(b []byte) { b[4] = 7 }),
		quota("quota-file", func(b []byte) { binary.LittleEndian.PutUint32(b[quotaBlock:], 1<<30) }),
		quota("quota-file", func(b []byte) { binary.LittleEndian.PutUint32(b[quotaBlock+4*77:], 1) }),
		quota("quota-usage", func(b []byte) { b[newQuotaLeaf%4*quotaBlock+quotaLeaf+quotaInodes]++ }),
		{slug: "quota-file", name: " lost", with: "quota", more: "cp-totals sit-leak nat-address", do: func(l *lab) vol.Location {
			l.editNAT(l.g.QuotaInos[1], func(e natEntry) { e.put(0, e.ino(), 1) })
			return vol.Location{Path: "<quota 1>"}
		}},
	}
}
