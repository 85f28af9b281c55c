package lfs

import "github.com/fatkit/fatkit/pkg/vol"

// Names of repairs. They are part of the JSON output.
const (
	fixSet     = "set"     // put the right value there
	fixRestore = "restore" // take it from the good copy
	fixClear   = "clear"   // zero the field, or the pointer
	fixRemove  = "remove"  // remove the entry
	fixRename  = "rename"  // give it another name
	fixRebuild = "rebuild" // make it anew from what was found
	fixRescue  = "rescue"  // put the file into lost+found
	fixFree    = "free"    // give the blocks back
	fixCopy    = "copy"    // give one owner a block of its own
	fixKeep    = "keep"    // have the inode say that it is meant to be so
	fixReplay  = "replay"  // carry the log out
	fixDiscard = "discard" // give the log up
)

func repair(name, title string, loss vol.Loss) vol.Repair {
	return vol.Repair{Name: name, Title: title, Loss: loss}
}

const source = "[Linux] Documentation/filesystems/f2fs.rst, include/linux/f2fs_fs.h"

func row(code, slug string, sev vol.Severity, title, explain string, rs ...vol.Repair) vol.Problem {
	return vol.Problem{Code: code, Slug: slug, Severity: sev, Title: title, Explain: explain, Source: source, Repairs: rs}
}

// Problems is the catalogue of the F2FS driver. Codes are permanent. Of the
// repairs that a row names a finding offers those that are possible where it is.
func Problems() []vol.Problem {
	var ps []vol.Problem
	ps = append(ps, superProblems()...)
	ps = append(ps, packProblems()...)
	ps = append(ps, tableProblems()...)
	ps = append(ps, nodeProblems()...)
	ps = append(ps, inodeProblems()...)
	ps = append(ps, dirProblems()...)
	return vol.Describe(ps, causes(), elsewhere())
}

