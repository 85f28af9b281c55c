//go:build !linux

package dev

import (
	"errors"
	"os"
)

// checkOtherLocks knows of no locks but those that lock meets.
func checkOtherLocks(*os.File) error { return nil }

// adviseRead leaves reading ahead to the system.
func adviseRead(*os.File, Range) {}

// What follows is done by writing zeros, or not at all.
func punch(*os.File, Range) error         { return errors.ErrUnsupported }
func zeroRange(*os.File, Range) error     { return errors.ErrUnsupported }
func zeroBlocks(*os.File, Range) error    { return errors.ErrUnsupported }
func discardBlocks(*os.File, Range) error { return errors.ErrUnsupported }

// startWrite does nothing here: Sync does it all.
func startWrite(*os.File, Range) {}
