#!/usr/bin/env bash
# Times fatkit against f2fs-tools and dd, on volumes that it makes itself.
#
#   bench/f2fs.sh [-n RUNS] [-d DIR] [-c] [CASE...]
#
#   -n  runs of each command, 5 unless given; the median counts
#   -d  directory for the images, on a file system with sparse files of 1 TiB;
#       they stay there for the next time, and take some 7 GiB
#   -c  empty the page cache before each run (root); the programs are then read
#       back, so that only the images are cold
#
# Cases: large tree shuffled format; all unless given. FSCK and MKFS name other
# builds of f2fs-tools than those of the path. To make the inputs of tree and
# shuffled takes minutes.
# Prints a Markdown table. Needs Go, and mkfs.f2fs and sload.f2fs for the inputs.
set -euo pipefail
cd "$(dirname "$0")/.."
fsck=${FSCK:-fsck.f2fs} mkfs=${MKFS:-mkfs.f2fs}
programs="f2fstree measure" peers="$fsck $mkfs" cases="large tree shuffled format"
. bench/common.sh

# image NAME SIZE [COMMAND]: a volume of mkfs.f2fs, made once; the command, which
# may fill it, has its name in $new.
image() {
	local path=$dir/$1.img
	[ ! -e "$path" ] || return 0
	new=$path.new
	rm -f "$new"
	truncate -s "$2" "$new"
	"$mkfs" -q "$new" >&2
	"${3:-true}" >&2
	mv "$new" "$path"
}

# load TREE: has sload.f2fs fill $new. It ends with a check of its own, and with 1
# where that changed something.
load() { sload.f2fs -f "$1" "$new" >/dev/null || [ $? = 1 ]; }

fill_tree() {
	rm -rf "$dir/tree"
	"$bin/f2fstree" -dirs 500 -files 200 "$dir/tree"
	load "$dir/tree"
	rm -rf "$dir/tree"
}

# sload.f2fs writes out holes, so an empty file will do.
fill_shuffled() {
	rm -rf "$dir/big"
	mkdir "$dir/big"
	truncate -s 4G "$dir/big/big"
	load "$dir/big"
	rm -rf "$dir/big"
	"$bin/f2fstree" -shuffle "$new"
}

# check TITLE IMAGE READING: both checkers, and a command that reads as much.
check() {
	local path=$dir/$2.img
	local tools=("fatkit check -n=$bin/fatkit check -n -q $path")
	! have "$fsck" || tools+=("fsck.f2fs --dry-run=$fsck --dry-run $path </dev/null")
	measure "$1" "" "${tools[@]}" "$3"
}

# tables IMAGE: reads all that lies before the main area.
tables() {
	local path=$dir/$1.img
	echo "dd, the metadata areas=$(reads "$path" $(($(field "$path" main_blkaddr) * 4096)))"
}

# as_much IMAGE: reads as many bytes as the check does, from the main area on.
as_much() {
	local path=$dir/$1.img bytes
	bytes=$("$bin/fatkit" check -n --json "$path" | grep -o '"bytes_read":[0-9]*' | cut -d: -f2)
	echo "dd, as many bytes=$(reads "$path" "$bytes" $((64 << 20)))"
}

table_head
for case in "$@"; do
	case $case in
	large)
		image large 1T
		check "check, 1 TiB, empty" large "$(tables large)"
		;;
	tree)
		image tree 4G fill_tree
		check "check, 4 GiB, 100 000 files in 500 directories" tree "$(as_much tree)"
		;;
	shuffled)
		image shuffled 8G fill_shuffled
		check "check, one file of 4 GiB, every block shuffled" shuffled "$(as_much shuffled)"
		;;
	format)
		for size in 64G 1T; do
			formats f2fs $size "" mkfs.f2fs "$mkfs -q"
		done
		;;
	*) unknown "$case" ;;
	esac
done