// Superblocks: F2FS-0100 …
func superProblems() []vol.Problem {
	const cannot = "Both superblocks must say where everything lies. With this field wrong in both nothing is repaired by guessing."
	fatal := func(code, slug, title string) vol.Problem {
		return row(code, slug, vol.SevError, title, cannot)
	}
	return []vol.Problem{
		fatal("F2FS-0100", "sb-magic", "no superblock"),
		fatal("F2FS-0101", "sb-block-size", "block size is not valid"),
		fatal("F2FS-0102", "sb-segment-size", "segment size is not valid"),
		fatal("F2FS-0103", "sb-sector-size", "sector size is not valid"),
		fatal("F2FS-0104", "sb-block-count", "number of blocks is not valid"),
		fatal("F2FS-0105", "sb-segment-count", "number of segments is not valid"),
		fatal("F2FS-0106", "sb-section-size", "segments per section is not valid"),
		fatal("F2FS-0107", "sb-section-count", "number of sections is not valid"),
		fatal("F2FS-0108", "sb-zone-size", "sections per zone is not valid"),
		fatal("F2FS-0109", "sb-area-size", "size of an area is not valid"),
		fatal("F2FS-0110", "sb-area-place", "place of an area is not valid"),
		fatal("F2FS-0111", "sb-payload", "checkpoint payload is not valid"),
		fatal("F2FS-0112", "sb-inode-number", "fixed inode numbers are wrong"),
		fatal("F2FS-0113", "sb-extensions", "extension lists are too long"),
		fatal("F2FS-0114", "sb-devices", "devices do not add up to the volume"),
		row("F2FS-0115", "sb-checksum", vol.SevError, "superblock checksum is wrong", "Both superblocks have a wrong one, and all else in them is possible. Linux and fsck.f2fs refuse the volume. Where both say the same it was written so: damage does not hit both alike.", repair(fixSet, "write the checksum of what both say", vol.LossNone)),
		row("F2FS-0116", "sb-copy", vol.SevWarning, "one superblock is damaged", "The other one is good and is used. Systems that look at the damaged one alone do not know the volume.", repair(fixRestore, "copy the good one over it", vol.LossNone)),
		row("F2FS-0117", "sb-differ", vol.SevWarning, "superblocks differ", "Both pass the tests. The first one counts.", repair(fixRestore, "copy the first over the second", vol.LossNone)),
		row("F2FS-0118", "volume-beyond-device", vol.SevError, "volume is larger than the image or device", "The image was cut short. Linux mounts it all the same and gives I/O errors for what is missing."),
		row("F2FS-0119", "sb-stop-reason", vol.SevWarning, "a reason to stop is noted", "The kernel met an error it could not go on with, and stopped checkpoints.", repair(fixClear, "clear the note", vol.LossNone)),
		row("F2FS-0120", "sb-errors", vol.SevWarning, "errors are noted", "The kernel met inconsistent structures on this volume.", repair(fixClear, "clear the notes", vol.LossNone)),
		row("F2FS-0121", "sb-features", vol.SevWarning, "features that are not known", "The volume may hold structures that are not checked."),
		row("F2FS-0122", "sb-payload-pack", vol.SevError, "checkpoint payload does not fit the packs", "The superblock speaks of blocks with version bitmaps that the packs do not have. The kernel refuses the mount.", repair(fixSet, "set the payload to that of the packs", vol.LossNone)),
		row("F2FS-0123", "multi-device", vol.SevInfo, "volume has several devices, zones or aliases", "Its geometry was looked at, and no more: the other devices are not here."),
		row("F2FS-0124", "sb-sector", vol.SevInfo, "volume was made for sectors of another size", "An image file has no sectors."),
		row("F2FS-0125", "sb-segment-end", vol.SevError, "main area ends before the segments do", "The number of segments and the areas do not add up. The kernel corrects the number when it mounts.", repair(fixSet, "set the number of segments", vol.LossNone)),
		row("F2FS-0126", "sb-page-size", vol.SevInfo, "blocks are larger than the pages of most machines", "Linux mounts a volume only where a page of memory is as large as a block. Most machines have pages of 4 KiB; some that run Android have 16 KiB."),
		row("F2FS-0127", "sb-encoding", vol.SevError, "encoding of names is not known", "Directories that fold case go by it, and there is one, UTF-8. The kernel refuses the mount.", repair(fixSet, "say UTF-8", vol.LossNone)),
		row("F2FS-0128", "sb-feature-lost", vol.SevError, "feature is in use and the superblock does not have it", "All inodes would be read wrongly, so the check ends here. Linux refuses such a volume, or the files that need the feature.", repair(fixSet, "say that the volume has it", vol.LossNone)),
	}
}

