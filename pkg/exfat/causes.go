package exfat

import "github.com/fatkit/fatkit/pkg/vol"

// causes is how the problems come about.
func causes() []vol.Words {
	const (
		overwritten = "Something else was written over the first sectors: another volume's boot sector, a boot loader, a partition table, a disk signature of Windows. Or a program computed the field wrongly when it formatted the volume."
		maker       = "The program that formatted the volume wrote it so."
		cutShort    = "The medium was pulled, or the power went, between the writes of one change: of entry, bitmap and FAT some are from before and some from after."
		medium      = "Bits went over on the medium or on the way there, or a sector of another time or place was written here."
		wrongWriter = "A program other than the system's own wrote the directory: firmware of a camera or a player, or a library for small devices."
		special     = "A program that sets labels or GUIDs, or formats, added the entry without a look at what is there."
	)
	return []vol.Words{
		{"EXFAT-0001 EXFAT-0003", medium},
		{"EXFAT-0002 EXFAT-0007", "Two systems wrote to the volume at once, or one went on with a bitmap that it remembered from before; or the FAT is that of another time than the directories."},
		{"EXFAT-0004 EXFAT-0005 EXFAT-0006 EXFAT-0009 EXFAT-0010", cutShort},
		{"EXFAT-0008", "A directory was moved, and the power went before its old entry was gone."},
		{"EXFAT-0011", "A program rebuilt the bitmap and did not count bad clusters as used."},
		{"EXFAT-0012", "A read test found the clusters unreadable."},
		{"EXFAT-0100 EXFAT-0101 EXFAT-0102 EXFAT-0103 EXFAT-0104 EXFAT-0105 EXFAT-0106 EXFAT-0107 EXFAT-0108 EXFAT-0109 EXFAT-0110 EXFAT-0112 EXFAT-0114 EXFAT-0115 EXFAT-0116 EXFAT-0117", overwritten},
		{"EXFAT-0111", "The image was copied short, or to a medium that is smaller; or the partition was made smaller and the volume was not."},
		{"EXFAT-0113", "A program changed the main boot region and left the backup alone, or the other way round."},
		{"EXFAT-0118", "A newer program formatted the volume, or the field was overwritten."},
		{"EXFAT-0119", "The volume was not unmounted: the medium was pulled, or the power went."},
		{"EXFAT-0120", "A system met an error when it read or wrote the medium, and noted it."},
		{"EXFAT-0121 EXFAT-0123 EXFAT-0203", maker},
		{"EXFAT-0122", "The field is written when a volume is unmounted, and many programs do not write it."},
		{"EXFAT-0200", "The root directory was overwritten, or the boot sector is that of another volume."},
		{"EXFAT-0201 EXFAT-0206", "The first cluster of the root directory was overwritten, as by a program that set a label and took the first entry for it."},
		{"EXFAT-0202 EXFAT-0207 EXFAT-0211 EXFAT-0214", special},
		{"EXFAT-0204 EXFAT-0217 EXFAT-0218", maker},
		{"EXFAT-0205 EXFAT-0208", "The FAT was overwritten, or the program that formatted the volume wrote no chain, as it would for a file without one."},
		{"EXFAT-0209", "The table was overwritten, or made by a program that left out what is mandatory."},
		{"EXFAT-0210 EXFAT-0212 EXFAT-0213", special},
		{"EXFAT-0215", "Entries of the root directory were copied to another, or the directory's first cluster is that of the root."},
		{"EXFAT-0216", "The volume was used by Windows CE."},
		{"EXFAT-0300", "A bit of the set went over, or a program changed it and did not write the checksum."},
		{"EXFAT-0301 EXFAT-0302 EXFAT-0303", "The set lies across two sectors, and one of them was not written when the medium was pulled; or a part was overwritten."},
		{"EXFAT-0304 EXFAT-0305", "A program made the name without the volume's up-case table, or wrote a name of another length over it."},
		{"EXFAT-0306", cutShort},
		{"EXFAT-0307 EXFAT-0308 EXFAT-0309 EXFAT-0310 EXFAT-0311 EXFAT-0312", wrongWriter},
		{"EXFAT-0313 EXFAT-0404 EXFAT-0405", "A program left the field as it found it, or a newer one keeps something there."},
		{"EXFAT-0314", "The clock of the device was never set, or it keeps something of its own in the field."},
		{"EXFAT-0315", "What follows is left from before: an entry in front of it was overwritten with zeros."},
		{"EXFAT-0316", "A newer program made it, or the entry was overwritten."},
		{"EXFAT-0317", "The primary entry was deleted or overwritten, and what belonged to it was not."},
		{"EXFAT-0318 EXFAT-0319", "The device whose maker the entry is of wrote it so, or its set was overwritten."},
		{"EXFAT-0320", "The directory was overwritten, or a cluster of it was never written after the power went; erased flash reads as FFh."},
		{"EXFAT-0321 EXFAT-0322", medium},
		{"EXFAT-0400 EXFAT-0401 EXFAT-0402", "A program wrote the name as another file system has it, without a look at what is allowed here."},
		{"EXFAT-0403", "A program made the file without a look at what is there, or compared names by other rules for upper and lower case."},
	}
}
