#!/usr/bin/env bash
# Times fatkit against dosfstools and dd, on volumes that it makes itself.
#
#   bench/fat.sh [-n RUNS] [-d DIR] [-c] [CASE...]
#
#   -n  runs of each command, 5 unless given; the median counts
#   -d  directory for the images, on a file system with sparse files of 2 TiB;
#       they stay there for the next time
#   -c  empty the page cache before each run (root); the programs are then read
#       back, so that only the images are cold
#
# Cases: tree large narrow onedir orphans format prealloc manifest; all unless
# given. ORPHANS says how many orphan chains fsck.fat gets (500; its time grows
# with the square, and more).
# Prints a Markdown table. Needs Go; dosfstools for the comparison.
set -euo pipefail
cd "$(dirname "$0")/.."
programs="fattree measure" peers="fsck.fat mkfs.fat" cases="tree large narrow onedir orphans format prealloc manifest"
. bench/common.sh

# image NAME ARGS...: a volume of fattree's, made once. Its FATs have no holes, as
# mkfs.fat and a card would leave them.
image() {
	local path=$dir/$1.img
	shift
	if [ ! -e "$path" ]; then
		rm -f "$path.new"
		"$bin/fattree" "$@" "$path.new" >&2
		dd if="$path.new" of="$path.new" bs=1M iflag=count_bytes count="$(tables "$path.new")" conv=notrunc,fsync status=none
		mv "$path.new" "$path"
	fi
}

# tables IMAGE: how many bytes the reserved sectors and the FATs have.
tables() {
	local reserved fats length
	reserved=$(field "$1" BPB_RsvdSecCnt) fats=$(field "$1" BPB_NumFATs) length=$(field "$1" BPB_FATSz32)
	echo $(((reserved + fats * length) * 512))
}

# check TITLE IMAGE: both checkers, and what reading the FATs takes.
check() {
	local path=$dir/$2.img
	local tools=("fatkit check=$bin/fatkit check -q $path")
	! have fsck.fat || tools+=("fsck.fat -n=fsck.fat -n $path")
	tools+=("dd, the FATs=$(reads "$path" "$(tables "$path")")")
	measure "$1" "" "${tools[@]}"
}

table_head
for case in "$@"; do
	case $case in
	tree)
		image tree -size 32G -dirs 2000 -files 100
		check "check, 32 GiB, 4 KiB clusters, 200 000 files" tree
		;;
	large)
		image large -size 256G -dirs 0 -files 1
		check "check, 256 GiB, 4 KiB clusters, one file" large
		;;
	narrow)
		for size in 66 127; do
			image narrow$size -size ${size}G -cluster 512 -dirs 0 -files 1
			check "check, $size GiB, 512-byte clusters" narrow$size
		done
		;;
	onedir)
		image onedir -size 8G -dirs 1 -files 65000 -short
		check "check, one directory of 65 000 files" onedir
		;;
	orphans)
		work=$dir/work.img
		image orphans -size 8G -dirs 10 -files 100 -orphans 10000
		ok=1 measure "check -y, 10 000 orphan chains" "cp --sparse=always $dir/orphans.img $work" \
			"fatkit check -y=$bin/fatkit check -y -q $work"
		few=${ORPHANS:-500}
		image orphans$few -size 8G -dirs 10 -files 100 -orphans "$few"
		tools=("fatkit check -y=$bin/fatkit check -y -q $work")
		! have fsck.fat || tools+=("fsck.fat -y=fsck.fat -y $work")
		ok=1 measure "check -y, $few orphan chains" "cp --sparse=always $dir/orphans$few.img $work" "${tools[@]}"
		rm -f "$work"
		;;
	format)
		for size in 64G 1T 2047G; do
			formats fat32 $size "" mkfs.fat "mkfs.fat -F 32"
		done
		;;
	prealloc)
		new=$dir/new.img
		files=$(printf 'FILE%02d.BIN ' $(seq 16))
		fresh="rm -f $new $new.dd; $bin/fatkit format -q -t fat32 -s 5G -c 512 $new"
		bytes=$((16 * 256 * 1024 * 1024 / 512 * 4 * 2))
		measure "prealloc, 16 files of 256 MiB, 512-byte clusters" "$fresh" \
			"fatkit prealloc --fill none=$bin/fatkit prealloc -q --create --fill none -l 256M $new $files" \
			"fatkit prealloc=$bin/fatkit prealloc -q --create -l 256M $new $files" \
			"dd and fsync, as many FAT bytes=$(syncs "$new.dd" "$bytes")"
		rm -f "$new" "$new.dd"
		;;
	manifest)
		new=$dir/new.img list=$dir/manifest
		for i in $(seq 128); do printf '64K\tLOG/FILE%03d.BIN\n' "$i"; done >"$list"
		measure "prealloc, 128 files of 64 KiB from a manifest" "rm -f $new; $bin/fatkit format -q -t fat32 -s 1G $new" \
			"fatkit prealloc=$bin/fatkit prealloc -q --create --manifest $list $new"
		rm -f "$new" "$list"
		;;
	*) unknown "$case" ;;
	esac
done
