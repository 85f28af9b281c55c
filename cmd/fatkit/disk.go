package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/disk"
	"github.com/fatkit/fatkit/pkg/vol"
)

// tableDoc is the partition table of a whole disk, and what is wrong with it.
type tableDoc struct {
	Scheme     string       `json:"scheme"`
	ID         string       `json:"id,omitempty"`
	SectorSize int64        `json:"sector_size"`
	Verdict    string       `json:"verdict"`
	Findings   []findingDoc `json:"findings"`
}

// newTableDoc describes the table of a disk of which these are the partitions;
// nil where it is no disk.
func newTableDoc(t *dev.Table, regions []region, failOn vol.Severity) *tableDoc {
	if t == nil {
		return nil
	}
	d := &tableDoc{Scheme: t.Scheme, ID: t.ID, SectorSize: t.Sector, Verdict: verdictClean, Findings: []findingDoc{}}
	holds := map[int]string{}
	for _, r := range regions {
		holds[r.part] = r.content()
	}
	for _, f := range disk.Check(t, func(p dev.Partition) string { return holds[p.Number] }) {
		doc := newFindingDoc(&vol.Outcome{Finding: &f.Finding}, 0)
		doc.Partition = f.Partition
		d.Findings = append(d.Findings, doc)
		if f.Severity >= failOn {
			d.Verdict = verdictUncorrected
		}
	}
	return d
}

// content is what a region holds, in a word, where that is beyond doubt.
func (r region) content() string {
	switch {
	case r.drv == nil:
		return r.other.kind
	case r.id.Confidence >= vol.Likely:
		return r.id.Type
	}
	return ""
}

// faulty reports whether t has a fault of that kind.
func faulty(t *dev.Table, kind string) bool {
	return slices.ContainsFunc(t.Faults, func(f dev.Fault) bool { return f.Kind == kind })
}

// writeBans says, by number, of which partitions nothing may be written, and why:
// what is written to one that shares bytes with another destroys the other, and
// of one that is cut off nobody knows what the rest was.
func writeBans(t *dev.Table) map[int]string {
	why := map[int]string{}
	order := slices.Clone(t.Parts)
	slices.SortStableFunc(order, func(a, b dev.Partition) int {
		return int(min(max(a.Claims.Off-b.Claims.Off, -1), 1))
	})
	last := -1 // of those so far, the one that ends last
	for i, p := range order {
		if p.Range != p.Claims {
			why[p.Number] = "it goes past the end of the disk"
		}
		if p.Claims.Empty() {
			continue
		}
		if last >= 0 && p.Claims.Off < order[last].Claims.End() {
			why[p.Number] = fmt.Sprintf("it shares bytes with partition %d", order[last].Number)
			why[order[last].Number] = fmt.Sprintf("it shares bytes with partition %d", p.Number)
		}
		if last < 0 || p.Claims.End() > order[last].Claims.End() {
			last = i
		}
	}
	return why
}

// choose is the partition that p names, by number or by name.
func (p place) choose(t *dev.Table) (dev.Partition, error) {
	if t == nil {
		t = &dev.Table{}
	}
	var hits []dev.Partition
	var have []string
	for _, q := range t.Parts {
		if p.name == "" && q.Number == p.part || p.name != "" && q.Name == p.name {
			hits = append(hits, q)
		}
		have = append(have, fmt.Sprint(q.Number)+called(q.Name))
	}
	what := fmt.Sprintf("partition %d", p.part)
	if p.name != "" {
		what = fmt.Sprintf("partition called %q", p.name)
	}
	switch {
	case len(t.Parts) == 0:
		return dev.Partition{}, fmt.Errorf("%w: there is no partition table with a %s", vol.ErrNotVolume, what)
	case len(hits) == 0:
		return dev.Partition{}, fmt.Errorf("%w: there is no %s, but %s", vol.ErrNotVolume, what, shortList(have))
	case len(hits) > 1:
		return dev.Partition{}, requestf("there are %d of the %s; name one by its number", len(hits), what)
	}
	if hits[0].Range.Empty() {
		return hits[0], fmt.Errorf("%w: %s: there is nothing of it on the disk: it claims bytes from %d on", vol.ErrNotVolume, what, hits[0].Claims.Off)
	}
	return hits[0], nil
}

// shortList joins words; of many only the first.
func shortList(words []string) string {
	const most = 16
	if more := len(words) - most; more > 0 {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(words, ", ")
}

// expand is images with patterns that no shell has expanded, as where they stand
// in quotes or the shell is Windows's, replaced by what they match, in order. A
// file that has the pattern for its name wins, and what matches nothing stays.
func expand(images []string) []string {
	var out []string
	for _, arg := range images {
		p, err := parsePlace(arg, exists)
		if err != nil || exists(p.path) || !strings.ContainsAny(p.path, "*?[") {
			out = append(out, arg)
			continue
		}
		names, err := filepath.Glob(p.path)
		names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, undoSuffix) })
		if err != nil || len(names) == 0 {
			out = append(out, arg)
			continue
		}
		for _, name := range names {
			out = append(out, name+strings.TrimPrefix(arg, p.path))
		}
	}
	return out
}

// imageFlags are those of the commands that find their volume on a disk.
func imageFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "partition-label", Usage: "take the partition with this `NAME` in the GPT", DefaultText: "none is named so"},
	}
}

// readFlags are those of the commands that only read.
func readFlags() []cli.Flag {
	return append(imageFlags(),
		&cli.StringFlag{Name: "max-size", Usage: "unpack a compressed image (gzip, zstd, xz) only up to this `SIZE`", DefaultText: "1T"})
}

// readImageFlags reads both, where the command has them.
func (a *app) readImageFlags(c *cli.Context) (err error) {
	a.partName = ""
	if c.IsSet("partition-label") && c.String("partition-label") == "" { // a variable that was not set: the whole disk is not meant
		return usagef("--partition-label wants a name; a partition without one is named by its number")
	}
	if c.Command.Name != "format" { // where it may be the name of a new one
		a.partName = c.String("partition-label")
	}
	a.bounded = slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "max-size") })
	if a.maxSize, err = size(c, "max-size"); err == nil && c.IsSet("max-size") && a.maxSize == 0 {
		err = usagef("--max-size: nothing is as small as that")
	}
	return err
}
