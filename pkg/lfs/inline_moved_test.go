package lfs

import (
	"context"
	"testing"

	"github.com/fatkit/fatkit/pkg/vol"
)

// TestInlineMoved: what an inode with its contents in it has in the place of numbers of
// nodes leads nowhere, and check says nothing of it. So it leads nowhere either when
// the contents move out: not to the nodes of another file.
func TestInlineMoved(t *testing.T) {
	for name, change := range map[string]func(ctx context.Context, v vol.Volume) error{
		"prealloc": func(ctx context.Context, v vol.Volume) error {
			_, err := v.Preallocate(ctx, vol.PreallocRequest{Files: []vol.PreallocFile{{Path: "inline", Length: 8 << 20}}})
			return err
		},
		"zero": func(ctx context.Context, v vol.Volume) error {
			_, err := v.ZeroRanges(ctx, vol.ZeroRequest{Files: []vol.ZeroFile{{Path: "inline", Length: 5}}})
			return err
		},
		"put": func(ctx context.Context, v vol.Volume) error {
			r := &vol.PutRequest{}
			for i := range 400 {
				r.Entries = append(r.Entries, vol.Entry{Path: textf("small/%d", i), Attr: vol.Attr{Kind: vol.KindDir, Mode: 0o755}, Same: -1})
			}
			_, err := v.Put(ctx, r)
			return err
		},
	} {
		m := newBuilder(t, 64<<20, vol.FormatOptions{})
		other := m.file(m.root, "other", file{pages: []uint32{0, 1000, 2000}})
		inline := m.file(m.root, "inline", file{inline: []byte("hello, inline")})
		small := m.inlineDir(m.root, "small")
		m.finish()
		for _, x := range []*built{inline, small} {
			x.editInode(func(n nodeBlock) {
				for k := range inodeNids {
					n.putWord(n.words()+k, other.ino+uint32(k)+1)
				}
			})
		}
		mustBeClean(t, m.d)
		before := holdings(t, m.d)
		if err := changed(t, m.d, change); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		mustBeClean(t, m.d)
		if after := holdings(t, m.d); after[other.ino] != before[other.ino] {
			t.Errorf("%s: other files hold something else", name)
		}
	}
}
