package vol

// InFolders is items by the directory that each is in, in the order that they have.
func InFolders[D comparable, T any](items []T, dir func(T) D) map[D][]T {
	n := make(map[D]int)
	for _, it := range items {
		n[dir(it)]++
	}
	all, in := make([]T, len(items)), make(map[D][]T, len(n))
	for _, it := range items {
		d := dir(it)
		if in[d] == nil {
			in[d], all = all[:0:n[d]], all[n[d]:]
		}
		in[d] = append(in[d], it)
	}
	return in
}
