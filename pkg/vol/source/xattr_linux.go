package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fatkit/fatkit/pkg/vol"
)

// hostXattrs are the extended attributes of a host file, in order of name.
// They are those of a link itself, not of what it leads to.
func hostXattrs(path string) ([]vol.Xattr, error) {
	names, err := readXattr(func(b []byte) (int, error) { return unix.Llistxattr(path, b) })
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: extended attributes: %w", path, err)
	}
	var out []vol.Xattr
	for _, name := range strings.Split(string(names), "\x00") {
		if name == "" {
			continue
		}
		value, err := readXattr(func(b []byte) (int, error) { return unix.Lgetxattr(path, name, b) })
		if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EPERM) {
			continue // gone meanwhile, or not for this user
		}
		if err != nil {
			return nil, fmt.Errorf("%s: extended attribute %s: %w", path, name, err)
		}
		out = append(out, vol.Xattr{Name: name, Value: value})
	}
	slices.SortFunc(out, func(a, b vol.Xattr) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// readXattr calls read with enough room. What is read may grow between the two
// calls, so it tries a few times.
func readXattr(read func([]byte) (int, error)) ([]byte, error) {
	for range 8 {
		n, err := read(nil)
		if err != nil || n == 0 {
			return nil, err
		}
		b := make([]byte, n)
		n, err = read(b)
		if errors.Is(err, unix.ERANGE) {
			continue
		}
		return b[:max(n, 0)], err
	}
	return nil, unix.ERANGE
}
