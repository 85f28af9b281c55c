package fat

import "github.com/fatkit/fatkit/pkg/vol"

// Names of repairs. They are part of the JSON output.
const (
	fixSet      = "set"      // put the right value there
	fixRestore  = "restore"  // take it from the good copy, or rebuild it
	fixShrink   = "shrink"   // lower the size of the volume
	fixGrow     = "grow"     // raise the size of the volume
	fixMirror   = "mirror"   // copy one FAT over the others
	fixChoose   = "choose"   // the same, where the evidence is not clear
	fixClear    = "clear"    // zero the field
	fixRemove   = "remove"   // remove the entry or the slots
	fixRename   = "rename"   // give it another name
	fixTruncate = "truncate" // end the chain or the file here
	fixRejoin   = "rejoin"   // link the rest of the chain again
	fixCopy     = "copy"     // give one owner clusters of its own
	fixKeep     = "keep"     // keep the clusters and adapt the size
	fixDetach   = "detach"   // end the chain here; the rest becomes lost clusters
	fixFree     = "free"     // give the clusters back
	fixRescue   = "rescue"   // make files of them
	fixReveal   = "reveal"   // make hidden entries visible
	fixRecreate = "recreate" // make the missing entry
)

func repair(name, title string, loss vol.Loss) vol.Repair {
	return vol.Repair{Name: name, Title: title, Loss: loss}
}

// Problems is the catalogue of the FAT driver. Codes are permanent: rows are
// added at the end of their block's numbers and never change meaning.
func Problems() []vol.Problem {
	var ps []vol.Problem
	ps = append(ps, bootProblems()...)
	ps = append(ps, tableProblems()...)
	ps = append(ps, chainProblems()...)
	ps = append(ps, dirProblems()...)
	ps = append(ps, nameProblems()...)
	return vol.Describe(ps, causes(), elsewhere())
}