// Checkpoint: F2FS-0200 …
func packProblems() []vol.Problem {
	set := repair(fixSet, "set the right number", vol.LossNone)
	return []vol.Problem{
		row("F2FS-0200", "cp-none", vol.SevError, "no valid checkpoint", "Both packs are damaged: which copies of SIT and NAT count is not known, and so what belongs to which file. Where the first block of a pack is all that is wrong, its last one says the same. Else nothing is repaired by guessing: read the device again if this is an image of one, go back to an older image, or look for files by their contents.", repair(fixRestore, "take the first block of the newest pack from its last one", vol.LossMetadata)),
		row("F2FS-0201", "cp-checksum", vol.SevError, "a checkpoint pack has a wrong checksum", "The other pack is used, and what was written after that is lost, or the power went while this one was written. Where this one is the newer and its last block is right, nothing is lost but to Linux, which does not look at that.", repair(fixRestore, "take the damaged end of it from the other end", vol.LossNone), repair(fixRebuild, "write the pack anew from the other", vol.LossNone)),
		row("F2FS-0202", "cp-blocks", vol.SevError, "a checkpoint pack has an impossible length", "The other pack is used.", repair(fixRebuild, "write the pack anew from the other", vol.LossNone)),
		row("F2FS-0203", "cp-tail", vol.SevError, "a checkpoint pack does not end as it begins", "It was being written when the power went, and the other pack is used. Where its last block was written, if only in part, all before that is there, and nothing is lost but to Linux, which does not know.", repair(fixRestore, "take the damaged end of it from the other end", vol.LossNone), repair(fixRebuild, "write the pack anew from the other", vol.LossNone)),
		row("F2FS-0204", "cp-layout", vol.SevError, "parts of the checkpoint pack are not valid", "Its checksum is right, and it says what cannot be. Lengths that follow from the rest of the volume can be set; where that is not enough, nothing is repaired by guessing: read the device again if this is an image of one, or go back to an older image.", repair(fixSet, "set what follows from the rest", vol.LossNone)),
		row("F2FS-0205", "cp-fsck", vol.SevWarning, "a check is asked for", "The kernel met an inconsistency, and set the mark in the checkpoint.", repair(fixClear, "clear the mark when nothing is left", vol.LossNone)),
		row("F2FS-0206", "cp-error", vol.SevError, "an error is noted in the checkpoint", "The kernel met an I/O error while it wrote this checkpoint, and refuses the mount until the mark is gone.", repair(fixClear, "clear the mark", vol.LossNone)),
		row("F2FS-0207", "cp-quota", vol.SevWarning, "quotas need a check", "Usage was not written back.", repair(fixRebuild, "count usage anew", vol.LossNone)),
		row("F2FS-0208", "cp-disabled", vol.SevWarning, "checkpoints are disabled", "The volume is mounted with checkpoint=disable: what was written since is not durable.", repair(fixClear, "enable them", vol.LossMetadata)),
		row("F2FS-0209", "cp-resize", vol.SevWarning, "a resize was interrupted", "The volume must be resized again before it is used.", repair(fixClear, "clear the mark", vol.LossNone)),
		row("F2FS-0210", "cp-flags", vol.SevWarning, "flags of the checkpoint that are not known", "They may change the meaning of what follows."),
		row("F2FS-0211", "not-unmounted", vol.SevWarning, "volume was not unmounted", "The power went or the device was pulled. All that the last checkpoint holds is there.", repair(fixClear, "write a checkpoint", vol.LossNone)),
		row("F2FS-0212", "replay", vol.SevWarning, "log has to be replayed", "Files were synced after the last checkpoint. The next mount carries that out; until then they show an older state.", repair(fixReplay, "replay the log", vol.LossNone), repair(fixDiscard, "give up what was synced since", vol.LossData)),
		row("F2FS-0213", "replay-address", vol.SevError, "log to be replayed is damaged", "A node in it leads to a block that cannot be, or back to an earlier one, or the file or directory that it is for is damaged. The kernel gives the log up half way, and mounts the volume without the rest.", repair(fixDiscard, "give up what was synced since", vol.LossData)),
		row("F2FS-0214", "orphans", vol.SevWarning, "files without a name are pending", "They were open and deleted when the power went. The next mount frees them.", repair(fixFree, "free them", vol.LossNone)),
		row("F2FS-0215", "orphan-count", vol.SevError, "orphan block has an impossible count", "A block has room for a fixed number of inodes.", repair(fixSet, "cut the count", vol.LossNone)),
		row("F2FS-0216", "orphan-invalid", vol.SevError, "orphan list names an inode that is not valid", "The next mount fails on it.", repair(fixRemove, "take it off the list", vol.LossNone)),
		row("F2FS-0217", "orphan-linked", vol.SevError, "orphan list names a file that has a name", "The next mount would delete the file.", repair(fixRemove, "take it off the list", vol.LossNone)),
		row("F2FS-0218", "cp-user-blocks", vol.SevError, "number of blocks for users is not valid", "It must be at least the number of blocks in use, and leave the reserve. The kernel refuses the mount.", set),
		row("F2FS-0219", "cp-reserve", vol.SevError, "reserved or over-provisioned segments are not valid", "Without a reserve no garbage can be collected, and it cannot be all there is. The kernel refuses the mount.", set),
		row("F2FS-0220", "cp-totals", vol.SevWarning, "totals of the checkpoint are wrong", "They are counted anew.", set),
		row("F2FS-0221", "cp-free-segments", vol.SevWarning, "number of free segments is wrong", "It is counted anew.", set),
		row("F2FS-0222", "cp-next-nid", vol.SevWarning, "hint for the next node number is wrong", "It must be a number that a file can have.", set),
		row("F2FS-0223", "log-alloc", vol.SevError, "a log has an unknown way to allocate", "It is 0 or 1. The kernel refuses the mount.", set),
		row("F2FS-0224", "log-place", vol.SevError, "a log writes where it cannot", "Its segment does not exist, is another log's, or the block that is next is in use: the next write would destroy it.", repair(fixSet, "begin a free segment", vol.LossNone)),
		row("F2FS-0225", "log-summary", vol.SevWarning, "summary of a log is of the other kind", "Data and node logs have summaries of different kinds.", set),
		row("F2FS-0226", "journal", vol.SevError, "journal of the checkpoint has an impossible count", "It has room for a fixed number of entries.", repair(fixSet, "cut the count", vol.LossMetadata)),
		row("F2FS-0227", "journal-entry", vol.SevError, "journal of the checkpoint holds an entry that is not valid", "It names a node or segment that does not exist.", repair(fixRemove, "remove the entry", vol.LossMetadata)),
		row("F2FS-0228", "cp-counts", vol.SevError, "numbers of nodes or blocks contradict SIT", "The checkpoint must have as many nodes as SIT, and not fewer blocks in use. The kernel refuses the mount.", set),
		row("F2FS-0229", "log-type", vol.SevError, "segment that a log writes to is of another type", "SIT has the type of each segment, and that of one in use as a log is the log's.", set),
		row("F2FS-0230", "cp-blank", vol.SevWarning, "a checkpoint pack is empty", "There is nothing in its first block, and the other pack is used. Until the next checkpoint there is none to fall back on.", repair(fixRebuild, "write the pack anew from the other", vol.LossNone)),
	}
}

