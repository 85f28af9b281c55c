package fat

import (
	"context"
	"errors"

	"github.com/fatkit/fatkit/pkg/dev"
)

// fatEntry is an entry of a FAT as another copy has it.
type fatEntry struct{ cl, v uint32 }

// maxMerge bounds how many entries are tried one by one: each takes a walk.
const maxMerge = 16

// mergeAny is mergeFATs of FAT best, or of another where only that comes out without
// a fault: of two wrong entries in one chain neither helps without the other.
func (c *checker) mergeAny(ctx context.Context, best int) (k int, better []fatEntry, fits bool, err error) {
	if better, fits, err = c.mergeFATs(ctx, best); err != nil || fits {
		return best, better, fits, err
	}
	for k := range c.g.Fats {
		if k == best {
			continue
		}
		if es, ok, err := c.mergeFATs(ctx, k); err != nil || ok {
			return k, es, ok, err
		}
	}
	return best, better, false, nil
}

// mergeFATs looks for entries in which another copy is better than FAT k, where
// both are damaged, each in other places: with such an entry less contradicts the
// directories. fits says that nothing does with all of them.
func (c *checker) mergeFATs(ctx context.Context, k int) (better []fatEntry, fits bool, err error) {
	others, err := c.otherEntries(ctx, k)
	if err != nil || len(others) == 0 {
		return nil, false, err
	}
	trial := *c
	tx := dev.Begin(c.d)
	trial.d = tx
	least, err := trial.faults(ctx, k)
	if err != nil {
		return nil, false, err
	}
	for _, e := range others {
		t := newTable(tx, c.g, k)
		was, err := t.get(e.cl)
		if err != nil {
			return nil, false, err
		}
		if err := t.set(e.cl, e.v); err != nil {
			return nil, false, err
		}
		n, err := trial.faults(ctx, k)
		if err != nil {
			return nil, false, err
		}
		if n < least {
			better, least = append(better, e), n
		} else if err := t.set(e.cl, was); err != nil {
			return nil, false, err
		}
	}
	c.stats.BytesRead = trial.stats.BytesRead
	return better, least <= weightHead, nil
}

var errManyEntries = errors.New("too many entries differ")

// otherEntries are those in which other copies than FAT k differ from it; none where
// they are more than can be tried.
func (c *checker) otherEntries(ctx context.Context, k int) (out []fatEntry, err error) {
	mine, bits := newTable(c.d, c.g, k), int64(c.g.Type)
	for other := range c.g.Fats {
		if other == k {
			continue
		}
		theirs := newTable(c.d, c.g, other)
		next := uint32(firstCluster) // an entry of a FAT12 may lie in two sectors
		err := c.eachDiff(ctx, k, other, func(off int64, _ []byte) error {
			cl := max(next, uint32(off*8/bits))
			for next = min(c.g.Last(), uint32((off+c.g.SectorSize)*8/bits)) + 1; cl < next; cl++ {
				a, err := mine.get(cl)
				if err != nil {
					return err
				}
				b, err := theirs.get(cl)
				if err != nil {
					return err
				}
				if a != b {
					if out = append(out, fatEntry{cl, b}); len(out) > maxMerge {
						return errManyEntries
					}
				}
			}
			return nil
		})
		if errors.Is(err, errManyEntries) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// takeEntries puts entries into FAT k.
func (c *checker) takeEntries(k int, es []fatEntry) error {
	t := newTable(c.d, c.g, k)
	for _, e := range es {
		if err := t.set(e.cl, e.v); err != nil {
			return err
		}
	}
	return nil
}
