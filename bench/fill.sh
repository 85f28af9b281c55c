#!/usr/bin/env bash
# Times how fatkit fills volumes and lists them beside mkfs, mtools, f2fs-tools
# and cp.
#
#   bench/fill.sh [-n RUNS] [-d DIR] [-c] [CASE...]
#
#   -n  runs of each command, 5 unless given; the median counts
#   -d  directory for inputs and images; they stay there for the next time, and
#       take some 5 GiB
#   -c  empty the page cache before each run (root)
#
# Cases: small f2fs large list; all unless given. FSCK and MKFS name other builds
# of f2fs-tools. Prints a Markdown table. What writes is not synced, by anybody,
# unless the title says so.
set -euo pipefail
cd "$(dirname "$0")/.."
programs="f2fstree fattree exfattree measure" peers="mkfs.fat mcopy mkfs.f2fs sload.f2fs cp tar" cases="small f2fs large list"
. bench/common.sh

# tree NAME DIRS FILES: a directory of files of one to fifteen blocks.
tree() { [ -d "$dir/$1" ] || "$bin/f2fstree" -dirs "$2" -files "$3" "$dir/$1"; }

# fills TITLE TYPE SIZE INPUT PEER...: fatkit format --from beside others.
fills() {
	local title=$1 type=$2 size=$3 input=$4
	shift 4
	measure "$title" "rm -rf $dir/new.img $dir/copy" \
		"fatkit format -t $type -d=$bin/fatkit format -q -t $type -s $size -d $input $dir/new.img" "$@"
	rm -rf "$dir/new.img" "$dir/copy"
}

# small: 2000 files, 196 MB, as the boot partition of an image has.
small() {
	local in=$dir/small
	if [ ! -d "$in" ]; then
		mkdir "$in"
		head -c 98000 /dev/urandom >"$dir/block"
		for i in $(seq 2000); do
			mkdir -p "$in/d$((i / 50))"
			cp "$dir/block" "$in/d$((i / 50))/file$i.bin"
		done
	fi
	local others=("cp -r=cp -r $in $dir/copy")
	! have mcopy || others+=("mkfs.fat, mcopy -s=sh -c 'truncate -s 300M $dir/new.img && mkfs.fat -F 32 $dir/new.img >/dev/null && mcopy -s -i $dir/new.img $in/* ::'")
	fills "fill FAT32, 2000 files of 98 kB" fat32 300M "$in" "${others[@]}"
	fills "fill exFAT, 2000 files of 98 kB" exfat 300M "$in" "cp -r=cp -r $in $dir/copy"
}

# f2fs: the input that the check is timed on.
f2fs() {
	tree many 500 200
	local others=("cp -r=cp -r $dir/many $dir/copy")
	! have sload.f2fs || others+=("mkfs.f2fs, sload.f2fs=sh -c 'truncate -s 4G $dir/new.img && mkfs.f2fs -q $dir/new.img && sload.f2fs -f $dir/many $dir/new.img >/dev/null || [ \$? = 1 ]'")
	fills "fill F2FS, 100 000 files in 500 directories" f2fs 4G "$dir/many" "${others[@]}"
}

# large: one file of 1 GiB into a volume that is there, and synced.
large() {
	[ -e "$dir/one" ] || head -c 1G /dev/urandom >"$dir/one"
	local others=("dd with fsync=dd if=$dir/one of=$dir/copy bs=1M conv=fsync status=none")
	! have mcopy || others+=("mcopy, sync=sh -c 'mcopy -i $dir/new.img $dir/one ::one && sync $dir/new.img'")
	measure "copy a file of 1 GiB into FAT32 of 64 GiB, synced" \
		"rm -f $dir/new.img $dir/copy; $bin/fatkit format -q -t fat32 -s 64G -c 4K $dir/new.img" \
		"fatkit copy=$bin/fatkit copy -q $dir/one $dir/new.img::one" "${others[@]}"
	rm -f "$dir/new.img" "$dir/copy"
}

# list: volumes that bench/fat.sh and bench/exfat.sh make, if they are there.
list() {
	lists "ls -R, 200 000 files on FAT32" tree.img "bench/fat.sh -d $dir tree"
	lists "ls -R, 198 000 files on exFAT" nofat.img "bench/exfat.sh -d $dir nofat"
}

# lists TITLE IMAGE MAKE: fatkit ls of an image that the command MAKE leaves there.
lists() {
	if [ -e "$dir/$2" ]; then
		measure "$1" "" "fatkit ls -R=$bin/fatkit ls -R $dir/$2 >/dev/null"
	else
		echo "<!-- $1: there is no $2; $3 makes it -->"
	fi
}

table_head
for case in "$@"; do
	case $case in
	small | f2fs | large | list) "$case" ;;
	*) unknown "$case" ;;
	esac
done
