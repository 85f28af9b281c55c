//go:build !unix

package source

import (
	"io/fs"
	"os"

	"github.com/fatkit/fatkit/pkg/vol"
)

// statHost finds nothing to add: there are no owners here, nor names that are
// known to be of one file.
func statHost(fs.FileInfo, *vol.Entry) (id inode, links uint64) { return inode{}, 1 }

// openFlags are for a file that was one when it was listed.
const openFlags = os.O_RDONLY

// sparseHost is never told here.
func sparseHost(fs.FileInfo) bool { return false }
