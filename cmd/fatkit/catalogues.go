package main

import (
	"github.com/fatkit/fatkit/pkg/disk"
	"github.com/fatkit/fatkit/pkg/vol"
)

// catalogue is the problems that one kind of thing can have.
type catalogue struct {
	name     string
	problems []vol.Problem
}

// catalogues are those of all formats, and of partition tables.
func (a *app) catalogues() []catalogue {
	cs := make([]catalogue, 0, len(a.drivers)+1)
	for _, d := range a.drivers {
		cs = append(cs, catalogue{d.Name, d.Problems})
	}
	return append(cs, catalogue{"Partition tables", disk.Problems()})
}
