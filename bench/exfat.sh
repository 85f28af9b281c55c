#!/usr/bin/env bash
# Times fatkit against exfatprogs and dd, on volumes that it makes itself.
#
#   bench/exfat.sh [-n RUNS] [-d DIR] [-c] [CASE...]
#
#   -n  runs of each command, 5 unless given; the median counts
#   -d  directory for the images, on a file system with sparse files of 4 TiB;
#       they stay there for the next time
#   -c  empty the page cache before each run (root); the programs are then read
#       back, so that only the images are cold
#
# Cases: nofat fat frag onedir large format prealloc; all unless given.
# FSCK and MKFS name other builds of exfatprogs than those of the path. ONEDIR
# says how many files the directory has that fsck.exfat gets (5000; its time
# grows with the square).
# Prints a Markdown table. Needs Go; exfatprogs for the comparison.
set -euo pipefail
cd "$(dirname "$0")/.."
fsck=${FSCK:-fsck.exfat} mkfs=${MKFS:-mkfs.exfat}
programs="exfattree measure" peers="$fsck $mkfs" cases="nofat fat frag onedir large format prealloc"
. bench/common.sh

# image NAME ARGS...: a volume of exfattree's, made once.
image() {
	local path=$dir/$1.img
	shift
	if [ ! -e "$path" ]; then
		rm -f "$path.new"
		"$bin/exfattree" "$@" "$path.new" >"$path.ranges"
		mv "$path.new" "$path"
	fi
}

# reading IMAGE NAME...: commands that read these ranges of it.
reading() {
	local path=$dir/$1.img name off len
	shift
	for name in "$@"; do
		read -r off len < <(awk -v n="$name" '$1 == n { print $2, $3 }' "$path.ranges")
		echo -n "$(reads "$path" "$len" "$off"); "
	done
}

# check TITLE IMAGE: both checkers, and what reading the metadata takes.
check() {
	local path=$dir/$2.img
	local tools=("fatkit check=$bin/fatkit check -q $path")
	! have "$fsck" || tools+=("fsck.exfat -n=$fsck -n $path")
	measure "$1" "" "${tools[@]}" "dd, the metadata=$(reading "$2" fat bitmap directories)"
}

table_head
for case in "$@"; do
	case $case in
	nofat)
		image nofat -size 4G -mode nofat
		check "check, 198 000 files, NoFatChain" nofat
		;;
	fat)
		image fat -size 10G -mode fat
		check "check, 198 000 files, chains of 8" fat
		;;
	frag)
		image frag -size 12G -mode frag
		check "check, 198 000 files, scattered chains of 4" frag
		;;
	onedir)
		for n in 50000 "${ONEDIR:-5000}"; do
			image "onedir$n" -size 1G -mode empty -tops 0 -dirs 1 -files "$n" -name IMG_%06d.JPG
		done
		measure "check, one directory of 50 000 files" "" "fatkit check=$bin/fatkit check -q $dir/onedir50000.img" \
			"dd, the metadata=$(reading onedir50000 fat bitmap directories)"
		check "check, one directory of ${ONEDIR:-5000} files" "onedir${ONEDIR:-5000}"
		;;
	large)
		image large -size 4T -cluster 2048 -tops 0 -dirs 0 -solid
		path=$dir/large.img
		tools=("dd, the bitmap=$(reading large bitmap)" "fatkit mount-scan=$bin/fatkit mount-scan -q $path" "fatkit check=$bin/fatkit check -q $path")
		! have "$fsck" || tools+=("fsck.exfat -n=$fsck -n $path")
		measure "4 TiB, 2 KiB clusters, empty, the bitmap of 256 MiB on disk" "" "${tools[@]}"
		;;
	format)
		formats exfat 1T "" mkfs.exfat "$mkfs"
		formats exfat 4T "-c 2K" mkfs.exfat "$mkfs -c 2K"
		;;
	prealloc)
		new=$dir/new.img
		files=$(printf 'CLIP%04d.MP4 ' $(seq 16))
		bytes=$((16 * 1024 * 1024 * 1024 / 4096 / 8))
		measure "prealloc, 16 files of 1 GiB, contiguous" "rm -f $new $new.dd; $bin/fatkit format -q -t exfat -s 32G -c 4K $new" \
			"fatkit prealloc=$bin/fatkit prealloc -q --create --contiguous -l 1G $new $files" \
			"dd and fsync, as many bitmap bytes=$(syncs "$new.dd" "$bytes")"
		rm -f "$new" "$new.dd"
		;;
	*) unknown "$case" ;;
	esac
done
