package exfat

import (
	"github.com/fatkit/fatkit/pkg/space"
	"github.com/fatkit/fatkit/pkg/vol"
)

// clusters are where a file or directory lies, before a change and after it.
type clusters struct {
	vol.Clusters
	noFat bool // Old has no FAT chain
	root  bool // it always has one: no entry could say that it has not
}

// contiguous tells whether the entry says NoFatChain after the change: what has
// grown says so if it is one run, [exFAT] §6.4.2.2, and then its FAT entries
// mean nothing. What has not grown stays as it was.
func (c *clusters) contiguous() bool {
	switch {
	case c.root || c.Count() == 0:
		return false
	case len(c.Add) == 0:
		return c.noFat
	}
	return len(c.All()) == 1
}

// chain is one run of a FAT chain that is to be written.
type chainRun struct {
	space.Extent
	next uint32 // behind its last cluster
}

// links is what the FAT lacks of the chain: what was added, and all that was
// there before if that had none, because it was contiguous and is no more.
func (c *clusters) links() []chainRun {
	if len(c.Add) == 0 || c.contiguous() {
		return nil
	}
	es := c.All()
	if n := len(c.Old); n > 0 && !c.noFat {
		last := uint32(c.Old[n-1].End() - 1)
		es = space.Concat([]space.Extent{{Start: last, Len: 1}}, c.Add)
	}
	runs := make([]chainRun, len(es))
	for i, e := range es {
		runs[i] = chainRun{Extent: e, next: fatEOC}
		if i+1 < len(es) {
			runs[i].next = es[i+1].Start
		}
	}
	return runs
}