// Boot sector, backup and FSInfo: FAT-0100 …
func bootProblems() []vol.Problem {
	const (
		bpb    = "[FAT] Boot Sector and BPB"
		fsi    = "[FAT] FAT32 FSInfo Sector Structure and Backup Boot Sector"
		cannot = "The boot sector says where everything lies. With this field wrong nothing else on the volume can be found, so nothing is repaired by guessing."
	)
	fatal := func(code, slug, title string) vol.Problem {
		return vol.Problem{Code: code, Slug: slug, Severity: vol.SevError, Title: title, Explain: cannot, Source: bpb}
	}
	set := func(code, slug string, sev vol.Severity, title, explain, source, fix string) vol.Problem {
		return vol.Problem{Code: code, Slug: slug, Severity: sev, Title: title, Explain: explain, Source: source,
			Repairs: []vol.Repair{repair(fixSet, fix, vol.LossNone)}}
	}
	return []vol.Problem{
		fatal("FAT-0100", "sector-size", "bytes per sector is not valid"),
		fatal("FAT-0101", "cluster-size", "sectors per cluster is not valid"),
		fatal("FAT-0102", "reserved-zero", "no reserved sectors"),
		fatal("FAT-0103", "fat-count", "number of FATs is not valid"),
		fatal("FAT-0104", "fat-size-zero", "FAT size is zero"),
		fatal("FAT-0105", "total-sectors-zero", "volume size is zero"),
		fatal("FAT-0106", "no-root", "no root directory"),
		fatal("FAT-0107", "no-data-area", "no room for data"),
		fatal("FAT-0108", "too-many-clusters", "more clusters than the FAT type allows"),
		fatal("FAT-0109", "root-cluster", "root directory's first cluster is not valid"),
		fatal("FAT-0110", "type-ambiguous", "whether it is FAT12 or FAT16 cannot be told"),
		fatal("FAT-0111", "fat-beyond-device", "the image ends inside the FATs or the root directory"),
		fatal("FAT-0112", "root-unreadable", "root directory's chain is broken at its start"),
		{Code: "FAT-0143", Slug: "root-garbage", Severity: vol.SevError, Title: "root directory holds something else",
			Explain: "Most of its slots cannot be entries: it was overwritten, or the boot sector says wrongly where it lies. Every repair would take that for files, and give the clusters of the real ones back; so there is none.",
			Source:  "[FAT] FAT Directory Structure"},
		{Code: "FAT-0113", Slug: "boot-sector-lost", Severity: vol.SevError, Title: "boot sector is damaged, its backup is good",
			Explain: "Sector 0 is not a boot sector any more, or says that things lie where they do not. FAT32 keeps a copy, usually in sector 6, and that one is whole.",
			Source:  fsi, Repairs: []vol.Repair{repair(fixRestore, "copy the backup to sector 0", vol.LossNone)}},
		set("FAT-0114", "no-signature", vol.SevError, "boot sector lacks the signature 55 AA",
			"Bytes 510 and 511 must be 55 AA. Firmware and Windows take the volume for unformatted without them; Linux does not look.", bpb, "write 55 AA"),
		set("FAT-0115", "jump", vol.SevWarning, "boot sector does not start with a jump",
			"The first bytes must be EB xx 90 or E9 xx xx. Windows refuses a volume without them.", bpb, "write EB xx 90"),
		set("FAT-0116", "media-byte", vol.SevWarning, "media byte has a value that is not allowed",
			"The media byte must be F0 or F8 to FF.", bpb, "write F8"),
		set("FAT-0117", "root-entries", vol.SevError, "root entry count is not zero on FAT32",
			"FAT32 keeps its root in the data area, so the count of the fixed root must be 0. Readers that believe it look for the data in the wrong place.", bpb, "write 0"),
		set("FAT-0118", "totals-disagree", vol.SevError, "16-bit and 32-bit sector totals are both set and differ",
			"Only one of the two may be set. Readers that prefer the other see a volume of another size.", bpb, "clear the total that is not used"),
		set("FAT-0119", "version", vol.SevWarning, "FAT32 version is not 0.0",
			"Drivers are told not to mount a version they do not know; there is no other than 0.0.", bpb, "write 0"),
		set("FAT-0120", "active-fat", vol.SevError, "the active FAT is one that does not exist",
			"With mirroring off, four bits say which FAT counts. They name one beyond the number of FATs.", bpb, "turn mirroring on"),
		{Code: "FAT-0121", Slug: "mirror-off", Severity: vol.SevError, Title: "mirroring is off and the FATs differ",
			Explain: "Only one FAT counts, says the boot sector. Windows and mtools follow that, Linux reads the first FAT whatever it says, so the volume has two contents.",
			Source:  bpb + ", BPB_ExtFlags", Repairs: []vol.Repair{repair(fixMirror, "copy the active FAT over the others and turn mirroring on", vol.LossNone),
				repair(fixChoose, "the same, though the active FAT does not fit the directories", vol.LossData)}},
		{Code: "FAT-0122", Slug: "mirror-off-equal", Severity: vol.SevInfo, Title: "mirroring is off", Explain: "Only one FAT is kept up to date. They are equal now.", Source: bpb + ", BPB_ExtFlags"},
		{Code: "FAT-0123", Slug: "volume-beyond-device", Severity: vol.SevError, Title: "volume is larger than the image or device",
			Explain: "The boot sector claims more sectors than there are. What lay behind the end is gone, or the image was copied short. If the missing part held nothing the size can be corrected.",
			Source:  bpb, Repairs: []vol.Repair{repair(fixShrink, "set the size of the volume to what is there; no file uses the missing part", vol.LossNone),
				repair(fixTruncate, "set the size of the volume to what is there; files that reach beyond are cut", vol.LossData)}},
		{Code: "FAT-0124", Slug: "fat-too-small", Severity: vol.SevError, Title: "there are more clusters than FAT entries",
			Explain: "The FAT is too short for the size of the volume. Linux ignores the clusters without an entry, other readers may run over the end of the FAT.",
			Source:  "[FAT] FAT Type Determination", Repairs: []vol.Repair{repair(fixShrink, "set the size of the volume to what the FAT covers", vol.LossNone)}},
		{Code: "FAT-0125", Slug: "type-boundary", Severity: vol.SevWarning, Title: "cluster count is where systems disagree on the FAT type",
			Explain: "Microsoft's rule says FAT12 below 4085 clusters and FAT16 from there, but Windows and others compute the boundary a few clusters off. A system that takes the other width sees garbage and destroys files.",
			Source:  "[FAT] FAT Type Determination"},
		{Code: "FAT-0126", Slug: "few-clusters", Severity: vol.SevWarning, Title: "FAT32 with fewer than 65525 clusters",
			Explain: "By the specification this count makes it FAT16. Linux goes by the layout and mounts it; UEFI firmware and Windows may not.",
			Source:  "[FAT] FAT Type Determination", Repairs: []vol.Repair{repair(fixGrow, "take the blank space behind the volume in, which the FAT has entries for", vol.LossMetadata)}},
		{Code: "FAT-0127", Slug: "type-string", Severity: vol.SevInfo, Title: "type string names another type", Explain: "The string is for people; no reader may go by it.", Source: bpb + ", BS_FilSysType"},
		{Code: "FAT-0128", Slug: "backup-boot-none", Severity: vol.SevInfo, Title: "no backup boot sector", Explain: "The boot sector names sector 0 as its backup: there is none.", Source: fsi},
		set("FAT-0129", "backup-boot-location", vol.SevError, "backup boot sector lies outside the reserved sectors",
			"The field must name a reserved sector; writing a backup there would destroy a FAT or a file.", fsi, "put the backup where it belongs"),
		{Code: "FAT-0130", Slug: "backup-boot-differs", Severity: vol.SevWarning, Title: "backup boot sector differs",
			Explain: "The copy is for the day the first sector is lost, and it must describe the same volume. (The byte with the dirty flag is not compared.)",
			Source:  fsi, Repairs: []vol.Repair{repair(fixSet, "copy the boot sector to its backup", vol.LossNone)}},
		set("FAT-0131", "fsinfo-none", vol.SevWarning, "no FSInfo sector", "FAT32 keeps its count of free clusters in the FSInfo sector; the boot sector names none.", fsi, "make one in reserved sector 1"),
		set("FAT-0132", "fsinfo-location", vol.SevError, "FSInfo sector is placed where it cannot be",
			"The field must name a reserved sector that is neither the boot sector nor its backup. A system that believes it writes counts over a file, a FAT or the backup.", fsi, "point to reserved sector 1 and write it"),
		set("FAT-0133", "fsinfo-bad-signature", vol.SevWarning, "FSInfo sector lacks its signatures", "Without them systems do not trust the counts, and read the whole FAT at every mount.", fsi, "write the sector anew"),
		set("FAT-0134", "fsinfo-free-wrong", vol.SevWarning, "free cluster count is wrong", "The count is a hint, but systems report it as free space and some stop allocating when it reaches zero.", fsi, "write the right count"),
		{Code: "FAT-0135", Slug: "fsinfo-free-unknown", Severity: vol.SevInfo, Title: "free cluster count is marked as unknown", Explain: "The next mount counts.", Source: fsi, Repairs: []vol.Repair{repair(fixSet, "write the count", vol.LossNone)}},
		set("FAT-0136", "fsinfo-next", vol.SevWarning, "next free cluster hint is out of range", "The hint must name a cluster of the volume or be FFFFFFFF.", fsi, "write a valid hint"),
		set("FAT-0137", "fsinfo-backup", vol.SevWarning, "backup FSInfo sector lacks its signatures", "The sector behind the backup boot sector is the FSInfo of that backup.", fsi, "copy the FSInfo sector there"),
		set("FAT-0138", "dirty-boot", vol.SevWarning, "volume is marked dirty in the boot sector", "The volume was not unmounted, or a system met an error on it and asks for a check.", "[Linux] FAT_STATE_DIRTY", "clear the mark"),
		set("FAT-0139", "surface-test", vol.SevWarning, "a surface test is asked for in the boot sector", "A system met an I/O error and set this mark.", "[Linux] fat_fs.h", "clear the mark"),
		set("FAT-0140", "label-mismatch", vol.SevWarning, "label in the boot sector differs from that of the root directory", "Windows and Linux show the root directory's; firmware and mtools may show the other.", bpb+", BS_VolLab", "copy the root directory's label to the boot sector"),
		{Code: "FAT-0142", Slug: "fat-count-wrong", Severity: vol.SevError, Title: "number of FATs does not fit what is there",
			Explain: "The number of FATs decides where the root directory and the data lie. With this number there is no FAT or no directory in their places.",
			Source:  bpb + ", BPB_NumFATs", Repairs: []vol.Repair{repair(fixSet, "set the number with which FATs and root are in place", vol.LossNone)}},
		set("FAT-0145", "root-count-wrong", vol.SevError, "number of root entries does not fit what is there",
			"On FAT12 and FAT16 the data lies behind the root directory, so its size decides where. With this number no directory is in its place; with another all are.", bpb+", BPB_RootEntCnt", "set the number with which all directories are in place"),
		fatal("FAT-0144", "layout-doubtful", "nothing is where the boot sector says"),
		{Code: "FAT-0141", Slug: "label-boot-only", Severity: vol.SevInfo, Title: "label stands in the boot sector only", Explain: "Some makers of images write no label entry, or it was lost. Windows shows none then. The label is still there, so there is nothing to mend; other tools take it out of the boot sector, too.", Source: bpb + ", BS_VolLab"},
		set("FAT-0146", "ext-signature", vol.SevWarning, "boot sector does not say that it has a serial number and a label",
			"Byte 29 (hexadecimal) in front of the serial number, the label and the type string says that they are there. The type string is, so the byte was hit: Linux and others that go by it see a volume without the serial number that /etc/fstab may name.", bpb+", BS_BootSig", "write 29"),
	}
}

