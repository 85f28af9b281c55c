package main

// exitRow is a row of the table of exit codes.
type exitRow struct {
	code int
	text string
}

func exitTable() []exitRow {
	return []exitRow{
		{exitOK, "Done. For check and mount-scan: the volume is clean."},
		{exitCorrected, "check: errors were found, and all are corrected."},
		{exitLeft, "check: errors are left; mount-scan: a check is due, or a mount would be refused. The others: the request cannot be met (no space, not contiguous, there already, the volume needs a check), and nothing was changed."},
		{exitFailed, "It could not be carried out: an I/O error, no such file, no permission, not a known volume; check and mount-scan: whatever kept a volume from being looked at. Nothing was changed."},
		{exitUsage, "The command line makes no sense."},
		{exitCancelled, "Cancelled by the user. Nothing was changed."},
	}
}

// manSection is a section of fatkit(8).
type manSection struct{ title, text string }

func mainText() string {
	return `fatkit works on volumes in image files and on block devices. It mounts nothing and needs neither root nor a loop device; a block device must of course be readable or writable for whoever runs it.

Every command that changes an existing volume stages all changes first, checks the staged result, writes an undo log, syncs it, writes the changes, syncs them, and then removes the log. A run that is cancelled or fails leaves the volume as it was. What a power cut interrupts is restored by the next command that writes, or by "fatkit undo". What free clusters hold is no part of a volume, so what is put into them, zeros or the contents of files that are copied, is written straight to the image, before the change that makes it part of a file.`
}

func mainSections() []manSection {
	return []manSection{
		{"IMAGES", `IMAGE is an image file or a block device, and may name a part of it:

  card.img      the volume that starts at byte 0, or a whole disk with an MBR or GPT
  card.img:2    partition 2: the GPT entry, 1 to 4 of an MBR, 5 and up for logical ones
  card.img@@1M  the volume at that byte; the suffix S counts sectors of 512 bytes

--partition-label, where a command has it, takes a partition of a GPT by its name, which check, mount-scan and info show. Where sectors of a disk have 4096 bytes the table is found all the same. A pattern that no shell expanded, as 'out/*.img' in quotes, stands for what it matches, where a command takes several images.

A file whose name really is card.img:2 wins. Of a whole disk check, mount-scan and info handle every partition; the other commands use the one volume of a known type, and stop if there are several.

A block device that is mounted or held, and an image that backs a loop device, are refused for writing. So is an image that another fatkit is writing.`},
		{"CODE PAGES", `On FAT every file has a short name, in a code page that is written nowhere. --codepage, where a command has it, says which one it is; Windows and DOS take that of their language:

  437 850 858 1252      Western Europe      852 1250       Central Europe
  860 863 865 861       Portuguese, French of Canada, Nordic, Icelandic
  737 869 1253          Greek               857 1254       Turkish
  855 866 1251          Cyrillic            775 1257       Baltic
  862 1255              Hebrew              864 1256       Arabic
  874 1258              Thai, Vietnamese    932            Japanese
  936 950               Chinese             949            Korean

Short names are read in 437 where none is named, and those that are written have ASCII alone; other letters are in long names, which are Unicode and need no code page. With --codepage letters of the page are in short names, too, and a name in capitals has no long one. Labels are in 437 in any case.`},
		{"READING", `ls, cat, map and copy out of an image read a volume that asks for a check as far as it can be read. Of an F2FS volume that was not unmounted, and whose log of synced files waits for the next mount, they show what that mount would show, and say so on standard error: the log is carried out in memory and the image stays as it is. Blocks that this would write anew are shown where fatkit would put them. A log that is damaged cannot be carried out; then files are as the last checkpoint has them, and that is said. info shows what is on the disk, and in replay_nodes how much waits.`},
		{"SIZES", `512, 64K, 1.5G and 2T are powers of two, 10MB is a power of ten.`},
		{"JSON", `With --json, which every command but cat has, one JSON document goes to standard output, for several images one a line; copy out of an image, and map where it draws to a file, print one for errors alone. Its key "schema" is fatkit.COMMAND/1. Errors are documents, too:

  {"schema":"fatkit.error/1","error":{"kind":...,"message":...,"image":...}}

All offsets and lengths are bytes from the start of the image, unless their name says otherwise. Names of F2FS need not be UTF-8, which JSON must be: in a path that is not, U+FFFD stands for what is none, and its bytes stand beside it in base 64, as path_bytes; so do those of target, and of paths, of which that is a list. JSON schemas of all documents are in docs/schema of the source.`},
		{"ENVIRONMENT", `SOURCE_DATE_EPOCH, in seconds since 1970, is the time that is written to volumes, and seeds every id that is not given: the same command then gives the same bytes.

NO_COLOR turns colours off. XDG_STATE_HOME says where the undo logs of block devices go, in its directory fatkit; it is ~/.local/state where it is not set. TMPDIR is where changes of more than 64 MiB are staged until they are written, and where compressed images are unpacked to.`},
		{"FILES", `IMAGE.fatkit-undo is the undo log of a run that is under way, was interrupted, or was told to keep it. One that --undo put elsewhere is found by commands that are given the same --undo, and by no other.`},
		{"EXAMPLES", `Make a card, reserve a contiguous file on it, and check it:

  fatkit format -t fat32 -s 64M -L CARD card.img
  fatkit prealloc --create --contiguous -l 4M card.img DCIM/CLIP0001.BIN
  fatkit check card.img`},
	}
}

