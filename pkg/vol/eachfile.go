package vol

import (
	"context"

	"github.com/fatkit/fatkit/pkg/dev"
)

// PreallocateFiles is Volume.Preallocate for FAT and exFAT: reserve puts each file
// into a change, run carries that out, and result says what became of a file.
// Nothing of what was staged may be committed after an error.
func PreallocateFiles(ctx context.Context, files []PreallocFile, reserve func(PreallocFile) error, run func(context.Context) error, result func(path string) (FileResult, error)) ([]FileResult, error) {
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := reserve(f); err != nil {
			return nil, err
		}
	}
	if err := run(ctx); err != nil {
		return nil, err
	}
	var out []FileResult
	for _, f := range files {
		res, err := result(f.Path)
		if err != nil {
			return nil, err
		}
		out = append(out, res)
	}
	return out, nil
}

// ZeroFiles is Volume.ZeroRanges for FAT and exFAT: plan puts a range into a change
// and says which it is in the file as it is, run carries that out, and result says
// what became of a range. Nothing of what was staged may be committed after an error.
func ZeroFiles(ctx context.Context, r ZeroRequest, plan func(f ZeroFile, keepSize bool) (dev.Range, error), run func(context.Context) error, result func(path string, at dev.Range) (ZeroedFile, error)) (*ZeroResult, error) {
	ranges := make([]dev.Range, len(r.Files))
	for i, f := range r.Files {
		err := ctx.Err()
		if err == nil {
			ranges[i], err = plan(f, r.KeepSize)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := run(ctx); err != nil {
		return nil, err
	}
	res := &ZeroResult{}
	for i, f := range r.Files {
		z, err := result(f.Path, ranges[i])
		if err != nil {
			return nil, err
		}
		res.Files = append(res.Files, z)
	}
	return res, nil
}