// The FAT: FAT-0200 …
func tableProblems() []vol.Problem {
	const src = "[FAT] FAT Data Structure"
	return []vol.Problem{
		{Code: "FAT-0200", Slug: "media-mismatch", Severity: vol.SevError, Title: "FAT entry 0 does not match the media byte",
			Explain: "The low byte of the first entry repeats the media byte, the rest is ones. GRUB and UEFI firmware refuse the volume otherwise.",
			Source:  src, Repairs: []vol.Repair{repair(fixSet, "write the entry", vol.LossNone)}},
		{Code: "FAT-0201", Slug: "entry1-garbage", Severity: vol.SevError, Title: "FAT entry 1 is not an end mark", Explain: "The second entry is an end-of-chain mark whose two top bits are the dirty and error flags.",
			Source: src, Repairs: []vol.Repair{repair(fixSet, "write the end mark", vol.LossNone)}},
		{Code: "FAT-0202", Slug: "dirty-fat", Severity: vol.SevWarning, Title: "volume is marked dirty in the FAT", Explain: "The volume was not unmounted cleanly; Windows asks for a check.",
			Source: src, Repairs: []vol.Repair{repair(fixSet, "clear the mark", vol.LossNone)}},
		{Code: "FAT-0203", Slug: "hard-error", Severity: vol.SevWarning, Title: "an I/O error is noted in the FAT", Explain: "A system met a disk error on this volume when it was last mounted. The medium may be failing.",
			Source: src, Repairs: []vol.Repair{repair(fixSet, "clear the mark", vol.LossNone)}},
		{Code: "FAT-0204", Slug: "fats-differ", Severity: vol.SevError, Title: "the copies of the FAT differ",
			Explain: "All copies must be equal. Each was held against the directories: broken chains, sizes that do not fit, clusters that belong to nobody. The one that fits best is taken, with entries of another where those are the better ones and only few differ.",
			Source:  src + "; BPB_NumFATs", Repairs: []vol.Repair{repair(fixMirror, "copy the FAT that fits the directories over the others", vol.LossNone),
				repair(fixChoose, "copy the FAT that fits best over the others; neither fits wholly", vol.LossData)}},
		{Code: "FAT-0205", Slug: "tail-nonzero", Severity: vol.SevInfo, Title: "FAT entries behind the last cluster are not zero", Explain: "They belong to no cluster and are not read.", Source: src},
		{Code: "FAT-0206", Slug: "bad-clusters", Severity: vol.SevInfo, Title: "clusters are marked as bad", Explain: "They are left out of use. On flash cards and in images the marks are often left over from a medium that is long gone.", Source: src},
		{Code: "FAT-0207", Slug: "fat-garbage", Severity: vol.SevError, Title: "the FAT does not fit the directories at all",
			Explain: "As good as no chain of a file or directory comes to an end: the FAT was overwritten, in all copies, or does not belong to these directories. Every repair would cut all files to nothing; so there is none. Contents of files that lie in one piece can still be found by their first clusters.",
			Source:  src},
	}
}