func problemsText() string {
	return `Each problem has a code, which is permanent, a name, which "fatkit check --json" calls slug, and a severity. An error is a structure that is wrong, or data at risk; a warning is legal but suspicious; an info is worth knowing.

The first repair that is possible is what "fatkit check -y" does about errors and warnings. "fatkit check -p" does the first one that loses nothing; where in brackets something may be lost, it is left to -y and -r.

"Elsewhere" is what others do: fsck.fat of dosfstools 4.2, fsck.exfat of exfatprogs 1.4.2, fsck.f2fs of f2fs-tools 1.16, Linux 6.1, and others where they are named. Most of it was tried on images with the one fault. "Source" is the rule that is broken; where documents stand in brackets: [FAT] is Microsoft's FAT specification, [exFAT] that of exFAT, [Linux] the kernel's documentation and behaviour.`
}

// commandWords are what a manual page says beyond what --help does.
type commandWords struct {
	description, examples string
	also                  []string
}

// manWords are the words on a command.
func manWords(command string) commandWords {
	if w, ok := fileWords()[command]; ok {
		return w
	}
	return map[string]commandWords{
		"format": formatWords(),
		"check": {
			description: `Findings are printed with their code, path and place; fatkit-problems(7) and "fatkit explain" say what the codes mean. A repair is written only if the repaired volume, checked again in memory, shows no error that was not there before or was not left on purpose.` + "\n\n" + checkWords(),
			examples: `In a script, before mounting:

  fatkit check -p card.img || [ $? -eq 1 ] || exit 1

What would be repaired, and what is wrong, as data:

  fatkit check -y --dry-run card.img
  fatkit check --json card.img | jq -r '.volumes[].findings[].code'

Every image of a build, for code scanning:

  fatkit check --report sarif 'c*.img' disk.img >fatkit.sarif`,
			also: []string{"fatkit-problems(7)", "fatkit-undo(8)", "fsck(8)"},
		},
		"prealloc": {
			description: `Reserves the range from offset to offset plus length in each file, as fallocate(1) does; what is in the file stays. All files are one change: they all get their space, or none does. New clusters are chosen to make the fewest extents, and read as zeros unless --fill none says otherwise. --align counts from the start of the volume: in a partition extents lie on the erase blocks of the card only where the partition begins on one.

FAT and exFAT have no space beyond the end of a file, so it grows to the end of the range, and --keep-size is refused where it would need more clusters. On exFAT the new part reads as zeros because it does not count as valid; nothing is written there unless --valid all says so. F2FS reserves: blocks count and read as zeros, and get their places when they are written; --keep-size reserves beyond the end as well. With --contiguous or --valid all a file gets real blocks in whole sections, in one run or in as few as there are, and is pinned: the kernel leaves it where it is. That takes a file that has no blocks yet or is pinned already. A volume that was not unmounted is refused.`,
			examples: `One contiguous file on an erase block boundary, and many files of a list in which a tab parts length and path:

  fatkit prealloc --create --contiguous --align 4M -l 1G card.img DCIM/CLIP0001.MP4
  printf '64K\tLOG/%03d.BIN\n' $(seq 128) | fatkit prealloc --create --manifest - card.img`,
			also: []string{"fallocate(1)"},
		},
		"zero": {
			description: `The range of a file stays allocated. With --free all free clusters read as zeros afterwards: the image compresses better, and what was deleted is gone. That is refused on a volume that a check finds errors on, and cannot be undone. On F2FS blocks in the range become reservations, and are given back run by run; only what is zeroed in part is written anew. Pinned, compressed and sealed files are refused.`,
			examples: `Before an image is compressed:

  fatkit zero --free --slack card.img`,
			also: []string{"fallocate(1)", "fstrim(8)"},
		},
		"undo": {
			description: `A log that does not belong to the image, that is damaged, or that is older than the last change of the image is refused. So is one of an image that cannot be read where the run had written. With --keep-undo the contents of what a run frees are read once, so that it shows when they were written over since, and the files cannot come back whole; what a repair or a format frees is not looked at. With --force a log that is older is applied, and the old bytes are written over what cannot be read; where they cannot be written either, all else is restored, and the log is kept.`,
			examples: `  fatkit check -y --keep-undo card.img
  fatkit undo card.img`,
		},
		"version": {
			description: `The commit is told where the build noted it, as releases and "go build" in a clone do, without -buildvcs=false; -v prints it, too.`,
			examples: `  fatkit version
  fatkit version --json | jq -r .commit`,
		},
		"explain": {
			examples: `  fatkit explain FAT-0012
  fatkit explain cross-linked`,
			also: []string{"fatkit-problems(7)"},
		},
	}[command]
}

