package exfat

import "github.com/fatkit/fatkit/pkg/vol"

// Names of repairs. They are part of the JSON output.
const (
	fixSet      = "set"      // put the right value there
	fixRestore  = "restore"  // take it from the good copy, or rebuild it
	fixClear    = "clear"    // zero the field
	fixRemove   = "remove"   // remove the entry
	fixRename   = "rename"   // give it another name
	fixTruncate = "truncate" // end the chain or the file here
	fixRejoin   = "rejoin"   // link the clusters that are lost again
	fixCopy     = "copy"     // give one owner clusters of its own
	fixKeep     = "keep"     // keep the clusters and adapt the size
	fixFree     = "free"     // give the clusters back
	fixRescue   = "rescue"   // make files of them
	fixReveal   = "reveal"   // make hidden entries visible
)

func repair(name, title string, loss vol.Loss) vol.Repair {
	return vol.Repair{Name: name, Title: title, Loss: loss}
}

// Problems is the catalogue of the exFAT driver. Codes are permanent.
func Problems() []vol.Problem {
	var ps []vol.Problem
	ps = append(ps, chainProblems()...)
	ps = append(ps, bootProblems()...)
	ps = append(ps, specialProblems()...)
	ps = append(ps, setProblems()...)
	ps = append(ps, nameProblems()...)
	return vol.Describe(ps, causes(), elsewhere())
}

// row of the catalogue.
func row(code, slug string, sev vol.Severity, section, title, explain string, rs ...vol.Repair) vol.Problem {
	return vol.Problem{Code: code, Slug: slug, Severity: sev, Title: title, Explain: explain, Source: "[exFAT] " + section, Repairs: rs}
}

// Chains and space: EXFAT-0001 …
func chainProblems() []vol.Problem {
	rejoin := repair(fixRejoin, "link the lost clusters that continue it", vol.LossMetadata)
	cut := repair(fixTruncate, "end it there and lower the length", vol.LossData)
	end := repair(fixSet, "write the end mark; all of the file is there", vol.LossNone)
	return []vol.Problem{
		row("EXFAT-0001", "chain-broken", vol.SevError, "§4.1", "chain leads to a cluster that does not exist", "A FAT entry of the chain holds 0, a bad mark or a number that no cluster has.", end, rejoin, cut),
		row("EXFAT-0002", "chain-loop", vol.SevError, "§4.1", "chain comes back to itself", "Following the chain never ends.", end, rejoin, cut),
		row("EXFAT-0003", "start-invalid", vol.SevError, "§6.4.3", "first cluster is not valid", "The entry has a length, but its first cluster does not exist, is free or belongs to another.", repair(fixSet, "set the one with which the checksum and the clusters fit", vol.LossNone), rejoin, repair(fixTruncate, "make it empty", vol.LossData)),
		row("EXFAT-0004", "length-exceeds-clusters", vol.SevError, "§6.4.4", "length is more than the clusters hold", "What lies behind the end of the chain, or of the heap, is not there.", repair(fixSet, "set it to what was written; all of that is there", vol.LossNone), rejoin, cut),
		row("EXFAT-0005", "clusters-beyond-length", vol.SevError, "§6.4.4", "chain goes on beyond the length", "The clusters behind the end hold nothing that the file has, unless the length is what is wrong.", repair(fixKeep, "make the file as long as its clusters: its entry was hit", vol.LossNone), repair(fixTruncate, "end the chain where the length ends and give the rest back", vol.LossNone)),
		row("EXFAT-0006", "empty-with-clusters", vol.SevError, "§6.4.3", "empty file has a first cluster", "A card that was pulled out during a write leaves this; some devices reject the card for it.", repair(fixClear, "clear the first cluster", vol.LossNone)),
		row("EXFAT-0007", "cross-linked", vol.SevError, "§5", "cluster belongs to two", "At most one of the two has its own contents there. The evidence (bitmap, lengths, what the clusters hold) says which; the other gets a copy where there is room. Of clusters that hold nothing of a directory it gets none: what another directory holds stays there.",
			repair(fixRejoin, "link the lost clusters that fit the length instead", vol.LossMetadata), repair(fixCopy, "give the other owner a copy of the shared clusters, a directory of those with its entries", vol.LossMetadata), cut),
		row("EXFAT-0008", "directory-twice", vol.SevError, "§7.4", "directory is reached by two entries", "Two entries lead to the same directory, or one to its own ancestor.",
			repair(fixRejoin, "point the second entry to the lost clusters that fit it", vol.LossMetadata), repair(fixRemove, "remove the second entry", vol.LossMetadata)),
		row("EXFAT-0009", "lost-clusters", vol.SevError, "§7.1.5", "clusters belong to no file", "They are marked as used, but no entry leads to them. Where a directory is among them its entry was lost, and all files in it: then a rescue is the better repair.", repair(fixFree, "give the clusters back", vol.LossData), repair(fixRescue, "put lost directories, with all that is in them, and a file for each other chain or run into FOUND.000", vol.LossNone)),
		row("EXFAT-0010", "bitmap-free", vol.SevError, "§7.1.5", "clusters of files are marked as free", "The next file that is written would overwrite them.", repair(fixSet, "mark them as used", vol.LossNone)),
		row("EXFAT-0011", "bad-free", vol.SevWarning, "§4.1", "bad clusters are marked as free", "A cluster with the bad mark in the FAT must be marked as used in the bitmap.", repair(fixSet, "mark them as used", vol.LossNone)),
		row("EXFAT-0012", "bad-clusters", vol.SevInfo, "§4.1", "clusters are marked as bad", "They are left out of use."),
	}
}