// Chains and space: FAT-0001 … FAT-0099.
func chainProblems() []vol.Problem {
	const src = "[FAT] FAT Data Structure"
	cut := repair(fixTruncate, "end the chain before the fault and lower the size", vol.LossData)
	end := repair(fixSet, "write the end mark; all of the file is there", vol.LossNone)
	rejoin := repair(fixRejoin, "link the chain to the lost clusters that continue it", vol.LossMetadata)
	return []vol.Problem{
		{Code: "FAT-0001", Slug: "chain-out-of-range", Severity: vol.SevError, Title: "chain leads to a cluster that does not exist", Explain: "A FAT entry of the file or directory holds a number that no cluster has, or a reserved value.", Source: src, Repairs: []vol.Repair{end, rejoin, cut}},
		{Code: "FAT-0002", Slug: "chain-free", Severity: vol.SevError, Title: "chain leads to a free cluster", Explain: "A cluster of the chain is marked as free: the system may give it to another file.", Source: src, Repairs: []vol.Repair{end, rejoin, cut}},
		{Code: "FAT-0003", Slug: "chain-bad", Severity: vol.SevError, Title: "chain leads to a cluster marked as bad", Explain: "A cluster of the chain is marked as unusable.", Source: src, Repairs: []vol.Repair{end, rejoin, cut}},
		{Code: "FAT-0004", Slug: "chain-loop", Severity: vol.SevError, Title: "chain comes back to itself", Explain: "Following the chain never ends.", Source: src, Repairs: []vol.Repair{end, rejoin, cut}},
		{Code: "FAT-0005", Slug: "start-invalid", Severity: vol.SevError, Title: "first cluster is not valid", Explain: "The entry's first cluster does not exist, is free or is marked as bad: it has no contents that could be found.", Source: "[FAT] DIR_FstClusLO", Repairs: []vol.Repair{
			repair(fixClear, "set it to 0: the file is empty", vol.LossNone),
			repair(fixRejoin, "point the entry to the lost chain that fits it", vol.LossMetadata),
			repair(fixTruncate, "make the file empty", vol.LossData), repair(fixRemove, "remove the directory's entry", vol.LossData)}},
		{Code: "FAT-0006", Slug: "size-exceeds-clusters", Severity: vol.SevError, Title: "file is longer than its clusters", Explain: "The size in the entry is more than the chain can hold. What lies behind the chain's end is not there.", Source: "[FAT] DIR_FileSize", Repairs: []vol.Repair{rejoin,
			repair(fixTruncate, "lower the size to what the chain holds", vol.LossData)}},
		{Code: "FAT-0007", Slug: "clusters-beyond-size", Severity: vol.SevError, Title: "file has clusters beyond its size", Explain: "The chain is longer than the size needs. A system that was cut off while writing leaves this, and so does preallocation beyond the end; Linux turns the volume read-only when it appends to such a file.", Source: "[FAT] DIR_FileSize", Repairs: []vol.Repair{
			repair(fixTruncate, "give the clusters beyond the size back", vol.LossData),
			repair(fixDetach, "end the file at its size; the clusters beyond it are rescued as lost ones", vol.LossNone),
			repair(fixKeep, "raise the size to the end of the chain; the file gets longer", vol.LossMetadata)}},
		{Code: "FAT-0008", Slug: "empty-with-clusters", Severity: vol.SevError, Title: "empty file has clusters", Explain: "A file of size 0 must have first cluster 0. Preallocated space, or a file whose size was never written back.", Source: "[FAT] DIR_FstClusLO", Repairs: []vol.Repair{
			repair(fixTruncate, "give the clusters back", vol.LossData),
			repair(fixDetach, "take them from the file; they are rescued as lost ones", vol.LossNone),
			repair(fixKeep, "raise the size to the end of the chain; the file gets longer", vol.LossMetadata)}},
		{Code: "FAT-0009", Slug: "size-without-clusters", Severity: vol.SevError, Title: "file has a size but no clusters", Explain: "The entry's first cluster is 0, so there are no contents.", Source: "[FAT] DIR_FstClusLO", Repairs: []vol.Repair{
			repair(fixRejoin, "point the entry to the lost chain that fits it", vol.LossMetadata), repair(fixTruncate, "set the size to 0", vol.LossData)}},
		{Code: "FAT-0010", Slug: "directory-without-clusters", Severity: vol.SevError, Title: "directory has no clusters", Explain: "A directory has at least one cluster, which holds its dot entries. Linux turns the volume read-only when it meets one without.", Source: "[FAT] FAT Directory Structure", Repairs: []vol.Repair{
			repair(fixRejoin, "point the entry to the lost directory that names it as its parent", vol.LossMetadata), repair(fixRemove, "remove the entry", vol.LossMetadata)}},
		{Code: "FAT-0011", Slug: "lost-chains", Severity: vol.SevError, Title: "clusters belong to no file", Explain: "They are marked as used, but no directory entry leads to them. Files that were being written or deleted when power failed leave them.", Source: src, Repairs: []vol.Repair{
			repair(fixFree, "give the clusters back", vol.LossData), repair(fixRescue, "make a file of each chain in FOUND.000", vol.LossNone)}},
		{Code: "FAT-0012", Slug: "cross-linked", Severity: vol.SevError, Title: "cluster belongs to two chains", Explain: "Two files lead to the same cluster. At most one of them has its own contents there. The evidence (dot entries, sizes, the clusters before it) says which; the other gets its own chain again where that is among the lost ones, or a copy where there is room.", Source: src, Repairs: []vol.Repair{
			repair(fixRejoin, "lead the other owner to the lost chain that fits it", vol.LossMetadata),
			repair(fixCopy, "give the other owner a copy of the shared clusters", vol.LossMetadata), repair(fixTruncate, "end the other owner's chain before the shared cluster", vol.LossData)}},
		{Code: "FAT-0013", Slug: "directory-twice", Severity: vol.SevError, Title: "directory is reached by two entries", Explain: "Two entries lead to the same directory, or one to its own ancestor. Its dot entries say where it belongs; the other entry is wrong.", Source: "[FAT] FAT Directory Structure", Repairs: []vol.Repair{
			repair(fixRejoin, "point the other entry to the lost directory that names its parent", vol.LossMetadata),
			repair(fixRemove, "remove the entry that the directory does not name as its parent", vol.LossMetadata)}},
	}
}