// SIT, SSA and NAT: F2FS-0300 …
func tableProblems() []vol.Problem {
	rebuild := repair(fixRebuild, "make the entry anew from what was found", vol.LossNone)
	return []vol.Problem{
		row("F2FS-0300", "sit-count", vol.SevError, "SIT entry has a count that does not fit its map", "The number of valid blocks of a segment is stored beside the map of them. The kernel refuses such a segment.", rebuild),
		row("F2FS-0301", "sit-type", vol.SevError, "SIT entry has a type that does not fit the segment", "Data and nodes never share a segment. The kernel refuses such a segment.", rebuild),
		row("F2FS-0302", "sit-free", vol.SevError, "block in use is marked as free", "The next write may go there.", rebuild),
		row("F2FS-0303", "sit-leak", vol.SevError, "blocks belong to no file", "SIT has them as valid, and no node leads to them.", repair(fixFree, "give them back", vol.LossData)),
		row("F2FS-0304", "ssa-entry", vol.SevError, "summary of a block names another owner", "Garbage collection moves blocks by it, and would move this one wrongly.", rebuild),
		row("F2FS-0305", "ssa-type", vol.SevError, "summary of a segment is of the other kind", "Data and node segments have summaries of different kinds.", rebuild),
		row("F2FS-0306", "nat-address", vol.SevError, "NAT entry has an address that is not valid", "The node is not there.", repair(fixRestore, "take the node from where it is", vol.LossNone), repair(fixRemove, "remove the entry, and what leads to it", vol.LossData)),
		row("F2FS-0307", "nat-reserved", vol.SevError, "NAT entry of a reserved number is wrong", "Numbers 0 to 2 stand for no file.", rebuild),
		row("F2FS-0308", "nat-owner", vol.SevError, "NAT entry has no owner or one that cannot own it", "Every node belongs to an inode.", rebuild),
		row("F2FS-0309", "node-lost", vol.SevError, "nodes that nothing leads to", "NAT has them, and no inode and no name leads to them.", repair(fixRestore, "have the file lead to them again", vol.LossNone), repair(fixRescue, "put what is left of the file into lost+found", vol.LossMetadata), repair(fixFree, "free them", vol.LossData)),
		row("F2FS-0310", "nat-bits", vol.SevError, "bits of free and used node numbers contradict NAT", "The kernel gives out node numbers by them, and would give one out that is in use.", repair(fixRebuild, "make them anew from NAT", vol.LossNone)),
	}
}

