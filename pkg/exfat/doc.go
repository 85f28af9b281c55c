// Package exfat is the exFAT format: layout, check, repair, allocation.
//
// Sources of the rules, as the comments name them:
//
//	[exFAT]  Microsoft, exFAT file system specification, revision 1.00, by
//	         section number
//	[Linux]  the kernel's fs/exfat as behaviour that users of the volume meet
//
// The files have the names and roles of those of pkg/fat; bitmap.go, upcase.go
// and entryset.go hold what FAT does not have.
package exfat
