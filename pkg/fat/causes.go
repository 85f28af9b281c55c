package fat

import "github.com/fatkit/fatkit/pkg/vol"

// causes is how the problems come about.
func causes() []vol.Words {
	const (
		overwritten = "Something else was written over the first sectors: another volume's boot sector, a boot loader, a partition table. Or a program computed the field wrongly when it formatted the volume."
		maker       = "The program that formatted the volume wrote it so."
		cutShort    = "The medium was pulled, or the power went, between the writes of one change: the FAT was written and the directory was not, or the other way round."
		medium      = "Bits went over on the medium or on the way there, or a sector of another time or place was written here."
		wrongWriter = "A program other than the system's own wrote the directory: firmware of a camera or a player, a library for small devices, or a tool that makes images."
		dirGarbage  = "The directory was overwritten, or a cluster of it was never written after the power went."
	)
	return []vol.Words{
		{"FAT-0100 FAT-0101 FAT-0102 FAT-0103 FAT-0104 FAT-0105 FAT-0106 FAT-0107 FAT-0108 FAT-0109 FAT-0113 FAT-0114 FAT-0115 FAT-0117 FAT-0118 FAT-0119 FAT-0120 FAT-0142 FAT-0144 FAT-0145", overwritten},
		{"FAT-0116 FAT-0125 FAT-0126 FAT-0127 FAT-0128 FAT-0129 FAT-0131 FAT-0132", maker},
		{"FAT-0110", "The cluster count is at the boundary, and the FAT shows signs of both widths: it was formatted by a program that draws the boundary elsewhere."},
		{"FAT-0111 FAT-0123", "The image was copied short, or to a medium that is smaller; or the partition was made smaller and the volume was not."},
		{"FAT-0112", "The FAT was overwritten, or the field in the boot sector that names the cluster."},
		{"FAT-0143", "The root directory was overwritten, or the boot sector is that of another volume."},
		{"FAT-0121 FAT-0122", "A program turned mirroring off, to switch from one FAT to the other in one write, and was stopped, or works so all the time."},
		{"FAT-0124", "The volume was made larger without its FAT, or the program that formatted it computed the size of the FAT wrongly."},
		{"FAT-0130 FAT-0137", "A program that changed the boot sector, to set a label or to make it bootable, left the copy alone; fsck.fat and Linux do so with the dirty flag."},
		{"FAT-0133", "The sector was overwritten, or never written by the program that formatted the volume."},
		{"FAT-0134", "The volume was not unmounted: the count is written then. Some programs that write to images do not keep it at all."},
		{"FAT-0135 FAT-0136", "The program that formatted or wrote the volume does not keep the field."},
		{"FAT-0138 FAT-0202", "The volume was not unmounted: the medium was pulled, or the power went."},
		{"FAT-0139 FAT-0203", "A system met an error when it read or wrote the medium, and noted it."},
		{"FAT-0140 FAT-0141", "The label was set by a program that writes it to one of the two places only."},
		{"FAT-0200 FAT-0201", "The first entries were overwritten, or another program changed the media byte, or one that wrote the FAT took them for clusters."},
		{"FAT-0204", "The medium was pulled, or the power went, when one FAT was written and the other was not; or a program keeps one only."},
		{"FAT-0205", "The volume was larger once, or the area was never zeroed."},
		{"FAT-0206", "A read test found the clusters unreadable, or a program set them aside on purpose."},
		{"FAT-0207", "The FAT was overwritten, or the boot sector is that of another volume."},
		{"FAT-0001 FAT-0003", medium},
		{"FAT-0002 FAT-0006 FAT-0008 FAT-0009 FAT-0011", cutShort},
		{"FAT-0004 FAT-0012", "Two systems wrote to the volume at once, or one went on with a FAT that it remembered from before; or the FAT is that of another time than the directories."},
		{"FAT-0005 FAT-0146", medium},
		{"FAT-0007", "Space was reserved beyond the end of a file, as cameras do while they record, and the recording was cut short; or a file was made shorter and the power went."},
		{"FAT-0010", "The power went when the directory was made, or a tool that makes images wrote no cluster for an empty one."},
		{"FAT-0013", "A directory was moved, and the power went before its old entry was gone; or entries were copied by a program that does not know what they are."},
		{"FAT-0300 FAT-0301 FAT-0302 FAT-0303 FAT-0304", wrongWriter},
		{"FAT-0305", "What follows is left from before: a program ended the directory early, with a zero byte, or did not clear a cluster that it took."},
		{"FAT-0306 FAT-0307", "Very many files were in the directory at once."},
		{"FAT-0308 FAT-0309 FAT-0310 FAT-0311 FAT-0312 FAT-0313", wrongWriter},
		{"FAT-0315", dirGarbage},
		{"FAT-0316 FAT-0317", medium},
		{"FAT-0314", "The clock of the device was never set, or it keeps something of its own in the field."},
		{"FAT-0400 FAT-0401 FAT-0402 FAT-0416", "A program that knows no long names renamed or deleted the file, and left the slots of its long name."},
		{"FAT-0403 FAT-0406", wrongWriter},
		{"FAT-0404 FAT-0405 FAT-0407 FAT-0408", "A program wrote the name as another file system has it, without a look at what is allowed here."},
		{"FAT-0409 FAT-0410", "A program made the file without a look at what is there, or compared names by other rules for upper and lower case."},
		{"FAT-0411 FAT-0412 FAT-0413 FAT-0414", wrongWriter},
		{"FAT-0415", "A system that has no such devices made the file."},
	}
}
