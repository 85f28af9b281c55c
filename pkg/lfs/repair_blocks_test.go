package lfs

import (
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// TestRepairOther: volumes with larger blocks, with payload in their packs, and
// the largest there can be, are repaired as others are.
func TestRepairOther(t *testing.T) {
	slugs := []string{"sit-free", "nat-address", "addr-range", "node-pointer", "inode-links", "dentry-hash", "dentry-twice", "inode-unreachable", "cp-free-segments", "log-place", "journal", "orphan-linked", "cp-checksum"}
	if testing.Short() {
		slugs = []string{"nat-address", "dentry-twice", "inode-unreachable", "log-place"}
	}
	for _, c := range []struct {
		name string
		size int64
		o    vol.FormatOptions
	}{
		{"8 KiB", 256 << 20, vol.FormatOptions{ClusterSize: 8192}},
		{"16 KiB", 512 << 20, vol.FormatOptions{ClusterSize: 16384}},
		{"payload", 4 << 40, vol.FormatOptions{}},
		{"largest", 16<<40 - 512, vol.FormatOptions{}},
		{"smallest", 46 << 20, vol.FormatOptions{}},
	} {
		for _, slug := range slugs {
			t.Run(c.name+" "+slug, func(t *testing.T) {
				m := newBuilder(t, c.size, c.o)
				if m.few = true; (m.g.CPPayload > 0) != (c.size > 1<<40) {
					t.Fatalf("the payload is %d blocks", m.g.CPPayload)
				}
				l := fillLab(m)
				if slug == "orphan-linked" {
					l.relist(c.size, c.o)
				} else {
					allDamagesOf(slug)[0].do(l)
				}
				d := dev.Begin(l.d)
				defer d.Rollback()
				res, err := vol.Fsck(t.Context(), d, Driver(), vol.CheckOptions{}, voltest.Always, nil)
				if err != nil || res.Unproven != nil || !res.Repaired || res.Left(vol.SevWarning) {
					t.Fatalf("%v, %q", err, found(res))
				}
				if again := checked(t, d); again.Left(vol.SevWarning) {
					t.Errorf("then there is %q", found(again))
				}
			})
		}
	}
}

// relist makes l a volume with a list of orphans that has a file with a name.
func (l *lab) relist(size int64, o vol.FormatOptions) {
	m := newBuilder(l.t, size, o)
	m.few = true
	*l = *fill(m)
	l.orphans = []uint32{l.at["plain"].ino}
	l.finish()
}
