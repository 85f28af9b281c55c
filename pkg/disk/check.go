package disk

import (
	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// Finding is something wrong with a partition table, and with which partition;
// 0 is none of them. Offsets are bytes of the disk.
type Finding struct {
	vol.Finding
	Partition int
}

// Check says what is wrong with the table t. content tells what a partition
// holds, as Mismatch takes it, or is nil.
func Check(t *dev.Table, content func(dev.Partition) string) []Finding {
	rows := vol.NewCatalogue(Problems())
	var fs []Finding
	for _, f := range t.Faults {
		loc := vol.Location{Range: f.At}
		fs = append(fs, Finding{rows.Found(f.Kind, loc, vol.Detail("%s", subject(f.Partition)+f.Detail)), f.Partition})
	}
	if content == nil {
		return fs
	}
	for _, p := range t.Parts {
		if words := Mismatch(p.Type, content(p)); words != "" {
			loc := vol.Location{Range: typeRange(p)}
			fs = append(fs, Finding{rows.Found(slugMismatch, loc, vol.Detail("%s", subject(p.Number)+words)), p.Number})
		}
	}
	return fs
}

// typeRange is where the type of p stands.
func typeRange(p dev.Partition) dev.Range {
	if p.Scheme == dev.SchemeGPT {
		return dev.Range{Off: p.Entry.Off, Len: 16}
	}
	return dev.Range{Off: p.Entry.Off + 4, Len: 1}
}
