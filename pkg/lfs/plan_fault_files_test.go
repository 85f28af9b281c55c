package lfs

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/fatkit/fatkit/pkg/dev"
)

// logFault: each log has a zone of its own, and writes at its front.
func (p *planned) logFault() error {
	cp := checkpoint(p.pack(0))
	zones := map[uint32]int{}
	for i := range logCount {
		segment := cp.logSegment(i)
		if p.g.ReadOnly() && i != hotData && i != hotNode {
			continue
		}
		if segment >= p.g.MainSegments || cp.logAlloc(i) != allocLFS || segment%p.g.SegsPerSec != 0 {
			return fmt.Errorf("log %d is in segment %d of %d", i, segment, p.g.MainSegments)
		}
		if !p.g.ReadOnly() && segment%(p.g.SegsPerSec*p.g.SecsPerZone) != 0 {
			return fmt.Errorf("log %d is in segment %d, in the middle of a zone", i, segment)
		}
		zone := p.g.ZoneOf(segment)
		if other, ok := zones[zone]; ok {
			return fmt.Errorf("logs %d and %d share zone %d", other, i, zone)
		}
		zones[zone] = i
	}
	if !p.g.ReadOnly() && !dev.AllZero(p.block(p.g.SegmentBlock(cp.logSegment(warmNode)))) {
		return fmt.Errorf("a log from before could go on")
	}
	for i := logsPerKind; i < cpLogs; i++ {
		if cp.u32(cpDataSegments+4*i) != nullSegment || cp.u32(cpNodeSegments+4*i) != nullSegment {
			return fmt.Errorf("log %d of a kind is in use", i)
		}
	}
	return nil
}

// compact is the block of compact summaries: both journals and the summaries
// of hot data.
func (p *planned) compact() (nat, sit journal, entries []byte) {
	b := p.pack(0)
	c := b[int64(checkpoint(b).startSum())*p.g.BlockSize:][:p.g.BlockSize]
	n := journalBytes(len(c))
	return journal(c[:n]), journal(c[n : 2*n]), c[2*n:]
}

// tableFault: the tables say what the nodes and the checkpoint say.
func (p *planned) tableFault() error {
	cp := checkpoint(p.pack(0))
	nat, sit, entries := p.compact()
	nodes := p.nodes()
	table := p.block(p.g.NATBlock(0, false))
	for nid := range uint32(2) {
		if e := natEntry(table[natLen*(nid+1):]); e.ino() != nid+1 || e.addr() != 1 {
			return fmt.Errorf("NAT has inode %d at %d for node %d", e.ino(), e.addr(), nid+1)
		}
	}
	at := 0
	for i, n := range nodes {
		nid, e := nat.nat(i)
		inTable := natEntry(table[natLen*n.nid():][:natLen])
		if nid != n.nid() || string(e) != string(inTable) || e.ino() != n.nid() || e.addr() != p.nodeAddr(i) {
			return fmt.Errorf("NAT and its journal have %x and %x for node %d", inTable, e, n.nid())
		}
		for k := range int(n.blocks() - 1) {
			s := summary(entries[summaryLen*at:])
			if s.nid() != n.nid() || int(s.offset()) != k || s.version() != 0 {
				return fmt.Errorf("summary %d has block %d of %d", at, s.offset(), s.nid())
			}
			at++
		}
	}
	if nat.count() != len(nodes) || at != int(cp.logOffset(hotData)) || len(nodes) != int(cp.logOffset(hotNode)) {
		return fmt.Errorf("%d nodes with %d blocks, %d in the journal, logs at %d and %d", len(nodes), at, nat.count(), cp.logOffset(hotNode), cp.logOffset(hotData))
	}
	seen := map[int]bool{}
	for i := range sit.count() {
		segment, e := sit.sit(i)
		kind, used := e.kind(), 0
		for _, b := range e.validMap() {
			used += bits.OnesCount8(b)
		}
		if seen[kind] || segment != cp.logSegment(kind) || used != e.count() || used != int(cp.logOffset(kind)) || used > 0 && e.validMap()[0]&0x80 == 0 {
			return fmt.Errorf("SIT has segment %d of kind %d with %d of %d blocks", segment, kind, e.count(), used)
		}
		seen[kind] = true
	}
	if want := map[bool]int{false: 6, true: 2}[p.g.ReadOnly()]; sit.count() != want {
		return fmt.Errorf("%d segments in the journal of SIT", sit.count())
	}
	return nil
}

func (p *planned) nodeAddr(i int) uint32 {
	return p.g.SegmentBlock(checkpoint(p.pack(0)).logSegment(hotNode)) + uint32(i)
}

// nodes are the blocks in the log of hot nodes.
func (p *planned) nodes() (ns []nodeBlock) {
	for i := range int(checkpoint(p.pack(0)).logOffset(hotNode)) {
		ns = append(ns, p.block(p.nodeAddr(i)))
	}
	return ns
}

