package disk

import "github.com/fatkit/fatkit/pkg/vol"

// causes say how each problem comes about.
func causes() []vol.Words {
	return []vol.Words{
		{"DISK-0001", "A program wrote over the first sectors, as a boot loader's installer or a format of the whole disk does, or a write of the table was cut short."},
		{"DISK-0002", "The image was cut short, or something was written to the end of the disk: metadata of a RAID member, or a file system made over the whole disk."},
		{"DISK-0003", "An image was written to a larger card or disk, or a virtual disk was made larger."},
		{"DISK-0004", "A change of the table was cut short between its two copies, or a program writes the first copy only."},
		{"DISK-0005", "The first sector was zeroed, as with dd, or written by a boot loader that knows no partition tables."},
		{"DISK-0006", "The disk had a GPT, and was given an MBR by a program that does not remove the old table."},
		{"DISK-0007", "The GPT was changed after the hybrid MBR was made, by a program that does not know of hybrids."},
		{"DISK-0008", "A partition, or its entry, was copied, or the table was written by a script that has the GUID in it."},
		{"DISK-0009", "The disk was made larger, and the program that moved the backup of the GPT left the MBR as it was, or the image was made by one that does not count the whole disk."},
		{"DISK-0101", "The image was not copied to its end, was cut to size, or is on a smaller disk than the one that it was made for. Some card readers report fewer sectors than others."},
		{"DISK-0102", "The table was edited by hand or by a script that counts in other units, a hybrid MBR was changed, or sectors of 512 and of 4096 bytes were mixed up."},
		{"DISK-0103", "The table was edited by hand, or the partition was made before the table became a GPT, which needs room at both ends."},
		{"DISK-0104", "The entry was edited by hand, or damaged before the checksum was made."},
		{"DISK-0105", "The partition was formatted anew and its type left as it was. Tools that partition give the type for Linux where none is asked for."},
		{"DISK-0106", "Random bytes that happen to look like a table, or a table made to keep programs busy."},
		{"DISK-0107", "A table of a logical partition was copied over another one, or written by a program that counted from the wrong place."},
		{"DISK-0108", "The table of a logical partition was written over, often by the partition before it, or the extended partition was made smaller."},
		{"DISK-0109", "The extended partition was made smaller, or moved, without the logical ones in it."},
	}
}

// elsewhere says what others do with each problem.
func elsewhere() []vol.Words {
	return []vol.Words{
		{"DISK-0001", "Linux shows no partitions unless it is started with the parameter gpt, and uses the backup then. Firmware tries the backup. sgdisk, gdisk and parted offer to write the first copy anew."},
		{"DISK-0002 DISK-0003", "Linux says so in its log and goes on. sfdisk and parted warn, and write the backup anew when they change the table."},
		{"DISK-0004", "All take the first copy. gdisk reports that the copies differ."},
		{"DISK-0005", "Linux and Windows see a disk without partitions. gdisk and parted find the GPT and offer to make the protective MBR."},
		{"DISK-0006", "Linux and Windows use the MBR. wipefs and gdisk report both tables; some firmware prefers the GPT."},
		{"DISK-0007", "Linux and firmware with UEFI use the GPT, other firmware and Windows the MBR. gdisk reports the conflict when it reads the disk."},
		{"DISK-0008", "Linux finds the one that was scanned first or last by that name. sgdisk --verify reports it."},
		{"DISK-0009", "Linux takes the disk as it is. fdisk and sfdisk say that the size does not match, and correct it when they write; sgdisk --verify is silent."},
		{"DISK-0101", "Linux leaves such a partition of a GPT out, and cuts one of an MBR at the end of the disk. sfdisk --verify reports it."},
		{"DISK-0102", "Linux shows both and does not warn. sfdisk --verify and sgdisk --verify report it, and parted refuses to work on the disk."},
		{"DISK-0103 DISK-0104", "Linux passes over what makes no sense, and shows the rest. sgdisk --verify reports it."},
		{"DISK-0105", "Windows and cameras pass over the partition, Linux mounts it. No tool for partitions looks into them."},
		{"DISK-0106", "Linux has names for 256 partitions, and passes over the rest."},
		{"DISK-0107 DISK-0108 DISK-0109", "Linux follows the chain as far as it makes sense, and no further than a bound. sfdisk and parted say that it is broken; testdisk looks for partitions that are lost from it."},
	}
}
