// Package fat is the FAT12, FAT16 and FAT32 format: layout, check, repair,
// allocation.
//
// Sources of the rules, as the comments name them:
//
//	[FAT]    Microsoft Extensible Firmware Initiative FAT32 File System
//	         Specification, version 1.03, 6 December 2000 (fatgen103)
//	[MICSFT] the mapping files of Microsoft's code pages to Unicode, in
//	         VENDORS/MICSFT of the Unicode Consortium's mappings
//	[Linux]  the kernel's fs/fat as behaviour that users of the volume meet
//
// Files: layout.go holds the on-disk records as views; geometry.go what the
// boot sector says and whether it can be; table.go the FAT itself; name.go the
// names; folder.go directories as changes see them, dirscan.go as a check does;
// check_*.go one pass of a check each; problems.go the catalogue; plan.go format.
package fat
