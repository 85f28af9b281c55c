// Package disk is about partition tables: what may be wrong with one, which type
// of partition goes with which file system, and how a new disk with one partition
// is laid out. The parser is [dev.ReadTable].
//
// Sources, as the catalogue and comments name them: [UEFI] UEFI specification
// 2.10, 5.2 and 5.3; [MBR] the layout that IBM's and Microsoft's FDISK gave it, as
// Microsoft's "Master Boot Record" describes it, with the types of partitions of
// "Partition types" of the util-linux and Linux documentation; [GPT-Linux]
// block/partitions/efi.c of Linux, for what a kernel does with it.
package disk
