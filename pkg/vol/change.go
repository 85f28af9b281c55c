package vol

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/space"
)

// Clusters are where a file or directory of the FAT family lies, in cluster
// numbers: what it has, and what a change adds.
type Clusters struct{ Old, Add []space.Extent }

// All is every extent after the change.
func (c *Clusters) All() []space.Extent { return space.Concat(c.Old, c.Add) }

// First is the first cluster after the change, 0 for none.
func (c *Clusters) First() uint32 {
	switch {
	case len(c.Old) > 0:
		return c.Old[0].Start
	case len(c.Add) > 0:
		return c.Add[0].Start
	}
	return 0
}

// Count is how many clusters there are after the change.
func (c *Clusters) Count() uint64 { return space.Units(c.Old) + space.Units(c.Add) }

// Change is a set of files of FAT or exFAT that are made, grow, are zeroed in part,
// or go, as one: all is looked up and allocated before anything is staged, so a
// request that cannot be met leaves no trace.
type Change struct {
	Dev   dev.Device // the transaction
	Raw   dev.Device // below it, or nil: see ZeroFresh
	Alloc *space.Groups

	Staged bool           // there is anything to write
	Taken  []space.Extent // what was allocated, in units
	Freed  []Freed        // what is given back when the transaction is committed
}

// Freed are clusters, by number, that a change takes from a file or directory.
type Freed struct {
	Path    string
	Extents []space.Extent
}

// Changing is a file or directory of a Change: a pointer.
type Changing interface {
	// Where is its path, for messages, and where it lies.
	Where() (path string, c *Clusters)
	// Changed tells whether anything of it is to be written.
	Changed() bool
}

// Changer is what a Change is on one format.
type Changer interface {
	// Parts calls fn for all files and directories of the change.
	Parts(fn func(Changing))
	// Tables are what the volume itself has among the clusters.
	Tables() []Owned
	// Allocate serves all that files and directories lack, or nothing of it, and
	// returns what it took, in units.
	Allocate(ctx context.Context) ([]space.Extent, error)
	// Fresh are the bytes of the volume that become readable without having been
	// written, and are to read as zeros, in rising order.
	Fresh() []dev.Range
	// Stage writes the change to the transaction. Verify reads it back and compares
	// it with the plan: a difference is a mistake of the format package, and must
	// not reach the disk, see Misread.
	Stage() error
	Verify() error
}

// Free is RemoveFolders: it gives the clusters of path back when the change is
// committed.
func (c *Change) Free(path string, es []space.Extent) {
	if len(es) > 0 {
		c.Freed = append(c.Freed, Freed{path, es})
	}
}

// Allocated is PutFolders.
func (c *Change) Allocated() uint64 { return space.Units(c.Taken) }

// Run carries the change out on the transaction: allocate, zero below it what comes
// to be readable, stage, verify. When it fails, what is staged must not be
// committed.
func (c *Change) Run(ctx context.Context, f Changer) (err error) {
	if err := c.noneShared(f); err != nil {
		return err
	}
	if c.Taken, err = f.Allocate(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.giveBack(f)
		}
	}()
	if err := c.release(); err != nil {
		return err
	}
	f.Parts(func(p Changing) { c.Staged = c.Staged || p.Changed() })
	if err := ZeroFresh(ctx, c.Dev, c.Raw, f.Fresh()); err != nil || !c.Staged {
		return err
	}
	if err := f.Stage(); err != nil {
		return err
	}
	return f.Verify()
}

// noneShared refuses files and directories that have clusters in common with each
// other or with the tables.
func (c *Change) noneShared(f Changer) error {
	var all []Owned
	own := func(path string, es []space.Extent) {
		for _, e := range es {
			all = append(all, Owned{Extent: e, Path: path})
		}
	}
	f.Parts(func(p Changing) {
		path, at := p.Where()
		own(path, at.Old)
	})
	for _, f := range c.Freed {
		own(f.Path, f.Extents)
	}
	all = append(all, f.Tables()...)
	if a, b, shared := Shared(all); shared {
		return DamagedAt(b.Path, "cluster %d belongs to %s too", b.Start, a.Path)
	}
	return nil
}

// FreedUnits are what the change gives back, in units.
func (c *Change) FreedUnits() []space.Extent {
	var es []space.Extent
	for _, f := range c.Freed {
		for _, e := range f.Extents {
			es = append(es, space.Extent{Start: e.Start - FirstCluster, Len: e.Len})
		}
	}
	return es
}

// release gives back what the change frees. The allocator does not hand it out
// again before a commit, so what it holds stays until then.
func (c *Change) release() error { return c.Alloc.Release(c.FreedUnits()) }

// giveBack makes what was allocated free again.
func (c *Change) giveBack(f Changer) {
	// These are extents that the allocator has just handed out, so it takes
	// them back.
	_ = c.Alloc.Cancel(c.Taken)
	c.Taken = nil
	f.Parts(func(p Changing) {
		_, at := p.Where()
		at.Add = nil
	})
}