// Directories and entries: FAT-0300 …
func dirProblems() []vol.Problem {
	const src = "[FAT] FAT Directory Structure"
	row := func(code, slug string, sev vol.Severity, title, explain string, rs ...vol.Repair) vol.Problem {
		return vol.Problem{Code: code, Slug: slug, Severity: sev, Title: title, Explain: explain, Source: src, Repairs: rs}
	}
	return []vol.Problem{
		row("FAT-0300", "directory-size", vol.SevError, "directory entry has a size", "The size of a directory is always 0.", repair(fixClear, "set the size to 0", vol.LossNone)),
		row("FAT-0301", "dot-start", vol.SevError, "entry . leads elsewhere", "The first entry of a directory leads to the directory itself.", repair(fixSet, "set its first cluster", vol.LossNone)),
		row("FAT-0302", "dotdot-start", vol.SevError, "entry .. leads elsewhere", "The second entry of a directory leads to its parent; 0 stands for the root.", repair(fixSet, "set its first cluster", vol.LossNone)),
		row("FAT-0303", "dots-missing", vol.SevError, "directory lacks its dot entries", "A directory starts with the entries . and .. ; Linux turns the volume read-only when it meets one without.",
			repair(fixRejoin, "point the entry to the lost directory that names its parent; this is none", vol.LossMetadata), repair(fixRecreate, "make them, moving what stands in their place", vol.LossNone)),
		row("FAT-0304", "dot-misplaced", vol.SevError, "dot entry where none can be", "Only the first two slots of a directory other than the root are . and .. .", repair(fixRemove, "remove it", vol.LossNone)),
		row("FAT-0305", "after-end", vol.SevError, "entries behind the end of a directory", "The directory's end mark stands before them. Linux shows them, Windows does not. They may be left over from before the directory was last cleared.",
			repair(fixReveal, "close the gap: they lead to clusters that nothing else owns", vol.LossNone), repair(fixRemove, "zero them", vol.LossMetadata)),
		row("FAT-0306", "directory-too-long", vol.SevError, "directory is longer than 65536 entries", "No system reads more than 2 MiB of a directory.", repair(fixTruncate, "cut it there", vol.LossData)),
		row("FAT-0307", "directory-spare", vol.SevInfo, "directory has clusters that it does not use", "They stand behind its end mark and are used when it grows."),
		row("FAT-0308", "attr-directory-volume", vol.SevError, "entry is marked as directory and as label", "No entry can be both.", repair(fixSet, "keep the one that its contents show", vol.LossNone)),
		row("FAT-0309", "attr-reserved", vol.SevInfo, "reserved attribute bits are set", "Bits 6 and 7 are reserved; some systems use them."),
		row("FAT-0310", "label-twice", vol.SevError, "second volume label", "There is one label, in the root directory.", repair(fixRemove, "remove the second", vol.LossMetadata)),
		row("FAT-0311", "label-misplaced", vol.SevError, "volume label outside the root directory", "There is one label, in the root directory.", repair(fixRemove, "remove it", vol.LossMetadata)),
		row("FAT-0312", "label-clusters", vol.SevError, "volume label has clusters or a size", "A label has neither.", repair(fixClear, "zero both", vol.LossMetadata)),
		row("FAT-0313", "label-invalid", vol.SevWarning, "volume label holds characters that are not allowed", "A label is made of the characters of a short name, and blanks.", repair(fixRename, "replace them", vol.LossMetadata)),
		row("FAT-0315", "directory-garbage", vol.SevError, "directory holds something else", "It does not start with dot entries and most of its slots cannot be entries: its cluster was overwritten, or the entry never was a directory. Where a slot is left that can only be an entry, a part of the directory was.",
			repair(fixRejoin, "point the entry to the lost directory that names its parent", vol.LossMetadata), repair(fixRemove, "remove the slots that cannot be entries, and keep the others", vol.LossMetadata), repair(fixKeep, "make it a file, so that the contents can be looked at", vol.LossMetadata)),
		row("FAT-0316", "attr-wrong", vol.SevError, "entry is marked as something else than it is", "A directory is marked as a file or a label, a file as a label, or either as part of a long name: its attributes are damaged. What the first cluster holds, or a chain of just the right length that nothing else leads to, shows what it is.", repair(fixSet, "give it the attribute that its contents show", vol.LossNone)),
		row("FAT-0317", "entry-beheaded", vol.SevError, "first byte of an entry is zero, which ends the directory", "A zero there is the end mark: this entry, and those behind it, are seen by nobody. What else is in the slot is an entry, and the clusters that it leads to belong to it: a directory that names itself and its parent, or a chain of just the length that the size takes.", repair(fixReveal, "put the first letter of the name back, or _ where no long name tells it", vol.LossNone)),
		row("FAT-0314", "time-invalid", vol.SevInfo, "date or time is not valid", "A month above 12, an hour above 23 and the like. Systems show another time or none."),
	}
}

