package lfs

import "github.com/fatkit/fatkit/pkg/vol"

// causes is how the problems come about.
func causes() []vol.Words {
	const (
		overwritten = "Something else was written over the first blocks, or a program computed the field wrongly when it formatted or resized the volume."
		medium      = "Bits went over on the medium or on the way there, or a block was lost: a device said that it had written and had not."
		kernelMet   = "The kernel met an error while the volume was mounted, and noted it."
		tools       = "A program that formats, checks or resizes left it so; some versions of f2fs-tools did."
		kernelBug   = "A fault in the kernel or in a tool that changed the volume, or a block that was lost: F2FS writes so that a power cut alone does not do this."
		older       = "It was left by an older kernel or tool that had other rules."
	)
	return []vol.Words{
		{"F2FS-0100 F2FS-0101 F2FS-0102 F2FS-0103 F2FS-0104 F2FS-0105 F2FS-0106 F2FS-0107 F2FS-0108 F2FS-0109 F2FS-0110 F2FS-0111 F2FS-0112 F2FS-0113 F2FS-0114 F2FS-0115 F2FS-0116 F2FS-0127 F2FS-0128", overwritten},
		{"F2FS-0117", "The power went when one superblock was written and the other was not, or a program writes one only."},
		{"F2FS-0118", "The image was copied short, or to a medium that is smaller; or the partition was made smaller and the volume was not."},
		{"F2FS-0119 F2FS-0120 F2FS-0205 F2FS-0206", kernelMet},
		{"F2FS-0121 F2FS-0210", "A newer kernel or tool made the volume, or the field was overwritten."},
		{"F2FS-0122 F2FS-0125", tools},
		{"F2FS-0123", "The volume was formatted so."},
		{"F2FS-0124", "The volume was copied from a device with sectors of another size."},
		{"F2FS-0126", "The volume was formatted on, or for, a machine with larger pages."},
		{"F2FS-0200", "Both packs were overwritten, or the medium lost what was written to one while the other was being written."},
		{"F2FS-0201 F2FS-0202 F2FS-0203", "The power went while the pack was being written: that is what the other is for. Where that is not so, a block of it was lost or overwritten."},
		{"F2FS-0204 F2FS-0218 F2FS-0219", tools},
		{"F2FS-0230", "resize.f2fs leaves the pack that it does not write empty; or a block was lost or erased."},
		{"F2FS-0207", "The power went with quotas on, or a mount without them changed what they count."},
		{"F2FS-0208", "The volume was mounted with checkpoint=disable, as Android does during an update, and not settled afterwards."},
		{"F2FS-0209", "The power went during a resize."},
		{"F2FS-0211 F2FS-0214", "The volume was not unmounted: the medium was pulled, or the power went."},
		{"F2FS-0212", "The power went after files were synced and before the next checkpoint."},
		{"F2FS-0213", "A block of the log was lost or overwritten."},
		{"F2FS-0215 F2FS-0216 F2FS-0217 F2FS-0226 F2FS-0227", medium},
		{"F2FS-0220 F2FS-0221 F2FS-0222 F2FS-0223 F2FS-0224 F2FS-0225 F2FS-0228 F2FS-0229", kernelBug},
		{"F2FS-0300 F2FS-0301 F2FS-0302 F2FS-0303 F2FS-0304 F2FS-0305 F2FS-0306 F2FS-0307 F2FS-0308 F2FS-0309 F2FS-0310", kernelBug},
		{"F2FS-0400 F2FS-0402 F2FS-0404 F2FS-0407 F2FS-0408", medium},
		{"F2FS-0401 F2FS-0403 F2FS-0405 F2FS-0406", kernelBug},
		{"F2FS-0500 F2FS-0503 F2FS-0515 F2FS-0528 F2FS-0529 F2FS-0530", medium},
		{"F2FS-0501 F2FS-0502 F2FS-0505 F2FS-0506 F2FS-0510 F2FS-0519 F2FS-0525", kernelBug},
		{"F2FS-0504", "The file was pinned, space was reserved for it up to the end of a section, and then it was pinned no longer; or its size was damaged."},
		{"F2FS-0507 F2FS-0508 F2FS-0509", older},
		{"F2FS-0511", "A bit of the inode went over, or a program that does not know of the checksum changed it."},
		{"F2FS-0512 F2FS-0513", "The feature was turned off after the file was made, or the flag went over."},
		{"F2FS-0514", "The inode was damaged, or made by a tool that did not write the name of its entry."},
		{"F2FS-0516 F2FS-0517", "The file was renamed, moved or linked, and what the inode remembers for recovery was not written."},
		{"F2FS-0518 F2FS-0526 F2FS-0527", older},
		{"F2FS-0520", "The entry was lost, or the directory that it was in; or a repair cleared it."},
		{"F2FS-0521", medium},
		{"F2FS-0522", "The power went when the link was made."},
		{"F2FS-0523 F2FS-0524", "The power went with quotas on, or a mount or a tool without them changed what they count."},
		{"F2FS-0600 F2FS-0601 F2FS-0602 F2FS-0603 F2FS-0604 F2FS-0605 F2FS-0607 F2FS-0608 F2FS-0609", medium},
		{"F2FS-0606 F2FS-0610", kernelBug},
	}
}
