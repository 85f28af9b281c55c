//go:build linux

package voltest

import (
	"bytes"
	"fmt"
	"os"
)

// archive is a cpio archive in the format "newc", as the kernel unpacks it.
type archive struct {
	b     bytes.Buffer
	files int
}

// Modes of the entries of an archive.
const (
	archiveDir  = 0o40755
	archiveFile = 0o100755
)

func (a *archive) dir(name string) { a.add(name, archiveDir, nil) }

// file adds a file that can be run.
func (a *archive) file(name string, data []byte) { a.add(name, archiveFile, data) }

// copy adds a file of the host.
func (a *archive) copy(name, host string) error {
	data, err := os.ReadFile(host)
	if err != nil {
		return err
	}
	a.file(name, data)
	return nil
}

// end is the whole archive.
func (a *archive) end() []byte {
	a.add("TRAILER!!!", 0, nil)
	return a.b.Bytes()
}

// add writes an entry: the magic and thirteen numbers, the name with a NUL,
// the data, and NULs where these two do not end at a multiple of 4.
func (a *archive) add(name string, mode int, data []byte) {
	a.files++
	const owner, group, links, time, device, special, sum = 0, 0, 1, 0, 0, 0, 0
	a.b.WriteString("070701")
	for _, n := range []int{a.files, mode, owner, group, links, time, len(data), device, device, special, special, len(name) + 1, sum} {
		fmt.Fprintf(&a.b, "%08X", n)
	}
	a.b.WriteString(name + "\x00")
	a.pad()
	a.b.Write(data)
	a.pad()
}

func (a *archive) pad() {
	for a.b.Len()%4 != 0 {
		a.b.WriteByte(0)
	}
}