// Nodes and what they lead to: F2FS-0400 …
func nodeProblems() []vol.Problem {
	cl := repair(fixClear, "clear the pointer; the file has a hole there", vol.LossData)
	own := repair(fixRestore, "lead to the block that belongs there", vol.LossNone)
	back := repair(fixRestore, "lead to the node that belongs there", vol.LossNone)
	return []vol.Problem{
		row("F2FS-0400", "node-footer", vol.SevError, "block is not the node that NAT says", "The footer of a node names it and its owner.", repair(fixRestore, "take the node from where it is", vol.LossNone), repair(fixSet, "write the footer anew", vol.LossNone), repair(fixRemove, "remove what leads to it", vol.LossData)),
		row("F2FS-0401", "node-place", vol.SevError, "node says that it is at another place of its file", "Garbage collection and recovery go by it.", repair(fixSet, "set the right place", vol.LossNone)),
		row("F2FS-0402", "node-pointer", vol.SevError, "inode or node leads to a node that is not valid", "The number is out of range, free, or another file's.", back, cl),
		row("F2FS-0403", "node-twice", vol.SevError, "node is part of two", "It belongs to one place of one file.", back, cl),
		row("F2FS-0404", "addr-range", vol.SevError, "pointer leads outside the main area", "There is no block with that address.", own, cl),
		row("F2FS-0405", "addr-twice", vol.SevError, "block belongs to two", "At most one of the owners has its contents there. The summary says which, or what the block holds and where those beside it are; the other gets back what is its own, if that is found. Where nothing tells it can have a copy.", repair(fixCopy, "give the other owner a copy of the block", vol.LossMetadata), cl),
		row("F2FS-0406", "addr-compress", vol.SevError, "mark of a compressed cluster where none can be", "The file is not compressed, or the slot is not the first of a cluster.", own, cl),
		row("F2FS-0407", "xattr-list", vol.SevError, "list of extended attributes is damaged", "An entry crosses the end of the area.", repair(fixClear, "end the list there", vol.LossMetadata)),
		row("F2FS-0408", "xattr-magic", vol.SevInfo, "extended attributes lack their magic number", "The area holds something else; the kernel takes it for empty.", repair(fixClear, "clear them", vol.LossMetadata)),
	}
}

