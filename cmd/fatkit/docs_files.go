package main

// fileWords are the words on the commands that look at volumes, and read and
// change their files.
func fileWords() map[string]commandWords {
	return map[string]commandWords{
		"mount-scan": {
			description: `The allocation data is read in one pass, one window ahead of the reader. The window is that of the device, as "blockdev --setra" sets it.

Of F2FS the clusters of whole free segments are counted, where new files go, and beside them how many clusters files can take in all: room for cleaning is kept back, and free places in other segments count. A volume with the feature ro mounts cleanly, read-only.`,
			examples: `  fatkit mount-scan card.img
  fatkit mount-scan --json card.img | jq '.volumes[].load'`,
			also: []string{"mount(8)", "blockdev(8)"},
		},
		"info": {
			examples: `  fatkit info card.img`,
		},
		"ls": {
			description: `Names are sorted by their bytes. With --json the entries are printed one after the other, so that a million of them take no memory.`,
			examples: `  fatkit ls -l card.img DCIM
  fatkit ls -R --json card.img | jq -r '.entries[].path'`,
			also: []string{"fatkit-copy(8)", "mdir(1)"},
		},
		"cat": {
			examples: `  fatkit cat boot.img config.txt
  fatkit cat card.img 'LOG/*.TXT' | sort -u`,
			also: []string{"fatkit-copy(8)", "mtype(1)"},
		},
		"copy": {
			description: `Into an image: new clusters are filled first, straight on the device, then the directories change as one transaction, so that an error, a full volume or a power cut leaves the files as they were. A source that changes while it is read is an error. What the file system has no place for, owners and modes on FAT and exFAT for example, is left out and said in one line; symbolic links, special files, and names that it cannot hold are errors unless an option says otherwise.

Out of an image: DEST has to be a directory that is there where several are named, or match a pattern, and where it ends in a slash. Files are written beside their names and renamed, below DEST and nowhere else, whatever names or links the image has. What cannot be read is told, and the rest copied; the exit code is 8 then. With --json a document is printed for errors alone.`,
			examples: `Into and out of a card image, and a whole image as an archive:

  fatkit copy -r overlays config.txt boot.img::/
  fatkit copy -r 'card.img::DCIM/*' photos/
  fatkit copy -r card.img::/ --tar card.tar`,
			also: []string{"fatkit-ls(8)", "mcopy(1)", "cp(1)"},
		},
		"rm": {
			examples: `  fatkit rm -r card.img 'LOG/*' TMP`,
			also:     []string{"mdel(1)", "mdeltree(1)"},
		},
		"mkdir": {
			examples: `  fatkit mkdir -p card.img DCIM/100MEDIA`,
			also:     []string{"mmd(1)"},
		},
		"map": {
			description: `A cell of the map is drawn as what it has most of, but bad clusters, and the file that --show names, are seen however little of a cell they are. In the terminal the shade of used space, from light to full, says how much of the cell it is. Free space that belongs to the largest free run is marked in pictures. With --json and a picture a document is printed for errors alone.`,
			examples: `Is this file in one piece, and where on the disk? And what a volume looks like:

  fatkit map card.img DCIM/CLIP0001.BIN
  fatkit map card.img
  fatkit map --svg card.svg --show DCIM/CLIP0001.BIN card.img`,
			also: []string{"filefrag(8)"},
		},
	}
}
