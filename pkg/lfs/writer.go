package lfs

import (
	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// writer changes a volume as F2FS itself does: nodes and data go to new places
// in the logs, SIT and NAT to their other copies, and the other checkpoint pack
// makes all of that count, see checkpoint.go. Until its last block is down the
// state before is whole.
//
// Blocks are written to the device as they are made, so that memory does not
// grow with a change; what was given out since the checkpoint is written again
// where it is. After an error the change must be given up: what the writer has
// in mind is half of it.
type writer struct {
	d    dev.Device
	g    *Geometry
	s    *state
	seed uint32 // of the checksums of inodes
	sb   superblock
	now  int64 // seconds since 1970

	sit  *ledger // nil where nothing is written; see reader
	nat  *natTable
	logs *logs

	validBlocks, userBlocks  uint64 // validBlocks has those that are only reserved, too
	validNodes, validInodes  uint32
	orphans                  []uint32
	usage                    [quotaKinds]map[uint32]quotaChange
	keepQuotas               bool // usage is unknown, and stays so
	limitless                bool // nobody's limits hold
	carry                    *carried
	flagsSet, flagsGone      uint32
	summaries, blocksWritten int // for tests: what a change wrote
}

func newWriter(l *loaded, now int64) (*writer, error) {
	w := &writer{
		d: l.d, g: l.g, s: l.s, sb: l.sb, seed: inodeSeed(l.sb.uuid()), now: max(now, 0), sit: newLedger(l), nat: newNATTable(l),
		validBlocks: l.s.cp.validBlocks(), userBlocks: l.s.cp.userBlocks(), validNodes: l.s.cp.validNodes(), validInodes: l.s.cp.validInodes(),
		keepQuotas: l.s.cp.has(cpQuotaFsck),
	}
	for kind := range w.usage {
		w.usage[kind] = map[uint32]quotaChange{}
	}
	w.logs = newLogs(w, l.s)
	orphans, _, err := l.s.readOrphans(l.d)
	w.orphans = orphans
	return w, err
}

// room refuses a change that takes more blocks than users may have. What is
// kept back beyond them is the kernel's, to collect garbage with.
func (w *writer) room(path string, need uint64) error {
	if free := w.userBlocks - min(w.validBlocks, w.userBlocks); need > free {
		return vol.Refusef("%s: %d blocks of %d bytes are needed, %d are free", path, need, w.g.BlockSize, free)
	}
	return nil
}

// node reads a node, and checks that it is the one that NAT says. What it
// returns is the caller's.
func (w *writer) node(nid, ino uint32) (nodeBlock, error) {
	n := make(nodeBlock, w.g.BlockSize)
	if err := w.readNode(nid, ino, n); err != nil {
		return nil, err
	}
	return n, nil
}

// part is node of what an inode or another node leads to: that is no inode, or
// its words are not where they are looked for.
func (w *writer) part(nid, ino uint32) (nodeBlock, error) {
	n := make(nodeBlock, w.g.BlockSize)
	if err := w.readPart(nid, ino, n); err != nil {
		return nil, err
	}
	return n, nil
}

// readPart is part into memory that is there.
func (w *writer) readPart(nid, ino uint32, n nodeBlock) error {
	if nid == ino {
		return damagedf("inode %d leads to itself; run check -y", ino)
	}
	return w.readNode(nid, ino, n)
}

// readNode is node into memory that is there.
func (w *writer) readNode(nid, ino uint32, n nodeBlock) error {
	e, err := w.nat.get(nid)
	if err != nil {
		return err
	}
	addr := e.addr()
	if nid < rootIno || e.ino() != ino || !w.g.ValidMain(addr) {
		return damagedf("NAT has node %d as one of inode %d at block %#x, should be of inode %d; run check -y", nid, e.ino(), addr, ino)
	}
	if _, err := w.d.ReadAt(n, w.g.BlockOff(addr)); err != nil {
		return err
	}
	return w.proveNode(addr, nid, ino, n)
}

// proveNode checks that a block is the node that NAT says.
func (w *writer) proveNode(addr, nid, ino uint32, n nodeBlock) error {
	switch {
	case n.nid() != nid || n.ino() != ino:
		return damagedf("block %d is node %d of inode %d, should be node %d of inode %d; run check -y", addr, n.nid(), n.ino(), nid, ino)
	case !w.reads() && !w.sit.valid(addr):
		return damagedf("block %d holds node %d, and SIT has it as free; run check -y", addr, nid)
	case nid == ino && w.g.Has(featInodeChecksum) && n.hasSum() && n.checksum() != inodeSum(w.seed, n):
		return damagedf("the checksum of inode %d is wrong; run check -y", ino)
	}
	return nil
}

// allocInode gives out a number for a new inode, which counts from then on. It is
// nowhere until it is put, and is not charged to anybody.
func (w *writer) allocInode() (nid uint32, err error) {
	if nid, err = w.nat.alloc(0); err == nil {
		w.countInode()
	}
	return nid, err
}

// takeInode is allocInode of a number that is known and free.
func (w *writer) takeInode(nid uint32) error {
	err := w.nat.set(nid, nid, newAddr)
	if err == nil {
		w.countInode()
	}
	return err
}

func (w *writer) countInode() {
	w.validNodes++
	w.validInodes++
	w.validBlocks++
}

// newNode makes a node that is no inode: of a directory or not, at a place of its
// file. It is nowhere until it is put.
func (w *writer) newNode(ino, place uint32, dir bool) (nodeBlock, error) {
	n := make(nodeBlock, w.g.BlockSize)
	return n, w.initNode(n, ino, place, dir)
}

// initNode is newNode in memory that is there.
func (w *writer) initNode(n nodeBlock, ino, place uint32, dir bool) error {
	clear(n)
	nid, err := w.nat.alloc(ino)
	if err != nil {
		return err
	}
	flag := place << footerShift
	if !dir {
		flag |= footerCold
	}
	n.putFooter(nid, ino, flag, firstCPVer, 0)
	w.validNodes++
	w.validBlocks++
	return nil
}

// nodeLog is the log of a node, [Linux] behaviour __get_segment_type_6(): pointers
// to nodes are cold, those of directories hot, all others warm.
func (w *writer) nodeLog(n nodeBlock) int {
	switch {
	case !n.isInode() && isIndirect(n.place(), uint32(w.g.per().nodeSlots())):
		return coldNode
	case n.nodeFlag()&footerCold != 0:
		return warmNode
	}
	return hotNode
}

// putNode writes a node: to a new place, or again to the one that it was given
// since the checkpoint. Its footer says which node it is. It carries no version
// of a checkpoint, so that none can take it for a part of its log.
func (w *writer) putNode(n nodeBlock) error {
	nid, ino := n.nid(), n.ino()
	e, err := w.nat.get(nid)
	if err != nil {
		return err
	}
	addr := e.addr()
	if !w.g.ValidMain(addr) || !w.sit.fresh(addr) {
		old := addr
		if addr, err = w.logs.alloc(w.nodeLog(n), nid, 0, 0); err != nil {
			return err
		}
		if w.g.ValidMain(old) {
			if err := w.sit.release(old, 1); err != nil {
				return err
			}
		}
		if err := w.nat.set(nid, ino, addr); err != nil {
			return err
		}
	}
	n.putFooter(nid, ino, n.nodeFlag()&^(footerFsync|footerDentry), firstCPVer, addr+1)
	if n.isInode() && w.g.Has(featInodeChecksum) && n.hasSum() {
		n.put32(inodeChecksum, inodeSum(w.seed, n))
	}
	return w.write(addr, n)
}

// write writes a block of the main area.
func (w *writer) write(addr uint32, b []byte) error {
	w.blocksWritten++
	_, err := w.d.WriteAt(b, w.g.BlockOff(addr))
	return err
}

// writeSummary writes the summary of a segment to SSA. It may be done where the
// old one is: what it changes is of blocks that were free at the checkpoint.
func (w *writer) writeSummary(segno uint32, sum summaryBlock) error {
	if w.g.ReadOnly() {
		return nil // there is no SSA
	}
	w.summaries++
	_, err := w.d.WriteAt(sum, w.g.SummaryOff(segno))
	return err
}