// checkWords are what fatkit-check(8) says of disks, compressed images and reports.
func checkWords() string {
	return `Of a whole disk all partitions are checked, and the partition table: its findings have codes DISK-..., and in JSON stand under "table". fatkit does not change tables. Partitions of other types, and such that are not formatted, are skipped. Nothing is repaired in a partition that shares bytes with another or goes past the end of the disk.

An image that is compressed with gzip, zstd or xz is recognised by its first bytes, and unpacked into a file without a name in TMPDIR, its zeros as holes; it can be checked, and not repaired. What is larger than --max-size, or leaves less than 64 MiB free there, is refused, and so are xz and zstd streams that ask for more than 128 MiB of memory.

--report json prints a document for each image; jsonl a line for each finding, then one for the image, and at last one that sums up; sarif a log of SARIF 2.1.0 with byte regions and fingerprints that do not depend on where the partition lies; junit a suite for each volume, in which a code fails as --fail-on says; github the workflow commands that make annotations. On a terminal the text report is broken to its width; in a pipe it has a line for each finding.

-C writes lines of pass, done, total and device, as e2fsck does, on the scale of e2fsck's five passes.`
}

// formatWords are the words on format.
func formatWords() commandWords {
	return commandWords{
		description: `The type fat takes FAT12, FAT16 or FAT32 and a cluster size by the size of the volume, as Microsoft's tables do. A combination whose number of clusters would make it another type, or one that systems disagree on, is refused with what would work.

Features of F2FS are encrypt, extra_attr, project_quota (or prjquota), inode_checksum, flexible_inline_xattr, quota, inode_crtime, lost_found, verity, sb_checksum, casefold, compression and ro; what one needs beside it is said. One with ro is never written after it was made: --from fills it as it is made, and nothing changes it later. Clusters of F2FS are its blocks, of 4096 bytes, of which 512 are a segment; --cluster-size 8192 and 16384 are for machines with pages of memory of that size, and no others mount it. fatkit checks, repairs and reads such a volume, but changes none.

What is said to be free on F2FS is what files can take: room for cleaning is kept back. So a volume has 46 MiB at least; one with ro, which is never cleaned, takes less.

With --table the image is a disk of one partition, which begins and ends at a multiple of 1 MiB. The table counts in the sectors of the device; an image file has none of its own, so there --sector-size says which disk it is of. Its ids follow SOURCE_DATE_EPOCH as all others do.

Hidden sectors are set from the partition or offset that IMAGE names. In a new file only metadata is written, so that the image stays sparse.

With --from files are laid out in the order of their names, each in one piece, directories first. All times of an entry become that of its last change, to the second, and none is later than SOURCE_DATE_EPOCH, so that a directory and its archive give the same bytes. Archives that are compressed or come from a pipe are unpacked into a temporary file. Where something was before, it is gone when files are copied: an error then leaves the new volume without files.

--file-contexts takes the source of file_contexts(5), not what sefcontext_compile(8) makes of it. As with libselinux paths without special characters go before patterns, of others the last line counts, and files under <<none>>, or that no line matches, keep the label they have. A line that cannot be read is an error; so are references back and assertions in patterns, which Perl has and this program has not.`,
		examples: `A card of 64 GiB in a sparse file, the EFI partition of an existing disk image, and a floppy:

  fatkit format -t fat32 -s 64G -L CARD card.img
  fatkit format -t fat32 -L ESP disk.img:1
  fatkit format -t fat -s 1440K floppy.img

A whole disk with a GPT and one partition:

  fatkit format -t exfat -s 64G --table gpt -L CARD card.img

What it would look like, without writing it:

  fatkit format -t fat32 -s 64G --dry-run card.img

Filled from a directory, as small as that allows, and with the same from an archive that is being made:

  fatkit format -t fat32 -s auto -d rootfs/boot -L BOOT boot.img
  tar -C rootfs/boot -c . | fatkit format -f -t fat32 -s 256M -L BOOT -d - boot.img`,
		also: []string{"mkfs(8)", "mkfs.fat(8)"},
	}
}
