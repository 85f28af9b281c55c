// Package lfs is the log-structured format of this toolkit, which is F2FS, and
// not littlefs: layout, format, check, and changes.
//
// Sources of the rules, as the comments name them:
//
//	[Linux] Documentation/filesystems/f2fs.rst   the design
//	[Linux] include/linux/f2fs_fs.h struct …     the fields on the disk
//	[Linux] behaviour                            what a mount accepts and does
//	[f2fs-tools] behaviour                       what mkfs.f2fs and fsck.f2fs do
//
// A volume is blocks of 4, 8 or 16 KiB; 512 of them are a segment, whatever
// their size. All numbers are little-endian. A block address counts from the
// start of the volume, a segment number from the start of the main area, and a
// nid is the number of a node: a block that holds an inode or pointers.
//
// The areas in their order are the superblock and its copy, the checkpoint
// area (two packs, of which the newer counts), SIT (which blocks of a segment
// are in use), NAT (where a node is), SSA (whose a block is) and main. SIT and
// NAT have two copies of each block; a bitmap in the checkpoint says which one
// counts, and a journal there overrides both.
//
// A change builds on the newest checkpoint and ends with another one: writer.go
// says how, ledger.go and nattable.go are SIT and NAT meanwhile, logs.go gives
// out blocks, handle.go finds the pages of a file, checkpoint.go makes it count.
//
// The files have the names and roles of those of pkg/fat and pkg/exfat; the
// layout is in layout.go and its kin: one for the checkpoint packs, one for
// the tables, one for nodes, one for directories.
package lfs
