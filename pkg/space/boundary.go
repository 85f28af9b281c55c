package space

// maxAlign is the highest Request.Align that Boundary gives: more units than
// that between two boundaries are more than most volumes have.
const maxAlign = 1 << 31

// Boundary turns a boundary in bytes into one in units, for Request.Align and
// Phase: of the units of unit bytes, the first of which begins at byte base,
// those u with u % every == phase begin at a multiple of align bytes. ok is
// false where none does.
func Boundary(unit, base, align uint64) (every, phase uint32, ok bool) {
	if align <= 1 || unit == 0 {
		return 1, 0, unit != 0
	}
	common := gcd(unit, align)
	modulus := align / common
	if base%common != 0 || modulus > maxAlign {
		return 0, 0, false
	}
	// u*unit = -base (mod align), divided by what the three have in common:
	// then unit has an inverse.
	rest := (modulus - base/common%modulus) % modulus
	return uint32(modulus), uint32(rest * invert(unit/common%modulus, modulus) % modulus), true
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// invert is the x with a*x = 1 (mod m), for a and m that have nothing in
// common, m up to 2^31: the extended Euclidean algorithm.
func invert(a, m uint64) uint64 {
	if m == 1 {
		return 0
	}
	r0, r1 := int64(m), int64(a)
	x0, x1 := int64(0), int64(1)
	for r1 > 1 {
		q := r0 / r1
		r0, r1 = r1, r0-q*r1
		x0, x1 = x1, x0-q*x1
	}
	return uint64((x1%int64(m) + int64(m)) % int64(m))
}
