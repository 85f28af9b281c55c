//go:build !linux

package source

import "github.com/fatkit/fatkit/pkg/vol"

// hostXattrs finds none: what other systems keep there has no meaning on the
// volumes that are made.
func hostXattrs(string) ([]vol.Xattr, error) { return nil, nil }
