package exfat

import "github.com/fatkit/fatkit/pkg/vol"

// elsewhere is what exfatprogs 1.4.2 and Linux make of the problems. Of fsck.exfat
// it was tried on images with that one fault.
func elsewhere() []vol.Words {
	const (
		silent  = "fsck.exfat does not report it."
		refuses = " Linux refuses the mount."
		backup  = "fsck.exfat copies the backup region over the main one, if that passes its tests; else it stops." + refuses
		cut     = "fsck.exfat cuts the file there, also with -p."
		deletes = "fsck.exfat deletes the file, also with -p; its clusters stay marked as used."
		printed = "fsck.exfat prints it, and ends with 0 where nothing else is wrong; repairs mark it as deleted."
	)
	return []vol.Words{
		{"EXFAT-0001 EXFAT-0002 EXFAT-0004", cut},
		{"EXFAT-0003", "fsck.exfat sets size and first cluster to 0, also with -p: the file is empty."},
		{"EXFAT-0005", "fsck.exfat ends the chain at the length."},
		{"EXFAT-0006", "fsck.exfat clears the first cluster. Android refuses some cards with such files."},
		{"EXFAT-0007 EXFAT-0008", "fsck.exfat lets the one that it meets first have the clusters, and cuts the other, also with -p, whichever is the rightful owner."},
		{"EXFAT-0009", "fsck.exfat reports nothing without -s; with it each run of clusters becomes a file .CHK in LOST+FOUND."},
		{"EXFAT-0010", "fsck.exfat marks them as used."},
		{"EXFAT-0011 EXFAT-0012 EXFAT-0113 EXFAT-0121 EXFAT-0122 EXFAT-0123 EXFAT-0202 EXFAT-0203 EXFAT-0205 EXFAT-0207 EXFAT-0208 EXFAT-0211 EXFAT-0212 EXFAT-0214 EXFAT-0307 EXFAT-0312 EXFAT-0313 EXFAT-0402 EXFAT-0404 EXFAT-0405", silent},
		{"EXFAT-0100", "fsck.exfat ends with 8, unless -b is given." + refuses},
		{"EXFAT-0101 EXFAT-0102 EXFAT-0105 EXFAT-0109", backup},
		{"EXFAT-0103 EXFAT-0111", "fsck.exfat takes the backup region where the volume is larger than the device, and stops if that says the same; a length near 2^63 escapes it."},
		{"EXFAT-0104 EXFAT-0118", "fsck.exfat knows revision 1.0 only, and refuses 1.05, too, which may be mounted."},
		{"EXFAT-0106", "fsck.exfat does not look at it: it reads garbage for a FAT, and -y cuts every file with a chain."},
		{"EXFAT-0107 EXFAT-0108", silent + refuses},
		{"EXFAT-0110", "fsck.exfat prints \"clean\" and ends with 4." + refuses},
		{"EXFAT-0112", "fsck.exfat copies the backup region over the main one, if that passes its tests." + refuses + " It does not look at the backup."},
		{"EXFAT-0114", "fsck.exfat stops here." + refuses},
		{"EXFAT-0115 EXFAT-0117", silent + refuses},
		{"EXFAT-0116", silent + " [exFAT] has implementations check it; Linux does not."},
		{"EXFAT-0119", "fsck.exfat does not report it, and clears the flag, also where errors are left. Linux mounts the volume and says in its log that a check is due."},
		{"EXFAT-0120", silent + " Linux mounts the volume and says so in its log."},
		{"EXFAT-0200 EXFAT-0320", "fsck.exfat takes each slot for itself: it marks those of unknown types as deleted, and deletes sets that do not fit their checksums."},
		{"EXFAT-0201", "fsck.exfat prints \"clean\", ends with 4, and has no repair." + refuses},
		{"EXFAT-0204", "fsck.exfat writes the length that it expects, and takes a longer one, which is legal, for an error."},
		{"EXFAT-0206", "fsck.exfat looks for the standard table, or writes it to free clusters. Linux takes a table of its own."},
		{"EXFAT-0209", "fsck.exfat writes the standard table; where the table fits its checksum and is wrong, it changes the hashes of all names to fit it. Linux takes a table of its own where the checksum is wrong."},
		{"EXFAT-0218", "Linux takes a table of its own. Not tried with others."},
		{"EXFAT-0210", "fsck.exfat prints it, and ends with 0."},
		{"EXFAT-0213", "fsck.exfat before 1.3 takes every such entry for an error; later ones do not look at its checksum."},
		{"EXFAT-0215", printed},
		{"EXFAT-0216", "Not tried with others."},
		{"EXFAT-0217", "fsck.exfat reads it as one run, reports false errors, and -y writes over clusters that are not the bitmap's."},
		{"EXFAT-0300", deletes},
		{"EXFAT-0301 EXFAT-0302", deletes},
		{"EXFAT-0303", "fsck.exfat marks the entry as deleted, and then the set where too few are left."},
		{"EXFAT-0304 EXFAT-0305", "fsck.exfat computes it anew."},
		{"EXFAT-0306", "fsck.exfat lowers the valid length to the length."},
		{"EXFAT-0308", "fsck.exfat ends with 4 and has no repair. Some readers refuse such volumes, which dashcams make."},
		{"EXFAT-0309", "fsck.exfat notices it only where the clusters belong to something else, too."},
		{"EXFAT-0310", "fsck.exfat took it for an error once, and accepts it now."},
		{"EXFAT-0311", "fsck.exfat clears the flag."},
		{"EXFAT-0314", "fsck.exfat does not look at times."},
		{"EXFAT-0315", "fsck.exfat makes deleted entries of the end marks: what was hidden behind comes back."},
		{"EXFAT-0316", "fsck.exfat marks it as deleted, and so entries that [exFAT] 8.2 forbids to change. [exFAT] has readers leave the directory alone."},
		{"EXFAT-0317", printed},
		{"EXFAT-0318", "fsck.exfat reports it and has no repair."},
		{"EXFAT-0319", cut + " Older ones delete the entry, and with it what cameras keep there."},
		{"EXFAT-0321", "fsck.exfat says nothing, and the directory with all that is in it is gone: it looks for no lost clusters."},
		{"EXFAT-0322", "fsck.exfat goes by the flag, and cuts the file where that leads to clusters that are not its."},
		{"EXFAT-0400", "fsck.exfat renames it to FILEnnnnnnn.CHK, also with -p; the name is lost."},
		{"EXFAT-0401", silent + " That of the older exfat-utils aborts."},
		{"EXFAT-0403", "fsck.exfat renames the second to FILEnnnnnnn.CHK where they are equal to the letter; upper and lower case escape it."},
	}
}