// Boot regions and the FAT's head: EXFAT-0100 …
func bootProblems() []vol.Problem {
	const cannot = "The boot sector says where everything lies. With this field wrong in both boot regions nothing is repaired by guessing."
	fatal := func(code, slug, section, title string) vol.Problem {
		return row(code, slug, vol.SevError, section, title, cannot)
	}
	set := func(code, slug string, sev vol.Severity, section, title, explain, fix string) vol.Problem {
		return row(code, slug, sev, section, title, explain, repair(fixSet, fix, vol.LossNone))
	}
	return []vol.Problem{
		fatal("EXFAT-0100", "boot-name", "§3.1.2", "file system name is wrong"),
		fatal("EXFAT-0101", "sector-size", "§3.1.14", "bytes per sector is not valid"),
		fatal("EXFAT-0102", "cluster-size", "§3.1.15", "sectors per cluster is not valid"),
		fatal("EXFAT-0103", "volume-length", "§3.1.4", "volume length is not valid"),
		fatal("EXFAT-0104", "revision", "§3.1.12", "revision is not one that is known"),
		fatal("EXFAT-0105", "fat-count", "§3.1.16", "number of FATs is not valid"),
		fatal("EXFAT-0106", "fat-offset", "§3.1.5", "FAT lies inside the boot regions"),
		fatal("EXFAT-0107", "fat-length", "§3.1.6", "FAT is too short"),
		fatal("EXFAT-0108", "heap-offset", "§3.1.7", "cluster heap is misplaced"),
		fatal("EXFAT-0109", "cluster-count", "§3.1.9", "number of clusters is not valid"),
		fatal("EXFAT-0110", "root-cluster", "§3.1.10", "root directory's first cluster is not valid"),
		fatal("EXFAT-0111", "volume-beyond-device", "§3.1.4", "volume is larger than the image or device"),
		row("EXFAT-0112", "boot-region-lost", vol.SevError, "§3", "main boot region is damaged, the backup is good", "The main region has a field that cannot be, or its checksum is wrong; the backup region passes all tests.", repair(fixRestore, "copy the backup region to the main one", vol.LossNone)),
		row("EXFAT-0113", "boot-backup-bad", vol.SevWarning, "§3", "backup boot region is damaged or differs", "It must be equal to the main one, for the day that is lost.", repair(fixRestore, "copy the main region to the backup", vol.LossNone)),
		set("EXFAT-0114", "boot-checksum", vol.SevError, "§3.4", "boot checksum is wrong in both regions", "No system mounts a volume whose boot checksum is wrong. The fields of both regions pass all tests.", "write the checksum of both regions"),
		set("EXFAT-0115", "boot-signature", vol.SevWarning, "§3.1.20", "boot signature is wrong", "Bytes 510 and 511 must be 55 AA, the last four of the extended boot sectors 00 00 55 AA.", "write it"),
		set("EXFAT-0116", "boot-jump", vol.SevWarning, "§3.1.1", "boot sector does not start with EB 76 90", "Windows refuses a volume without it.", "write it"),
		set("EXFAT-0117", "boot-must-be-zero", vol.SevWarning, "§3.1.3", "bytes that must be zero are not", "They lie where a FAT has its BPB: a system that knows only FAT might mount the volume.", "zero them"),
		row("EXFAT-0118", "revision-minor", vol.SevInfo, "§3.1.12", "revision is newer than 1.00", "It may hold structures that are not known here. It is checked as 1.00, and nothing but the boot regions is repaired."),
		set("EXFAT-0119", "dirty", vol.SevWarning, "§3.1.13.2", "volume is marked dirty", "The volume was not unmounted, or a system met an inconsistency and asks for a check.", "clear the mark"),
		row("EXFAT-0120", "media-failure", vol.SevWarning, "§3.1.13.3", "a media failure is noted", "A system met an I/O error on this volume. The medium may be failing. Only what has scanned all of it for such errors may clear the mark, which this check does not."),
		set("EXFAT-0121", "active-fat", vol.SevWarning, "§3.1.13.1", "the second FAT is marked active, and there is one", "ActiveFat must be 0 on a volume with one FAT.", "clear the bit"),
		set("EXFAT-0122", "percent-in-use", vol.SevWarning, "§3.1.18", "percentage in use is wrong", "It is rounded down from the allocation bitmap, or FF where it is not known.", "write the right percentage"),
		set("EXFAT-0123", "fat-head", vol.SevWarning, "§4.1.1", "first two FAT entries are wrong", "They hold FFFFFFF8 and FFFFFFFF.", "write them"),
	}
}

