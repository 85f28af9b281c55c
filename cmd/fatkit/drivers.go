package main

import (
	"github.com/fatkit/fatkit/pkg/exfat"
	"github.com/fatkit/fatkit/pkg/fat"
	"github.com/fatkit/fatkit/pkg/lfs"
	"github.com/fatkit/fatkit/pkg/vol"
)

// drivers are the file systems that the program knows. Of two that are equally
// sure of a volume the first one gets it.
func drivers() []*vol.Driver { return []*vol.Driver{fat.Driver(), exfat.Driver(), lfs.Driver()} }
