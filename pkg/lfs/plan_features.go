package lfs

import (
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// feature is a feature of the format as the option names it.
type feature struct {
	name  string
	also  string // another name, that of the mount option
	bit   uint32
	needs uint32 // features that must be given with it
	not   string // why it cannot be had
}

// featureNames are the names of features, as mkfs.f2fs -O has them.
func featureNames() []feature {
	return []feature{
		{name: "encrypt", bit: featEncrypt},
		{name: "extra_attr", bit: featExtraAttr},
		{name: "project_quota", also: "prjquota", bit: featProjectQuota, needs: featExtraAttr},
		{name: "inode_checksum", bit: featInodeChecksum, needs: featExtraAttr},
		{name: "flexible_inline_xattr", bit: featFlexXattr, needs: featExtraAttr},
		{name: "quota", bit: featQuota},
		{name: "inode_crtime", bit: featInodeCrtime, needs: featExtraAttr},
		{name: "lost_found", bit: featLostFound},
		{name: "verity", bit: featVerity},
		{name: "sb_checksum", bit: featSuperChecksum},
		{name: "casefold", bit: featCasefold},
		{name: "compression", bit: featCompression, needs: featExtraAttr},
		{name: "ro", bit: featReadOnly},
		{name: "blkzoned", bit: featZoned, not: "it is for devices with zones that are written from their start, which have to be asked about them"},
		{name: "device_alias", bit: featDeviceAlias, not: "it is for volumes on several devices"},
		{name: "packed_ssa", bit: featPackedSSA, not: "few kernels know it"},
	}
}

// featureList names the features whose bits are set, for people.
func featureList(bits uint32) string {
	var names []string
	for _, f := range featureNames() {
		if bits&f.bit != 0 {
			names = append(names, f.name)
			bits &^= f.bit
		}
	}
	if bits != 0 {
		names = append(names, hex(bits))
	}
	return strings.Join(names, ",")
}

// readFeatures reads the list of features, and refuses one that lacks what it
// needs: added silently, extra_attr would keep boot loaders from reading the
// volume.
func (r *formatRequest) readFeatures() error {
	given := r.o.Features
	if given == "" {
		return nil
	}
	known := featureNames()
	for name := range strings.SplitSeq(given, ",") {
		f, ok := findFeature(known, strings.TrimSpace(name))
		switch {
		case !ok:
			return vol.Usagef("feature %q: it can be %s", strings.TrimSpace(name), strings.Join(givenFeatures(known), ", "))
		case f.not != "":
			return vol.Usagef("feature %s: %s", f.name, f.not)
		}
		r.features |= f.bit
	}
	for _, f := range known {
		if r.features&f.bit != 0 && f.needs&^r.features != 0 {
			needs := featureList(f.needs)
			return vol.Usagef("feature %s needs %s: use -O %s,%s", f.name, needs, needs, given)
		}
	}
	if r.features&featProjectQuota != 0 {
		r.features |= featQuota // it says that there are files with quotas
	}
	return nil
}

// givenFeatures are the names of those that can be had.
func givenFeatures(known []feature) (names []string) {
	for _, f := range known {
		if f.not == "" {
			names = append(names, f.name)
		}
	}
	return names
}

func findFeature(known []feature, name string) (feature, bool) {
	for _, f := range known {
		if f.name == name || f.also != "" && f.also == name {
			return f, true
		}
	}
	return feature{}, false
}

// readEncoding reads how names are compared on a volume with casefold: there
// is one encoding, and flags.
func (r *formatRequest) readEncoding() error {
	if r.o.Encoding == "" {
		return nil
	}
	if r.features&featCasefold == 0 {
		return vol.Usagef("--encoding is for volumes with the feature casefold: use it with -O casefold")
	}
	name, flags, some := strings.Cut(r.o.Encoding, ":")
	if name != "utf8" {
		return vol.Usagef("--encoding %q: must be utf8, which flags can follow, as in utf8:strict", r.o.Encoding)
	}
	if !some {
		return nil
	}
	for flag := range strings.SplitSeq(flags, ",") {
		bit, no := uint16(0), strings.HasPrefix(flag, "no")
		switch strings.TrimPrefix(flag, "no") {
		case "strict":
			bit = encodingStrict
		case "hashonly":
			bit = encodingNoLinearFind
		default:
			return vol.Usagef("--encoding %q: a flag can be strict or hashonly, or nostrict or nohashonly", r.o.Encoding)
		}
		if r.encoding |= bit; no {
			r.encoding &^= bit
		}
	}
	return nil
}

// quotas are the kinds of quota that the volume has files for: user and group
// with quota, project with project_quota.
func (r *formatRequest) quotas() (kinds []int) {
	if r.given("quota") {
		kinds = append(kinds, userQuota, groupQuota)
	}
	if r.features&featProjectQuota != 0 {
		kinds = append(kinds, projectQuota)
	}
	return kinds
}

// given tells whether the feature was asked for, not only brought by another.
func (r *formatRequest) given(name string) bool {
	for n := range strings.SplitSeq(r.o.Features, ",") {
		if strings.TrimSpace(n) == name {
			return true
		}
	}
	return false
}

// quotaInos are the inodes of the quota files: the first ones that are free.
func (r *formatRequest) quotaInos() (inos [quotaKinds]uint32) {
	for i, kind := range r.quotas() {
		inos[kind] = firstNid + uint32(i)
	}
	return inos
}
