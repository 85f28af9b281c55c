package exfat

// recommendedClusters: [exFAT] §3.1.9 "recommends no more than 2^24–2
// clusters", to keep FAT and bitmap from becoming very large.
const recommendedClusters = 1<<24 - 2

// tableCluster is the cluster size that Windows takes for a volume of size
// bytes: Microsoft, "Default cluster size for NTFS, FAT, and exFAT".
func tableCluster(size int64) int64 {
	switch {
	case size <= 256<<20:
		return 4 << 10
	case size <= 32<<30:
		return 32 << 10
	}
	return 128 << 10
}

// defaultAlign is 1 MiB, which is what partitions are aligned to and what most
// flash erases at a time divides or is divided by. It is less where two gaps of
// that would take more than 1/32 of the volume.
func (r *formatRequest) defaultAlign() int64 {
	a := int64(1 << 20)
	for a > r.sector && a > r.t.Size/64 {
		a /= 2
	}
	return a
}

// choose lays the volume out.
func (r *formatRequest) choose() (*layout, error) {
	l, m := r.fit()
	if m != nil {
		return nil, r.refuse(m)
	}
	return l, nil
}

// fit finds a layout: with the cluster size that was given, or with the usual
// one for the size, or with the one next to it that works. Clusters grow until
// there are no more of them than the specification recommends.
func (r *formatRequest) fit() (*layout, *misfit) {
	if r.cluster != 0 {
		return r.layout(r.cluster)
	}
	c := max(tableCluster(r.t.Size), r.sector)
	l, m := r.layout(c)
	many := func() bool {
		return m == nil && l.Clusters > recommendedClusters || m != nil && m.kind == tooMany
	}
	for many() && c < maxCluster {
		c *= 2
		l, m = r.layout(c)
	}
	for m != nil && m.kind == tooFew && c > r.sector {
		c /= 2
		l, m = r.layout(c)
	}
	return l, m
}
