package fat

import "github.com/fatkit/fatkit/pkg/space"

// hiddenClusters are those to which entries behind end marks lead that are to be
// shown, and all that is in directories among them. They look lost as long as that
// has not been done, and are not: no other chain may be continued with them.
type hiddenClusters struct {
	c   *checker
	set *space.Sparse
}

// maxHiddenDepth is how deep hidden directories are looked into.
const maxHiddenDepth = 64

// hidden finds them, once in a round.
func (c *checker) hidden() (*space.Sparse, error) {
	if c.behind != nil {
		return c.behind, nil
	}
	h := &hiddenClusters{c: c, set: space.NewSparse(uint64(c.g.Clusters))}
	c.wanted = space.NewSparse(uint64(c.g.Clusters))
	for i := range c.walk.layout {
		n := &c.walk.layout[i]
		if n.slug != "after-end" {
			continue
		}
		buf, err := c.walk.read(n.dir)
		if err != nil {
			return nil, err
		}
		behind := buf[endOf(buf)*entryLen:]
		if err := h.entries(behind, 0); err != nil {
			return nil, err
		}
		how, err := c.hiddenAreReal(n)
		if err != nil {
			return nil, err
		}
		if how != revealNone {
			c.noteWanted(behind)
		}
	}
	c.behind = h.set
	return h.set, nil
}

// entries takes what entries lead to that nothing else does.
func (h *hiddenClusters) entries(buf []byte, depth int) error {
	for ; len(buf) >= entryLen; buf = buf[entryLen:] {
		e := dirEntry(buf[:entryLen])
		if e.isEnd() || e.isFree() || e.isLong() || isDotName(e.name()) {
			continue
		}
		_, owns, err := h.c.couldBeFile(e)
		if err == nil && owns {
			err = h.chain(e, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chain takes the clusters of an entry, and of what is in it.
func (h *hiddenClusters) chain(e dirEntry, depth int) error {
	c := h.c
	need := (int64(e.size()) + c.g.ClusterSize() - 1) / c.g.ClusterSize()
	for cl := e.start(c.g.Type); c.g.Valid(cl) && !c.walk.claimed.Used(cl-firstCluster) && h.set.SetNew(cl-firstCluster); {
		if e.isDir() && depth < maxHiddenDepth {
			buf, err := c.readSome(c.g.ClusterRange(cl, 1), c.g.ClusterSize())
			if err != nil {
				return err
			}
			if err := h.entries(buf[:endOf(buf)*entryLen], depth+1); err != nil {
				return err
			}
		}
		if need--; need == 0 && !e.isDir() {
			return nil
		}
		var err error
		if cl, err = c.walk.tab.get(cl); err != nil {
			return err
		}
	}
	return nil
}

// noteWanted notes the clusters that are the first ones of hidden entries that are to
// be shown, by all that they say, and that a chain led into which has claimed them.
func (c *checker) noteWanted(buf []byte) {
	s := &dirScan{w: c.walk}
	for ; len(buf) >= entryLen; buf = buf[entryLen:] {
		e := dirEntry(buf[:entryLen])
		st := e.start(c.g.Type)
		if !s.certain(e) || st == 0 || !c.walk.claimed.Used(st-firstCluster) {
			continue
		}
		c.wanted.SetNew(st - firstCluster)
	}
}

// hiddenIn reports whether the chain of f goes through the first cluster of a hidden
// entry that is to be shown, before its own end: whose it is from there on can only be
// told when both are seen.
func (c *checker) hiddenIn(f *chainFault) (bool, error) {
	if _, err := c.hidden(); err != nil || c.wanted.CountUsed() == 0 {
		return false, err
	}
	cl := f.start
	for i := uint32(0); i < f.n && c.g.Valid(cl); i++ { // repairs of this round may have cut it
		if c.wanted.Used(cl - firstCluster) {
			return true, nil
		}
		var err error
		if cl, err = c.walk.tab.get(cl); err != nil {
			return false, err
		}
	}
	return false, nil
}
