package fat

import "github.com/fatkit/fatkit/pkg/vol"

// elsewhere is what dosfstools 4.2, Linux 6.1, mtools and Windows make of the
// problems. It was tried on images with that one fault; of Windows it is what
// [FAT] and the log of chkdsk say.
func elsewhere() []vol.Words {
	const (
		silent = "fsck.fat does not look at it."
		stops  = "fsck.fat stops here. "
		left   = "fsck.fat reports it, leaves it, and ends with 0 all the same."
	)
	return []vol.Words{
		{"FAT-0100 FAT-0101 FAT-0103 FAT-0104", stops + "Linux refuses the mount."},
		{"FAT-0102", "Linux refuses the mount."},
		{"FAT-0105 FAT-0107", stops + "It finds no data cluster."},
		{"FAT-0106 FAT-0109 FAT-0112", "fsck.fat stops here."},
		{"FAT-0108", stops + "Linux refuses the mount: the count of clusters is too big."},
		{"FAT-0110 FAT-0125", "fsck.fat takes one of the two types without a word; where that is the wrong one it cuts files. Linux goes by the number of clusters and takes FAT16 from 4085 on, Windows FAT12 for a few more."},
		{"FAT-0111", "fsck.fat stops here, as it cannot read the last sector."},
		{"FAT-0146", "Linux mounts it, and shows it without its serial number. Not tried with others."},
		{"FAT-0143", "fsck.fat takes every slot for an entry: it renames to FSCKnnnn, cuts, and gives clusters back."},
		{"FAT-0113", "fsck.fat stops here, and does not look at the backup. Linux refuses the mount."},
		{"FAT-0114 FAT-0119", silent + " Linux mounts it without a complaint."},
		{"FAT-0115", silent + " Linux does not either; Windows refuses the volume."},
		{"FAT-0116", silent + " Linux refuses the mount."},
		{"FAT-0117", "fsck.fat warns, takes the data area to begin elsewhere, and loses the label."},
		{"FAT-0118 FAT-0120 FAT-0127 FAT-0136 FAT-0137 FAT-0139 FAT-0203 FAT-0205 FAT-0206 FAT-0306 FAT-0307 FAT-0308 FAT-0309 FAT-0310 FAT-0311 FAT-0312 FAT-0314 FAT-0404 FAT-0405 FAT-0406 FAT-0407 FAT-0408 FAT-0412 FAT-0413 FAT-0415", silent},
		{"FAT-0121 FAT-0122", "fsck.fat and Linux go by the first FAT, whichever is active; mtools and Windows by the active one."},
		{"FAT-0123", "fsck.fat 4.2 stops where it cannot read the last sector; older ones say nothing, and one sector too many escapes it, too."},
		{"FAT-0124", stops + "Linux mounts it, and leaves the clusters without an entry alone."},
		{"FAT-0126", "fsck.fat warns, and ends with 0. Linux mounts it; UEFI firmware may not start from it."},
		{"FAT-0128", "fsck.fat makes one in sector 6, or in the last reserved sector."},
		{"FAT-0129", left},
		{"FAT-0130", "fsck.fat reports it, asks only with -r, and ends with 0. It clears the dirty flag in one of the copies, so the next run reports a difference again."},
		{"FAT-0131", "fsck.fat reports it, and ends with 0."},
		{"FAT-0132", "fsck.fat believes the field: it writes an FSInfo sector over a file, or over the backup boot sector."},
		{"FAT-0133", "fsck.fat writes the sector anew. Linux complains in its log, and mounts the volume."},
		{"FAT-0134 FAT-0135", "fsck.fat writes the count; with -n it ends with 0 where the count is only unknown. Linux counts for itself, unless mounted with usefree."},
		{"FAT-0138", "fsck.fat clears the flag, but not in the backup boot sector. Linux mounts the volume and says in its log that a check is due."},
		{"FAT-0140", "fsck.fat copies the label of the root directory to the boot sector."},
		{"FAT-0141", "fsck.fat takes the label away: it writes NO NAME to the boot sector."},
		{"FAT-0142", "fsck.fat stops unless there are 1 or 2 FATs by that number; then it believes it, as Linux does."},
		{"FAT-0144 FAT-0145", "fsck.fat and Linux go by the boot sector. With the first entry of both FATs wrong fsck.fat stops; else it cuts and renames what it takes for files."},
		{"FAT-0200", "fsck.fat stops where it is wrong in both FATs, else it says nothing. Linux mounts it; GRUB and some UEFI firmware do not read it."},
		{"FAT-0201", "fsck.fat does not look at it, but for the dirty flag."},
		{"FAT-0202", "fsck.fat clears the flag; on FAT12 there is none. Linux looks at the one in the boot sector only."},
		{"FAT-0204 FAT-0207", "fsck.fat takes the first FAT, unless only the other begins as it must, and cuts files that do not fit that. Linux reads the first."},
		{"FAT-0001 FAT-0002 FAT-0003", "fsck.fat ends the chain there. Linux notes an error when it comes there, and makes the volume read-only."},
		{"FAT-0004", "fsck.fat cuts the chain. Linux notices some loops, and makes the volume read-only then."},
		{"FAT-0005", "fsck.fat sets the first cluster to 0, so the file is empty."},
		{"FAT-0006 FAT-0009", "fsck.fat lowers the size."},
		{"FAT-0007 FAT-0008", "fsck.fat cuts the chain to the size. Linux says \"clusters badly computed\" when something is appended, and makes the volume read-only."},
		{"FAT-0010", "fsck.fat deletes the entry. Linux makes the volume read-only when it comes there."},
		{"FAT-0011", "fsck.fat gives the clusters back, with -a it makes files FSCKnnnn.REC of them. chkdsk makes files in FOUND.nnn."},
		{"FAT-0012", "fsck.fat cuts the file that it meets second, whichever is the rightful owner."},
		{"FAT-0013", "fsck.fat cuts the second to nothing: an empty directory stays, which the next run has to mend, and at which Linux makes the volume read-only."},
		{"FAT-0300", "fsck.fat sets the size to 0."},
		{"FAT-0301 FAT-0302", "fsck.fat corrects it. Linux does not look at it."},
		{"FAT-0303", "fsck.fat makes the entries; on volumes of more than 4 GiB it may write them to a wrong place, over other data. Linux makes the volume read-only when it comes there."},
		{"FAT-0304", "fsck.fat moves what stands where a dot entry belongs, and leaves or renames a dot entry elsewhere."},
		{"FAT-0305 FAT-0317", "fsck.fat reads on, reports nothing, and may make FSCK files of what it finds. Linux shows what follows, Windows does not."},
		{"FAT-0313", "fsck.fat takes the label away."},
		{"FAT-0315", "fsck.fat renames what has bad names to FSCKnnnn; where most of more than 4 entries are bad it reports the directory and keeps it."},
		{"FAT-0316", "fsck.fat and Linux take it for what it is marked as."},
		{"FAT-0400", "fsck.fat deletes it where it ends a directory or follows a deleted entry; else it reports it, and ends with 0."},
		{"FAT-0401", left + " Linux shows the short name; other readers have been seen to show the wrong long one."},
		{"FAT-0402", left},
		{"FAT-0403", "fsck.fat clears the fields."},
		{"FAT-0409", silent + " Linux lists both, and opens one."},
		{"FAT-0410", "fsck.fat renames the second, and may leave its long name as it is."},
		{"FAT-0411", "fsck.fat renames it to FSCKnnnn.nnn."},
		{"FAT-0414", "fsck.fat renames a name that begins with a blank; of others it complains with -S only."},
		{"FAT-0416", "fsck.fat takes the slot for a file of its own."},
	}
}
