//go:build !unix

package source

import (
	"io/fs"

	"github.com/fatkit/fatkit/pkg/vol"
)

// statHost finds nothing to add: there are no owners here, nor names that are
// known to be of one file.
func statHost(fs.FileInfo, *vol.Entry) (id inode, links uint64) { return inode{}, 1 }

// sparseHost is never told here.
func sparseHost(fs.FileInfo) bool { return false }