// Names: FAT-0400 …
func nameProblems() []vol.Problem {
	const long = "[FAT] Long Directory Entries"
	const short = "[FAT] DIR_Name"
	row := func(code, slug string, sev vol.Severity, source, title, explain string, rs ...vol.Repair) vol.Problem {
		return vol.Problem{Code: code, Slug: slug, Severity: sev, Title: title, Explain: explain, Source: source, Repairs: rs}
	}
	drop := repair(fixRemove, "remove the long name; the short one stays", vol.LossMetadata)
	ren := repair(fixRename, "give it another name", vol.LossMetadata)
	return []vol.Problem{
		row("FAT-0400", "lfn-orphan", vol.SevError, long, "long name without an entry", "The slots of a long name stand directly before their entry, and none follows these: a system that knows no long names removed or overwrote it.", repair(fixRemove, "remove the slots", vol.LossNone)),
		row("FAT-0401", "lfn-checksum", vol.SevError, long, "long name belongs to another short name", "Its checksum does not fit the entry that follows. A system that knows no long names has renamed or replaced the entry.", drop),
		row("FAT-0402", "lfn-sequence", vol.SevError, long, "slots of a long name are out of sequence", "They are numbered from the last down to 1, the first in the directory carries a mark.", repair(fixRestore, "number them anew: checksum and contents fit", vol.LossNone), drop),
		row("FAT-0403", "lfn-fields", vol.SevWarning, long, "long name slot has a type or a cluster", "Both fields are 0.", repair(fixClear, "zero them", vol.LossNone)),
		row("FAT-0404", "lfn-illegal", vol.SevError, long, "long name holds a character that is not allowed", "Control characters and \" * / : < > ? \\ | cannot be typed or opened on most systems.", repair(fixRename, "replace it by _", vol.LossMetadata)),
		row("FAT-0405", "lfn-surrogate", vol.SevWarning, long, "long name holds half of a surrogate pair", "The name is not valid UTF-16; Linux cannot show it.", repair(fixRename, "replace it by _", vol.LossMetadata)),
		row("FAT-0406", "lfn-padding", vol.SevWarning, long, "long name is not padded as it should be", "Behind the terminator all units are FFFF.", repair(fixSet, "pad it", vol.LossNone)),
		row("FAT-0407", "lfn-too-long", vol.SevError, long, "long name has more than 255 units, or none", "A long name has 1 to 255 units in at most 20 slots.", drop),
		row("FAT-0408", "lfn-trailing", vol.SevWarning, long, "long name ends in a dot or a blank", "Windows strips both, and then cannot open the file.", repair(fixRename, "replace them by _", vol.LossMetadata)),
		row("FAT-0409", "name-twice", vol.SevError, long, "two entries have the same name", "Names are compared without regard to case, long ones with short ones too. Only one of the files can be opened.", ren),
		row("FAT-0410", "short-twice", vol.SevError, short, "two entries have the same short name", "Only one of the files can be opened.", ren),
		row("FAT-0411", "short-illegal", vol.SevError, short, "short name holds a byte that is not allowed", "Control characters, a leading blank and \" * . / : < > ? \\ | cannot be part of a short name. In a code page with characters of two bytes, which --codepage names, \\ and | may be the second half of one.", repair(fixRename, "replace it by _", vol.LossMetadata)),
		row("FAT-0412", "short-lowercase", vol.SevWarning, short, "short name holds lower-case letters", "Short names are stored in upper case; a system that looks for one does not find it.", repair(fixRename, "make it upper case", vol.LossMetadata)),
		row("FAT-0413", "short-longchars", vol.SevWarning, short, "short name holds a character for long names only", "The characters + , ; = [ ] are allowed in long names only.", repair(fixRename, "replace it by _", vol.LossMetadata)),
		row("FAT-0414", "short-blank", vol.SevInfo, short, "short name holds a blank", "It is allowed, but some programs cannot type it."),
		row("FAT-0415", "short-device", vol.SevInfo, short, "name is that of a DOS device", "Windows cannot open a file called CON, NUL, COM1 and so on."),
		row("FAT-0416", "lfn-attr", vol.SevWarning, long+"; [Linux] ATTR_EXT", "long name slot has reserved attribute bits", "The attributes of a slot are 0F. The two bits above are reserved and not to be looked at, but Linux takes only 0F itself for a long name: it shows the short one instead.", repair(fixSet, "set the attributes to 0F", vol.LossNone)),
	}
}
