// Command f2fstree makes what mkfs.f2fs and sload.f2fs cannot: a tree of files
// for sload.f2fs to take in, and a volume whose largest file is scattered.
//
//	f2fstree -dirs 500 -files 200 tree    100 000 files, in the directory tree
//	f2fstree -shuffle big.img             shuffles the blocks of the largest file
//
// The same arguments give the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/fatkit/fatkit/bench/gen"
)

func main() { gen.Main("f2fstree", run) }

func run() error {
	dirs := flag.Int("dirs", 500, "number of directories")
	files := flag.Int("files", 200, "files in each directory")
	scatter := flag.Bool("shuffle", false, "shuffle the blocks of the largest file of an image instead")
	flag.Parse()
	switch {
	case flag.NArg() != 1:
		return errors.New("wants one directory or image")
	case *scatter:
		return shuffle(flag.Arg(0))
	}
	return tree(flag.Arg(0), *dirs, *files)
}

// tree makes files of one to fifteen blocks, most of them small.
func tree(root string, dirs, files int) error {
	rnd := rand.New(rand.NewPCG(1, 1))
	data := make([]byte, 64<<10)
	for i := range data {
		data[i] = byte(rnd.Uint32())
	}
	for d := range dirs {
		dir := filepath.Join(root, fmt.Sprintf("dir%03d", d))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for i := range files {
			n := 1 + rnd.IntN(3000)
			switch kind := rnd.IntN(100); {
			case kind >= 98:
				n = 20_000 + rnd.IntN(40_000)
			case kind >= 60:
				n = 4000 + rnd.IntN(16_000)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file_%05d.dat", i)), data[:n], 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
