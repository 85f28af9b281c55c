package lfs

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// randomName is a name in any script, or in none.
func randomName() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-z]{1,3}`),
		rapid.StringOfN(rapid.Rune(), 1, 60, 255),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 255), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.IntRange(240, 255), func(n int) string { return strings.Repeat("n", n) }),
	).Filter(func(s string) bool {
		return s != "." && s != ".." && !strings.ContainsAny(s, "/\x00") && s != "" && s != lostName
	})
}

// randomTree is a tree of files of all kinds.
func randomTree(t *rapid.T) *sourceOf {
	s := &sourceOf{}
	s.dir("")
	dirs, used := []string{""}, map[string]bool{"": true}
	var files []int
	for range rapid.IntRange(0, 60).Draw(t, "entries") {
		p := path.Join(rapid.SampledFrom(dirs).Draw(t, "in"), randomName().Draw(t, "name"))
		if used[p] {
			continue
		}
		used[p] = true
		at := len(s.entries)
		switch rapid.SampledFrom([]string{"file", "file", "file", "dir", "dir", "link", "other", "name"}).Draw(t, "kind") {
		case "dir":
			s.dir(p)
			dirs = append(dirs, p)
		case "link":
			s.add(p, vol.Attr{Kind: vol.KindSymlink, Link: strings.Repeat("x", rapid.SampledFrom([]int{1, 60, 3488, 3489, 3692, 3693, 4095}).Draw(t, "link"))}, nil)
		case "other":
			k := rapid.SampledFrom([]vol.Kind{vol.KindFIFO, vol.KindSocket, vol.KindChar, vol.KindBlock}).Draw(t, "of")
			e := s.add(p, vol.Attr{Kind: k}, nil)
			if k == vol.KindChar || k == vol.KindBlock {
				e.Major, e.Minor = rapid.Uint32Range(1, maxMajor).Draw(t, "major"), rapid.Uint32Range(0, maxMinor).Draw(t, "minor")
			}
		case "name":
			if len(files) == 0 {
				continue
			}
			s.entries = append(s.entries, vol.Entry{Path: p, Same: rapid.SampledFrom(files).Draw(t, "of")})
			continue
		default:
			n := rapid.SampledFrom([]int{0, 1, 3488, 3489, 3692, 4096, 8192, 12_289, 40_000}).Draw(t, "size")
			e := s.file(p, noise(n))
			if n > 0 && rapid.Bool().Draw(t, "holes") {
				e.Data = randomHoles(t, int64(n))
			}
			files = append(files, at)
		}
		e := &s.entries[at]
		e.Mode, e.UID, e.GID = rapid.Uint32Range(0, 0o7777).Draw(t, "mode"), rapid.Uint32().Draw(t, "uid"), rapid.Uint32Range(0, 9).Draw(t, "gid")
		if e.Kind == vol.KindFile || e.Kind == vol.KindDir {
			e.Xattrs = randomXattrs(t)
		}
	}
	return s
}

func randomHoles(t *rapid.T, size int64) []dev.Range {
	rs := []dev.Range{}
	for at := int64(0); at < size && len(rs) < 5; {
		r := dev.Range{Off: at + rapid.Int64Range(0, size-at-1).Draw(t, "hole")}
		r.Len = rapid.Int64Range(1, size-r.Off).Draw(t, "data")
		rs = append(rs, r)
		at = r.End() + 1
	}
	return rs
}

func randomXattrs(t *rapid.T) (xs []vol.Xattr) {
	for range rapid.IntRange(0, 4).Draw(t, "attributes") {
		name := rapid.SampledFrom([]string{"user.", "trusted.", "security."}).Draw(t, "prefix") + rapid.StringMatching(`[a-z.]{1,60}`).Draw(t, "attribute")
		xs = vol.SetXattr(xs, name, noise(rapid.IntRange(0, 900).Draw(t, "value")))
	}
	return xs
}

// TestPutRandom: whatever tree is put on a volume is there afterwards, takes what
// was counted, and is gone when it is removed.
func TestPutRandom(t *testing.T) {
	features := []string{"", putAll, "extra_attr,inode_checksum"}
	var plans []*vol.Plan
	var images []*dev.Mem
	for _, f := range features {
		p, d := plannedVolume(t, 64<<20, vol.FormatOptions{Features: f})
		plans, images = append(plans, p), append(images, d)
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := randomTree(rt)
		i := rapid.IntRange(0, len(features)-1).Draw(rt, "features")
		d := dev.Begin(images[i])
		defer d.Rollback()
		before := stateOf(t, d).cp
		if _, err := s.put(t, d, vol.PutRequest{}); err != nil {
			rt.Fatal(err)
		}
		if wrong := append(found(checked(t, d)), s.differences(t, d)...); len(wrong) > 0 {
			rt.Fatalf("%q", wrong)
		}
		want, err := need(plans[i], vol.ReadOptions{}, s.entries)
		if took := stateOf(t, d).cp.validBlocks() - before.validBlocks(); err != nil || took != want {
			rt.Errorf("%d blocks, counted were %d: %v", took, want, err)
		}
		var names []string
		for k := range s.entries {
			if p := s.entries[k].Path; p != "" && !strings.Contains(p, "/") {
				names = append(names, p)
			}
		}
		slices.Sort(names)
		if len(names) == 0 {
			return
		}
		if err := removed(t, d, names); err != nil {
			rt.Fatal(err)
		}
		if wrong := found(checked(t, d)); len(wrong) > 0 {
			rt.Fatalf("%q", wrong)
		}
		if got := stateOf(t, d).cp; got.validInodes() != before.validInodes() {
			rt.Error(fmt.Sprint(got.validInodes(), " inodes are left"))
		}
	})
}