// Root directory, bitmap, up-case table, label, GUID: EXFAT-0200 …
func specialProblems() []vol.Problem {
	return []vol.Problem{
		row("EXFAT-0200", "root-unreadable", vol.SevError, "§5", "root directory holds something else", "Without a root directory there is nothing to check against."),
		row("EXFAT-0201", "bitmap-none", vol.SevError, "§7.1", "no allocation bitmap", "The root directory has no usable bitmap entry. Nothing is repaired without one, unless what lies where formatters put the bitmap is one: it has all as used that must be.", repair(fixSet, "make an entry for it", vol.LossNone)),
		row("EXFAT-0202", "bitmap-twice", vol.SevError, "§7.1", "second bitmap entry", "There is one for each FAT.", repair(fixRemove, "remove the second", vol.LossNone)),
		row("EXFAT-0203", "bitmap-flags", vol.SevWarning, "§7.1.2", "bitmap is marked as that of the second FAT", "There is one FAT.", repair(fixClear, "clear the flag", vol.LossNone)),
		row("EXFAT-0204", "bitmap-length", vol.SevError, "§7.1.4", "length of the bitmap is not valid", "It must have a bit for each cluster.", repair(fixSet, "set its length", vol.LossNone)),
		row("EXFAT-0205", "bitmap-chain", vol.SevError, "§7.1.3", "bitmap's FAT chain is broken", "The bitmap is a FAT chain like that of a file.", repair(fixRestore, "link the clusters that follow the first one", vol.LossNone)),
		row("EXFAT-0206", "upcase-none", vol.SevError, "§7.2", "no up-case table", "Without it names cannot be compared.", repair(fixRestore, "write the standard table", vol.LossNone)),
		row("EXFAT-0207", "upcase-twice", vol.SevWarning, "§7.2", "second up-case table entry", "There is one.", repair(fixRemove, "remove the second", vol.LossNone)),
		row("EXFAT-0208", "upcase-chain", vol.SevError, "§7.2.3", "up-case table's FAT chain is broken", "The table is a FAT chain like that of a file.", repair(fixRestore, "link the clusters that follow the first one", vol.LossNone)),
		row("EXFAT-0209", "upcase-table", vol.SevError, "§7.2.5", "up-case table is damaged", "Its checksum is wrong, its length cannot be, or its first 128 entries are not what they must be. The hashes of the names say which table they were made with.",
			repair(fixSet, "correct length and checksum; the table is the standard one", vol.LossNone), repair(fixRestore, "write the standard table", vol.LossMetadata)),
		row("EXFAT-0218", "upcase-short", vol.SevWarning, "§7.2.5.1", "up-case table is not for all characters", "It must cover all of them. Linux uses its own table instead, others take the rest to have no upper case: they do not agree which names are the same. The hashes of the names say which table they were made with.",
			repair(fixSet, "complete the table: the others are their own upper case", vol.LossNone), repair(fixRestore, "write the standard table", vol.LossMetadata)),
		row("EXFAT-0210", "label-length", vol.SevWarning, "§7.3.2", "volume label is longer than 11", "CharacterCount is at most 11.", repair(fixSet, "set the length to what is there", vol.LossNone)),
		row("EXFAT-0211", "label-twice", vol.SevWarning, "§7.3", "second volume label", "There is one.", repair(fixRemove, "remove the second", vol.LossMetadata)),
		row("EXFAT-0212", "label-invalid", vol.SevWarning, "§7.3.3", "volume label holds characters that are not allowed", "A label is made of the characters of names.", repair(fixRename, "replace them", vol.LossMetadata)),
		row("EXFAT-0213", "guid-checksum", vol.SevWarning, "§7.5.2", "volume GUID entry has a wrong checksum, count or GUID", "Systems do not believe it.", repair(fixSet, "correct the entry", vol.LossNone), repair(fixRemove, "remove it", vol.LossMetadata)),
		row("EXFAT-0214", "guid-twice", vol.SevWarning, "§7.5", "second volume GUID", "There is one.", repair(fixRemove, "remove the second", vol.LossMetadata)),
		row("EXFAT-0215", "special-misplaced", vol.SevError, "§7", "entry that only the root directory may have", "Bitmap, up-case table, label and GUID stand in the root directory.", repair(fixRemove, "remove it", vol.LossMetadata)),
		row("EXFAT-0216", "texfat-padding", vol.SevInfo, "§7.10", "TexFAT padding entry", "It belongs to TexFAT and is left alone."),
		row("EXFAT-0217", "bitmap-pieces", vol.SevInfo, "§7.1.3", "allocation bitmap lies in several pieces", "It is a FAT chain like that of a file, so that it may. But Linux and exfatprogs take the clusters that follow the first one for it, and write there: use neither on this volume."),
	}
}