// Inodes: F2FS-0500 …
func inodeProblems() []vol.Problem {
	set := func(what string) vol.Repair { return repair(fixSet, what, vol.LossNone) }
	return []vol.Problem{
		row("F2FS-0500", "inode-mode", vol.SevError, "inode has a type that is not valid", "It is no file, directory, link, device, FIFO or socket, or not what its name says.", repair(fixSet, "set the type that its contents show", vol.LossMetadata)),
		row("F2FS-0501", "inode-links", vol.SevError, "link count is wrong", "It is the number of names; of a directory 2 and its subdirectories.", set("write the right count")),
		row("F2FS-0502", "inode-blocks", vol.SevError, "block count is wrong", "It counts all nodes and blocks of the file.", set("write the right count")),
		row("F2FS-0503", "inode-size", vol.SevError, "size is more than a file can have", "Readers would go on for ever.", repair(fixSet, "set it to the end of the last block", vol.LossMetadata)),
		row("F2FS-0504", "inode-size-short", vol.SevWarning, "file has blocks beyond its size", "The inode does not say that they were preallocated. Linux leaves it so where a file was pinned, preallocated and is pinned no longer; what is in the blocks is old then. If the size was damaged, the end of the file is hidden. With a larger size the file ends with whatever they hold.", repair(fixKeep, "leave its size, and mark that blocks are kept beyond it", vol.LossNone), repair(fixSet, "set the size to the end of the last block", vol.LossMetadata)),
		row("F2FS-0505", "inode-dir-size", vol.SevError, "directory's size does not cover its blocks", "Names beyond it are not listed.", set("set it to the end of the last block")),
		row("F2FS-0506", "inode-extent", vol.SevWarning, "remembered extent does not fit the block map", "Readers that use it read other blocks.", repair(fixClear, "forget it", vol.LossNone)),
		row("F2FS-0507", "inode-extra", vol.SevError, "extra attributes are not valid", "The feature is off, or their length cannot be.", set("set the right length")),
		row("F2FS-0508", "inode-inline-xattr", vol.SevError, "room for inline attributes is not valid", "It is more than the inode has, or less than the header of a list takes. Newer Linux does not open the file.", set("set what the list shows, or the usual one")),
		row("F2FS-0509", "inode-inline", vol.SevError, "inline flags are not valid", "Inline data is for files and links, inline entries are for directories, and the two exclude one another and blocks.", repair(fixClear, "clear the flag that does not fit", vol.LossMetadata)),
		row("F2FS-0510", "inline-exist", vol.SevWarning, "inline data is there and not marked", "The flag that says so is clear.", set("set the flag")),
		row("F2FS-0511", "inode-checksum", vol.SevError, "inode checksum is wrong", "The inode was damaged, or written by something that does not know the feature.", set("write the right checksum")),
		row("F2FS-0512", "inode-casefold", vol.SevError, "directory folds case, and the volume does not", "The feature is off.", repair(fixClear, "clear the flag", vol.LossMetadata)),
		row("F2FS-0513", "inode-compression", vol.SevWarning, "file is marked as compressed, and the volume has no compression", "The feature is off.", repair(fixClear, "clear the flag", vol.LossNone)),
		row("F2FS-0514", "inode-name", vol.SevWarning, "inode's own name is not that of its entry", "Recovery after a crash links a new file under it. It is no fault that a regular file keeps a name that it had before it was renamed or lost a link and was then synced: Linux leaves it, and so it is not reported where the file's times tell of a change.", set("write the right name")),
		row("F2FS-0515", "inode-name-length", vol.SevWarning, "length of the inode's own name is not valid", "A name has 1 to 255 bytes.", set("write the right name")),
		row("F2FS-0516", "inode-parent", vol.SevError, "directory names another parent", "Recovery after a crash would link it in the wrong place.", set("set the right parent")),
		row("F2FS-0517", "inode-parent-file", vol.SevInfo, "file names another parent", "It was moved or has several names."),
		row("F2FS-0518", "inode-time", vol.SevInfo, "time is not valid", "Nanoseconds are below 10^9."),
		row("F2FS-0519", "inode-depth", vol.SevError, "directory's depth is wrong", "Names in levels beyond it are listed and cannot be opened.", set("set it to the deepest level in use")),
		row("F2FS-0520", "inode-unreachable", vol.SevError, "file or directory has no name", "No directory entry that can be reached from the root leads to it.", repair(fixRescue, "put it into lost+found", vol.LossMetadata), repair(fixFree, "free it", vol.LossData)),
		row("F2FS-0521", "root-lost", vol.SevError, "root directory is lost", "NAT does not lead to an inode of a directory with number 3.", repair(fixRescue, "look for it among all nodes", vol.LossMetadata)),
		row("F2FS-0522", "symlink-empty", vol.SevError, "symbolic link is empty", "It leads nowhere.", repair(fixSet, "set the length of what it holds", vol.LossNone), repair(fixRemove, "remove it", vol.LossMetadata)),
		row("F2FS-0523", "quota-file", vol.SevWarning, "quota file is damaged", "Its header or tree cannot be read.", repair(fixRebuild, "make it anew, with the limits that can still be read", vol.LossMetadata), repair(fixClear, "have the superblock name none: quotas of this kind are off then", vol.LossMetadata)),
		row("F2FS-0524", "quota-usage", vol.SevWarning, "quota does not count what is in use", "Space or inodes of a user, group or project are counted wrongly.", set("write the right usage")),
		row("F2FS-0525", "inode-saved", vol.SevWarning, "blocks that compression saved are counted wrongly", "It counts what is reserved for clusters that take fewer blocks.", set("write the right count")),
		row("F2FS-0528", "inode-compress", vol.SevError, "compression of a file is not valid", "A cluster has 4 to 256 blocks, and there are four algorithms. Linux does not open the file.", set("set what its blocks show, or what is usual")),
		row("F2FS-0529", "inode-extent-range", vol.SevError, "remembered extent leads to blocks that nothing has", "It begins or ends outside the main area, or at a block that is free. Linux does not open the file.", repair(fixClear, "forget it", vol.LossNone)),
		row("F2FS-0530", "inode-dir-level", vol.SevError, "level that a directory begins its buckets with is wrong", "It says where names are looked for. Nearly all entries stand where they are looked for with another.", set("set the level by which the entries were put there")),
		row("F2FS-0526", "inode-flags", vol.SevInfo, "inode has flags that are not known", "Linux passes them over; some old versions wrote such."),
		row("F2FS-0527", "inline-tail", vol.SevInfo, "there are bytes behind the end of inline data", "A file that grows over them may show them, where it should have zeros."),
	}
}

