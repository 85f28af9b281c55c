package devtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/fatkit/fatkit/pkg/dev"
)

// Survival says which of the operations that were not synced survive a power
// cut. Writes are torn at sectors of 512 bytes.
type Survival struct {
	kind survivalKind
	seed uint64
}

type survivalKind int

const (
	surviveNone survivalKind = iota
	surviveAll
	surviveEven
	surviveOdd
	survivePrefix
	surviveRandom
)

// None survives: the cache is lost.
func None() Survival { return Survival{kind: surviveNone} }

// All survives: the last operation, too.
func All() Survival { return Survival{kind: surviveAll} }

// Even is every second operation, beginning with the first one.
func Even() Survival { return Survival{kind: surviveEven} }

// Odd is every second operation, beginning with the second one.
func Odd() Survival { return Survival{kind: surviveOdd} }

// Prefix is the first half of each operation.
func Prefix() Survival { return Survival{kind: survivePrefix} }

// Random decides for every operation anew: lost, whole, its first sectors, or
// any of its sectors. The same seed decides the same.
func Random(seed uint64) Survival { return Survival{kind: surviveRandom, seed: seed} }

func (s Survival) String() string {
	names := [...]string{"none", "all", "even", "odd", "prefix", "random"}
	if s.kind == surviveRandom {
		return fmt.Sprintf("random %d", s.seed)
	}
	return names[s.kind]
}

// parts is what survives of c, the i-th operation that was not synced.
func (s Survival) parts(i int, c change) []change {
	whole := []change{c}
	switch s.kind {
	case surviveAll:
		return whole
	case surviveEven, surviveOdd:
		if (i%2 == 0) == (s.kind == surviveEven) {
			return whole
		}
	case survivePrefix:
		return c.sectors(func(n int, of int) bool { return n < (of+1)/2 })
	case surviveRandom:
		rnd := rand.New(rand.NewPCG(s.seed, uint64(i)))
		switch rnd.IntN(4) {
		case 1:
			return whole
		case 2:
			keep := rnd.Float64()
			return c.sectors(func(n int, of int) bool { return float64(n) < keep*float64(of) })
		case 3:
			return c.sectors(func(int, int) bool { return rnd.IntN(2) == 0 })
		}
	}
	return nil
}

// sectors are the parts of c in those sectors that keep picks, by number and
// of how many. Large operations tear at multiples of a sector, so that there
// are at most 512. What is no write survives as a whole.
func (c change) sectors(keep func(n int, of int) bool) []change {
	if c.Len == 0 {
		return []change{c}
	}
	unit := (c.Len/(512*sector) + 1) * sector
	first := c.Off / unit
	of := int((c.End()+unit-1)/unit - first)
	var parts []change
	for n := range of {
		if !keep(n, of) {
			continue
		}
		r := c.Intersect(dev.Range{Off: (first + int64(n)) * unit, Len: unit})
		part := change{Op: Op{c.Kind, r}}
		if c.data != nil {
			part.data = c.data[r.Off-c.Off:][:r.Len]
		}
		parts = append(parts, part)
	}
	return parts
}