// Entry sets: EXFAT-0300 …
func setProblems() []vol.Problem {
	return []vol.Problem{
		row("EXFAT-0300", "set-checksum", vol.SevError, "§6.3.3", "entry set has a wrong checksum", "Stream, name, hash and clusters were looked at: what fits is kept.", repair(fixSet, "write the right checksum", vol.LossNone)),
		row("EXFAT-0301", "set-count", vol.SevError, "§6.3.2", "entry set has a wrong number of entries", "The name and its hash show which entries belong to the set.", repair(fixSet, "set the right number", vol.LossNone)),
		row("EXFAT-0302", "set-broken", vol.SevError, "§7.4", "entry set cannot be made whole", "A file is a File entry, a Stream Extension and its names. Parts of this one are missing; its clusters, if it has any, are then lost and can be rescued.", repair(fixRemove, "remove what is left of it", vol.LossMetadata)),
		row("EXFAT-0303", "entry-type", vol.SevError, "§6.2.1", "entry of a set has another type", "With the types that a set has in these places its checksum is right, or the name fits its hash; or all but the type is as in a volume label, and there is no other.", repair(fixSet, "set the type", vol.LossNone)),
		row("EXFAT-0304", "name-length", vol.SevError, "§7.6.3", "name length is wrong", "The hash of the name tells how long it is.", repair(fixSet, "set the right length", vol.LossNone)),
		row("EXFAT-0305", "name-hash", vol.SevError, "§7.6.4", "name hash is wrong", "Systems find a file by the hash of its name.", repair(fixSet, "write the right hash", vol.LossNone)),
		row("EXFAT-0306", "valid-length", vol.SevError, "§7.6.5", "valid length and length contradict each other", "ValidDataLength says how much was written, and is at most DataLength. If it fits the clusters and DataLength does not, the latter is wrong.", repair(fixSet, "set it to the length", vol.LossNone), repair(fixKeep, "set the length to it", vol.LossNone)),
		row("EXFAT-0307", "directory-valid", vol.SevError, "§7.6.5", "directory's valid length differs from its length", "They are equal for directories.", repair(fixSet, "set it to the length", vol.LossNone)),
		row("EXFAT-0308", "directory-length", vol.SevError, "§7.6.6", "directory's length is not a whole number of clusters", "Systems refuse such a directory; some dashcams write it.", repair(fixSet, "round it up to its clusters", vol.LossNone)),
		row("EXFAT-0309", "directory-too-long", vol.SevError, "§7.4", "directory is longer than 256 MiB", "No directory may be.", repair(fixTruncate, "end it behind its last entry", vol.LossNone)),
		row("EXFAT-0310", "directory-empty", vol.SevInfo, "§7.6.6", "directory has no clusters", "It is legal, and empty."),
		row("EXFAT-0311", "empty-no-fat-chain", vol.SevWarning, "§6.4.2.2", "empty file is marked as contiguous", "NoFatChain is 0 where there are no clusters.", repair(fixClear, "clear the flag", vol.LossNone)),
		row("EXFAT-0312", "alloc-possible", vol.SevWarning, "§6.4.2.1", "stream is marked as one without clusters", "AllocationPossible is 1 in every Stream Extension, also in that of an empty file.", repair(fixSet, "set the flag", vol.LossNone)),
		row("EXFAT-0313", "reserved-bits", vol.SevInfo, "§4", "reserved fields are set", "They are left as they are."),
		row("EXFAT-0314", "time-invalid", vol.SevInfo, "§7.4.8", "date or time is not valid", "A month above 12, an hour above 23 and the like."),
		row("EXFAT-0315", "after-end", vol.SevError, "§7", "entries behind the end of a directory", "The directory's end mark stands before them, so no system shows them.", repair(fixReveal, "close the gap: they are whole and lead to clusters of their own", vol.LossNone), repair(fixRemove, "clear them", vol.LossMetadata)),
		row("EXFAT-0316", "unknown-critical", vol.SevWarning, "§8.2", "critical entry of a type that is not known", "A system that does not know it must not use the directory or the file. There are no primary ones in this revision but those that are known; clusters to which one leads stay marked, as those of nobody. A secondary one that leads to clusters is left: a newer revision may know it.", repair(fixRemove, "remove it", vol.LossMetadata)),
		row("EXFAT-0317", "stray-secondary", vol.SevError, "§6.4", "secondary entry that belongs to no set", "The primary entry before it is missing.", repair(fixRemove, "remove it", vol.LossMetadata)),
		row("EXFAT-0318", "vendor-guid", vol.SevInfo, "§7.8.4", "vendor entry without a GUID", "Nobody can tell whose it is. It is left alone."),
		row("EXFAT-0319", "vendor-clusters", vol.SevError, "§7.9", "vendor allocation leads to clusters that do not exist", "Its clusters do not exist or belong to another.", repair(fixCopy, "give it a copy of the shared clusters", vol.LossMetadata), repair(fixRemove, "remove the vendor entry", vol.LossMetadata)),
		row("EXFAT-0320", "directory-garbage", vol.SevError, "§6", "directory holds something else", "Most of what lies there cannot be entries: its clusters were overwritten or erased.", repair(fixKeep, "make it a file, so that the contents can be looked at", vol.LossMetadata)),
		row("EXFAT-0321", "directory-attribute", vol.SevError, "§7.4.4", "attribute tells wrongly whether it is a directory", "The checksum of the set is wrong, and what the clusters hold shows what it is.", repair(fixSet, "correct the attribute", vol.LossNone)),
		row("EXFAT-0322", "no-fat-chain", vol.SevError, "§6.4.2.2", "flag says the wrong way to find the clusters", "The checksum of the set is wrong. With the flag NoFatChain the other way the length, the FAT and the bitmap fit.", repair(fixSet, "correct the flag", vol.LossNone)),
	}
}