// fileFault: the inodes are those of the features, and directories name them.
func (p *planned) fileFault() error {
	nodes := p.nodes()
	for i, n := range nodes {
		ino := uint32(rootIno + i)
		if n.nid() != ino || n.ino() != ino || n.next() != p.nodeAddr(i)+1 || n.nodeFlag() != 0 {
			return fmt.Errorf("node %d is of %d, followed by %d", n.nid(), n.ino(), n.next())
		}
		if n.u64(inodeMtime) != uint64(p.o.Time) || p.g.Has(featInodeCrtime) && n.u64(inodeCrtime) != uint64(p.o.Time) {
			return fmt.Errorf("node %d has times %d and %d", ino, n.u64(inodeMtime), n.u64(inodeCrtime))
		}
		if o := p.o.RootOwner; o != nil && (n.uid() != o[0] || n.gid() != o[1]) || o == nil && (n.uid() != 0 || n.gid() != 0) {
			return fmt.Errorf("node %d belongs to %d:%d", ino, n.uid(), n.gid())
		}
		if n.hasExtra() != p.g.Has(featExtraAttr) || n.extraLen()%4 != 0 || n.extraLen() > 36 {
			return fmt.Errorf("node %d has %d bytes of extra attributes", ino, n.extraLen())
		}
		if p.g.Has(featInodeChecksum) && (!n.hasSum() || n.checksum() != inodeSum(inodeSeed(p.b.uuid()), n)) {
			return fmt.Errorf("node %d has a wrong checksum", ino)
		}
	}
	if err := p.dirFault(nodes); err != nil {
		return err
	}
	kind := 0
	for i := range nodes[1:] {
		for kind < quotaKinds && p.g.QuotaInos[kind] == 0 {
			kind++
		}
		if kind < quotaKinds {
			if p.g.QuotaInos[kind] != uint32(firstNid+i) {
				return fmt.Errorf("quota files are %v", p.g.QuotaInos)
			}
			kind++
		} else if !p.g.Has(featLostFound) || i != len(nodes)-2 {
			return fmt.Errorf("node %d is of no use", firstNid+i)
		}
	}
	return nil
}

// names are the entries of a directory, as name=inode.
func (p *planned) names(n nodeBlock) string {
	d := newDentryBlock(p.block(n.word(n.extraLen() / 4)))
	var names []string
	for i := 0; i < d.slots; i++ {
		if !d.used(i) {
			continue
		}
		e := d.entry(i)
		name := d.name(i, e.nameLen())
		if e.hash() != nameHash(name) || e.fileType() != typeDir {
			return fmt.Sprintf("entry %q has hash %#x, type %d", name, e.hash(), e.fileType())
		}
		names = append(names, fmt.Sprintf("%s=%d", name, e.ino()))
		i += nameSlots(e.nameLen()) - 1
	}
	return strings.Join(names, " ")
}

func (p *planned) dirFault(nodes []nodeBlock) error {
	want, links := ".=3 ..=3", uint32(2)
	if p.g.Has(featLostFound) {
		lost := nodes[len(nodes)-1]
		want += fmt.Sprintf(" lost+found=%d", lost.nid())
		links++
		if got := p.names(lost); got != fmt.Sprintf(".=%d ..=3", lost.nid()) || lost.parent() != rootIno || lost.mode() != 0o40700 || lost.links() != 2 || lost.depth() != 1 {
			return fmt.Errorf("lost+found has %s, parent %d, mode %o, %d links", got, lost.parent(), lost.mode(), lost.links())
		}
	}
	root := nodes[0]
	if got := p.names(root); got != want || root.mode() != 0o40755 || root.links() != links || root.depth() != 1 || root.size() != uint64(p.g.BlockSize) {
		return fmt.Errorf("the root has %s, mode %o, %d links, should have %s", got, root.mode(), root.links(), want)
	}
	return nil
}

// countFault: the checkpoint counts right, and keeps back what it must.
func (p *planned) countFault() error {
	cp := checkpoint(p.pack(0))
	nodes, blocks := p.nodes(), uint64(0)
	for _, n := range nodes {
		blocks += n.blocks()
	}
	logs := uint32(6)
	if p.g.ReadOnly() {
		logs = 2
	}
	switch {
	case cp.validBlocks() != blocks || int(cp.validNodes()) != len(nodes) || int(cp.validInodes()) != len(nodes) || int(cp.nextNid()) != 3+len(nodes):
		return fmt.Errorf("%d blocks, %d nodes, %d inodes, next %d", cp.validBlocks(), cp.validNodes(), cp.validInodes(), cp.nextNid())
	case cp.freeSegments() != p.g.MainSegments-logs:
		return fmt.Errorf("%d free segments", cp.freeSegments())
	case cp.userBlocks() != uint64(p.g.MainSegments-cp.overprovision())*512 || p.FreeClusters != cp.userBlocks()-blocks || p.FreeClusters > cp.userBlocks():
		return fmt.Errorf("%d blocks for files of %d segments, %d kept back; %d free", cp.userBlocks(), p.g.MainSegments, cp.overprovision(), p.FreeClusters)
	case p.g.ReadOnly() && (cp.reserved() != 0 || cp.overprovision() != 0):
		return fmt.Errorf("%d and %d segments are kept back", cp.reserved(), cp.overprovision())
	case !p.g.ReadOnly() && (cp.reserved()%p.g.SegsPerSec != 0 || cp.reserved() < 8*p.g.SegsPerSec || cp.overprovision() < cp.reserved()+6*p.g.SegsPerSec):
		return fmt.Errorf("%d and %d segments are kept back", cp.reserved(), cp.overprovision())
	}
	return nil
}
