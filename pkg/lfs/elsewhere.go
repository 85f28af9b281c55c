package lfs

import "github.com/fatkit/fatkit/pkg/vol"

// elsewhere is what f2fs-tools 1.16 and Linux make of the problems. It was tried on
// images with that one fault, or is what the source of the tools says.
func elsewhere() []vol.Words {
	const (
		silent  = "fsck.f2fs does not report it."
		other   = "fsck.f2fs goes by the other superblock, and writes it over this one when it repairs; if both are bad it ends with 255. So does Linux, which then refuses the mount."
		atOnce  = "All of f2fs-tools, dump.f2fs too, write over it at once, without a question."
		pack    = "fsck.f2fs and Linux take the other pack; fsck.f2fs -a repairs then. If both are bad fsck.f2fs ends with 255, and Linux refuses the mount."
		stuck   = "fsck.f2fs ends with 255, and has no repair. Linux refuses the mount."
		flagged = "fsck.f2fs --dry-run ends with 0. -a repairs what the kernel marked so."
		walk    = "fsck.f2fs writes what it counted."
		hole    = "fsck.f2fs clears the pointer: what it led to is gone from the file."
		unlinks = "fsck.f2fs removes the entry."
	)
	return []vol.Words{
		{"F2FS-0100", "fsck.f2fs ends with 255. Linux refuses the mount."},
		{"F2FS-0101 F2FS-0102 F2FS-0103 F2FS-0104 F2FS-0105 F2FS-0106 F2FS-0107 F2FS-0108 F2FS-0109 F2FS-0110 F2FS-0111 F2FS-0112 F2FS-0113 F2FS-0114 F2FS-0115", other},
		{"F2FS-0116 F2FS-0117", "fsck.f2fs has at most a message for it, and ends with 0. Linux writes the good one over the other when it mounts the volume for writing."},
		{"F2FS-0118", silent + " Linux mounts it, and has I/O errors where something is missing."},
		{"F2FS-0119 F2FS-0120", flagged + " A run that repairs clears it."},
		{"F2FS-0121", silent},
		{"F2FS-0122 F2FS-0124 F2FS-0125", atOnce},
		{"F2FS-0123", "f2fs-tools and Linux use such volumes where all devices are there; fsck.f2fs stops with an assertion where one has another path than before."},
		{"F2FS-0126", "fsck.f2fs checks it. Linux mounts it on machines with pages of that size only."},
		{"F2FS-0127", "Not tried with others. Linux refuses the mount: \"Encoding requested by superblock is unknown\"."},
		{"F2FS-0128", "Without extra_attr fsck.f2fs takes the extra attributes for pointers and clears what follows from it: contents are lost. Linux refuses the mount: \"extra_attr feature is off\"."},
		{"F2FS-0200", stuck},
		{"F2FS-0201 F2FS-0202 F2FS-0203", pack},
		{"F2FS-0204 F2FS-0219", stuck},
		{"F2FS-0230", "fsck.f2fs ends with 0. Linux mounts the volume, and says \"invalid crc_offset: 0\"."},
		{"F2FS-0205 F2FS-0206 F2FS-0207 F2FS-0208", flagged},
		{"F2FS-0209 F2FS-0210", silent},
		{"F2FS-0211", silent + " Linux looks for a log to replay when it mounts the volume."},
		{"F2FS-0212", "Linux replays the log when it mounts the volume, read-only mounts aside. What fsck.f2fs repairs gives the log up."},
		{"F2FS-0213", "fsck.f2fs cuts a loop, and ends with 255 at a wrong address; its -f --dry-run was seen to hang."},
		{"F2FS-0214", "fsck.f2fs counts what they own. Linux removes them when it mounts the volume for writing."},
		{"F2FS-0215", "fsck.f2fs believes the count, and aborts where it is absurd."},
		{"F2FS-0216", "fsck.f2fs removes the number and keeps the list."},
		{"F2FS-0217", "fsck.f2fs sets the link count of the file to 0, so that Linux deletes it at the next mount; it reports that anew in every run."},
		{"F2FS-0218", "fsck.f2fs takes a number that is too small for right, and has no repair for zero. Linux refuses the mount: \"Wrong valid_user_blocks\"."},
		{"F2FS-0220 F2FS-0221 F2FS-0228", walk},
		{"F2FS-0222", silent + " Linux goes by it when it makes files."},
		{"F2FS-0223", silent + " Linux refuses the mount: \"invalid alloc_type\"."},
		{"F2FS-0224 F2FS-0229", "fsck.f2fs moves the log to another place."},
		{"F2FS-0225", silent},
		{"F2FS-0226 F2FS-0227", "fsck.f2fs drops what does not fit, and repairs from then on, also where it was not told to."},
		{"F2FS-0300", "fsck.f2fs makes the entry anew, and writes it without being asked to."},
		{"F2FS-0301", "fsck.f2fs takes a segment of nodes that is marked as one of data for right; an unknown type it corrects without being asked to. Linux refuses the mount."},
		{"F2FS-0302 F2FS-0303", "fsck.f2fs makes the map anew from what it found."},
		{"F2FS-0304 F2FS-0305", "fsck.f2fs writes it anew for blocks in use; what a free block's summary says it does not look at."},
		{"F2FS-0306 F2FS-0307 F2FS-0308", "fsck.f2fs clears the entry, and drops what refers to it."},
		{"F2FS-0309", "fsck.f2fs links a regular file to lost+found if the volume has that feature; else it clears the entry, and the contents are lost."},
		{"F2FS-0310", silent + " Linux goes by them if their checksum fits."},
		{"F2FS-0400 F2FS-0402", hole},
		{"F2FS-0401", silent + " Linux goes by it when it cleans and when it replays a log."},
		{"F2FS-0403", "fsck.f2fs does not notice it for direct nodes; an inode or a node of attributes that is met twice it clears."},
		{"F2FS-0404", hole},
		{"F2FS-0405", "fsck.f2fs lets the one have it that the summary names, and clears the pointer of the other; some cases it reports anew in every run."},
		{"F2FS-0406", "fsck.f2fs clears the mark."},
		{"F2FS-0407 F2FS-0408", "fsck.f2fs cuts the list there."},
		{"F2FS-0500", unlinks},
		{"F2FS-0501 F2FS-0502 F2FS-0525", walk},
		{"F2FS-0503 F2FS-0504", silent + " Readers see the size: too much, or too little."},
		{"F2FS-0505", silent + " Linux lists only the names that the size covers."},
		{"F2FS-0506", "fsck.f2fs clears it."},
		{"F2FS-0507", "fsck.f2fs clears the flag, or sets the size that is usual."},
		{"F2FS-0508 F2FS-0512", "fsck.f2fs --dry-run crashes; -f corrects it."},
		{"F2FS-0509 F2FS-0510", "fsck.f2fs clears the flags, or sets the size to what they allow."},
		{"F2FS-0511", "fsck.f2fs computes it anew. Linux refuses to read the inode."},
		{"F2FS-0513 F2FS-0514 F2FS-0517 F2FS-0518", silent},
		{"F2FS-0526 F2FS-0527", "fsck.f2fs passes it over, or changes it without a word."},
		{"F2FS-0515", "fsck.f2fs sets the length to 0."},
		{"F2FS-0516", "Not tried with others."},
		{"F2FS-0529", "fsck.f2fs clears it. Linux refuses to open the file: \"Structure needs cleaning\"."},
		{"F2FS-0530", "Not tried with others. Linux lists such a directory and finds few of its names."},
		{"F2FS-0528", "fsck.f2fs counts blocks by a size of clusters that cannot be, and does not look at the algorithm. Linux refuses to open the file."},
		{"F2FS-0519", "fsck.f2fs does not report it. Linux corrects an absurd depth; with one that is too small names are listed and cannot be opened."},
		{"F2FS-0520", "fsck.f2fs links a regular file to lost+found if the volume has that feature; else it is lost."},
		{"F2FS-0521", "fsck.f2fs looks through all nodes for one that can have been the root, and takes the best."},
		{"F2FS-0522", "fsck.f2fs sets its size to one block."},
		{"F2FS-0523 F2FS-0524", "fsck.f2fs makes the quotas anew, which may take several runs."},
		{"F2FS-0600 F2FS-0602 F2FS-0605 F2FS-0607", unlinks},
		{"F2FS-0601 F2FS-0604", "fsck.f2fs corrects it."},
		{"F2FS-0603 F2FS-0606", silent + " One of the names cannot be reached."},
		{"F2FS-0608 F2FS-0609", "fsck.f2fs makes the entry, or corrects it."},
		{"F2FS-0610", "Not tried with others."},
	}
}