// Names: EXFAT-0400 …
func nameProblems() []vol.Problem {
	ren := repair(fixRename, "replace them by _", vol.LossMetadata)
	return []vol.Problem{
		row("EXFAT-0400", "name-illegal", vol.SevError, "§7.7.3", "name holds characters that are not allowed", "Control characters and \" * / : < > ? \\ | cannot be typed or opened on most systems; . and .. are no names.", ren),
		row("EXFAT-0401", "name-surrogate", vol.SevWarning, "§7.7.3", "name holds half of a surrogate pair", "The name is not valid UTF-16; Android takes the card for corrupt.", ren),
		row("EXFAT-0402", "name-trailing", vol.SevInfo, "§7.7.3", "name ends in a dot or a blank", "Windows cannot open it."),
		row("EXFAT-0403", "name-twice", vol.SevError, "§7.7", "two entries have the same name", "Names are compared after up-casing. Only one of the files can be opened.", repair(fixRename, "give the second another name", vol.LossMetadata)),
		row("EXFAT-0404", "name-tail", vol.SevWarning, "§7.7.3", "units behind the end of a name are not zero", "They are not part of the name, and should be zero. Some systems take the name to be longer, and its length to be wrong.", repair(fixClear, "zero them", vol.LossNone)),
		row("EXFAT-0405", "name-flags", vol.SevInfo, "§7.7.2", "name entry has flags", "They are 0 for names."),
	}
}