// Directories: F2FS-0600 …
func dirProblems() []vol.Problem {
	rm := repair(fixRemove, "remove the entry", vol.LossMetadata)
	return []vol.Problem{
		row("F2FS-0600", "dentry-ino", vol.SevError, "entry leads to an inode that is not valid", "The number is out of range, free, or that of another node.", repair(fixRestore, "take the inode from where it is", vol.LossNone), rm),
		row("F2FS-0601", "dentry-type", vol.SevError, "entry has another type than its inode", "Programs that list directories go by it.", repair(fixSet, "set the type of the inode", vol.LossNone)),
		row("F2FS-0602", "dentry-name-length", vol.SevError, "entry has a name length that is not valid", "A name has 1 to 255 bytes, and fits its slots. With another length the hash of this one is right, or nothing tells how long it is.", repair(fixSet, "set the length with which the hash is right", vol.LossNone), rm),
		row("F2FS-0603", "dentry-name", vol.SevError, "entry has a name that is not valid", "A slash or a zero byte cannot be part of a name.", repair(fixRename, "replace them by _", vol.LossMetadata)),
		row("F2FS-0604", "dentry-hash", vol.SevError, "entry has a wrong hash", "Names are found by their hash.", repair(fixSet, "write the right hash", vol.LossNone)),
		row("F2FS-0605", "dentry-position", vol.SevError, "entry stands where it is not looked for", "The hash decides the bucket of each level.", repair(fixRebuild, "put it where it belongs", vol.LossNone)),
		row("F2FS-0606", "dentry-twice", vol.SevError, "two entries have the same name", "Only one of the files can be opened.", repair(fixRename, "give the second another name", vol.LossMetadata)),
		row("F2FS-0607", "dentry-bitmap", vol.SevError, "slots of a name are not marked", "The next name may be written over it.", repair(fixSet, "mark them", vol.LossNone)),
		row("F2FS-0608", "dot", vol.SevError, "entry . is missing or wrong", "It leads to the directory itself.", repair(fixSet, "write it", vol.LossNone)),
		row("F2FS-0609", "dotdot", vol.SevError, "entry .. is missing or wrong", "It leads to the parent directory.", repair(fixSet, "write it", vol.LossNone)),
		row("F2FS-0610", "dir-twice", vol.SevError, "directory has two names", "Two entries lead to it, or one to its own ancestor.", rm),
	}
}
