package disk

import (
	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// slugMismatch is the problem that is about what partitions hold; the others are
// faults of the table itself.
const slugMismatch = "type-mismatch"

// Problems is the catalogue of partition tables. Codes are permanent: rows are
// added at the end of their block's numbers and never change meaning.
func Problems() []vol.Problem {
	return vol.Describe(append(gptProblems(), partitionProblems()...), causes(), elsewhere())
}

// row is a problem that fatkit does not repair, as it does not change tables.
func row(code, slug string, sev vol.Severity, title, explain, source string) vol.Problem {
	return vol.Problem{Code: code, Slug: slug, Severity: sev, Title: title, Explain: explain, Source: source}
}

// The two copies of a GPT: DISK-0001 …
func gptProblems() []vol.Problem {
	return []vol.Problem{
		row("DISK-0001", dev.FaultPrimary, vol.SevError, "the first copy of the GPT is damaged",
			"A GPT stands at the start of the disk and, as a backup, at its end, with checksums of the header and of the entries. "+
				"The first copy does not fit its checksums or its place: a program wrote over the first sectors, or a write was cut short. "+
				"The backup is sound and is used here. Firmware may use it, too; Linux does so only when told to, and shows no partitions otherwise. "+
				"\"sgdisk --rebuild --load-backup\", gdisk, parted or fdisk write the first copy anew from it.",
			"[UEFI] 5.3.2 GPT Header"),
		row("DISK-0002", dev.FaultBackup, vol.SevWarning, "the backup of the GPT is damaged or missing",
			"The copy of the GPT at the end of the disk does not fit its checksums, or is not there: the image was cut short, or something wrote over the end of the disk. "+
				"All works as long as the first copy lives. \"sgdisk --move-second-header\" writes it anew.",
			"[UEFI] 5.3.2 GPT Header"),
		row("DISK-0003", dev.FaultMisplaced, vol.SevWarning, "the backup of the GPT is not at the end of the disk",
			"The disk became larger after its GPT was made, as when an image is written to a larger card. What is behind the backup cannot be used, "+
				"and a program that looks for the backup in the last sector, where it belongs, finds none. \"sgdisk --move-second-header\" moves it.",
			"[UEFI] 5.3.2 GPT Header: AlternateLBA"),
		row("DISK-0004", dev.FaultDiffer, vol.SevWarning, "the two copies of the GPT say different things",
			"Both copies fit their checksums and do not hold the same: a change of the table was cut short, or a program knows of one copy only. The first one counts.",
			"[UEFI] 5.3.2 GPT Header"),
		row("DISK-0005", dev.FaultUnprotected, vol.SevError, "a GPT without the MBR that protects it",
			"The first sector of a disk with a GPT holds an MBR with one partition of type 0xEE from the second sector on. "+
				"Without it Linux and Windows take the disk for an empty one, and other programs for one that may be written over.",
			"[UEFI] 5.2.3 Protective MBR"),
		row("DISK-0006", dev.FaultIgnored, vol.SevWarning, "a sound GPT that the MBR does not announce",
			"The MBR has partitions of its own and none of type 0xEE, so it is the MBR that counts. The GPT behind it is left from an earlier life of the disk. "+
				"Some firmware and some tools look at it first all the same. \"sgdisk --zap\" or wipefs removes it.",
			"[UEFI] 5.2.3 Protective MBR; [GPT-Linux] is_pmbr_valid()"),
		row("DISK-0007", dev.FaultHybrid, vol.SevWarning, "a partition of the hybrid MBR is not in the GPT",
			"Beside the entry that protects the GPT the MBR has another, for firmware that knows no GPT. No partition of the GPT has the same sectors: "+
				"the GPT was changed and the hybrid MBR was not. What uses the one will write over what uses the other.",
			"[UEFI] 5.2.3 Protective MBR"),
		row("DISK-0008", dev.FaultSameGUID, vol.SevWarning, "two partitions have the same GUID",
			"Each partition of a GPT has a GUID of its own. Where two have the same, as after a partition was copied with its entry, "+
				"root=PARTUUID= and /dev/disk/by-partuuid mean one of them by chance.",
			"[UEFI] 5.3.3 GPT Partition Entry Array: UniquePartitionGUID"),
		row("DISK-0009", dev.FaultShort, vol.SevInfo, "the protective MBR ends before the disk does",
			"The one entry of the MBR before a GPT, of type 0xEE, is to go from the second sector to the last one, or as far as 32 bits can say. "+
				"What it leaves out looks free to a program that knows no GPT. Systems that know it do not mind. "+
				"\"sfdisk --relocate gpt-bak-std\" sets the size, and so does fdisk when it writes the table.",
			"[UEFI] 5.2.3 Protective MBR: SizeInLBA"),
	}
}

// Partitions, and the chain of logical ones: DISK-0101 …
func partitionProblems() []vol.Problem {
	const chain = "[MBR] extended partition: tables of logical partitions"
	return []vol.Problem{
		row("DISK-0101", dev.FaultBeyond, vol.SevError, "a partition goes past the end of the disk",
			"The image was cut short, was not copied to its end, or is on a smaller disk than it was made for. What lay behind the end is gone. "+
				"Linux leaves such a partition of a GPT out, and cuts one of an MBR. Get the whole image, or make file system and partition smaller where they still can be.",
			"[UEFI] 5.3.3 GPT Partition Entry Array: EndingLBA; [MBR] partition table"),
		row("DISK-0102", dev.FaultOverlap, vol.SevError, "two partitions share bytes",
			"Whatever is written to one of them changes the other. Find out which is the true one, by what check says of the file systems in them, and remove the other from the table. "+
				"Nothing in either is repaired as long as both claim the same bytes.",
			"[UEFI] 5.3.3 GPT Partition Entry Array; [MBR] partition table"),
		row("DISK-0103", dev.FaultOnTable, vol.SevError, "a partition lies where the partition table is",
			"It begins before the first sector that is meant for partitions, or ends after the last one. What is written there takes the table with it.",
			"[UEFI] 5.3.2 GPT Header: FirstUsableLBA, LastUsableLBA"),
		row("DISK-0104", dev.FaultBackwards, vol.SevError, "a partition ends before it begins",
			"The entry makes no sense and is passed over, by systems as well.",
			"[UEFI] 5.3.3 GPT Partition Entry Array: StartingLBA, EndingLBA"),
		row("DISK-0105", slugMismatch, vol.SevWarning, "the type of a partition does not go with what it holds",
			"Windows, cameras and firmware look at the type before they look into a partition, and pass over one of a type that they do not use: "+
				"a FAT or exFAT file system in a partition for Linux is not shown by Windows. Linux looks at what is inside. "+
				"\"sfdisk --part-type\" sets the type and touches nothing else.",
			"[UEFI] 5.3.3 GPT Partition Entry Array: PartitionTypeGUID; [MBR] partition types"),
		row("DISK-0106", dev.FaultTooMany, vol.SevError, "more partitions than anybody uses",
			"Only the first 4096 partitions are looked at; Linux has names for 256. Nobody makes so many on purpose.",
			"[GPT-Linux] DISK_MAX_PARTS"),
		row("DISK-0107", dev.FaultChainLoop, vol.SevError, "the chain of logical partitions goes in a circle",
			"Each logical partition has a table in front that leads to the next one. Here one leads back. Programs that do not watch for it hang. "+
				"Partitions that came after it, if there were any, are lost from the chain.", chain),
		row("DISK-0108", dev.FaultChain, vol.SevError, "the chain of logical partitions is broken",
			"Each logical partition has a table in front that leads to the next one. Here one leads to a place where there is no table, or that is outside of the extended partition. "+
				"Partitions that came after it are lost from the chain; what they hold may well be whole, and testdisk finds such.", chain),
		row("DISK-0109", dev.FaultOutside, vol.SevError, "a logical partition is not inside of the extended one",
			"Its table claims sectors that the extended partition does not have, so another partition may have them.", chain),
	}
}
