# What the scripts beside this one share. They source it with their arguments,
# having named in $programs the packages of ./bench to build, in $peers the other
# programs that they run, and in $cases their cases.
# shellcheck shell=bash
PATH=$PATH:/usr/sbin:/sbin

runs=5 cold="" dir=${TMPDIR:-/tmp}/fatkit-bench
while getopts n:d:c o; do
	case $o in
	n) runs=$OPTARG ;;
	d) dir=$OPTARG ;;
	c) cold="sync; echo 3 >/proc/sys/vm/drop_caches" ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
# shellcheck disable=SC2086 # the cases are words
[ $# -gt 0 ] || set -- $cases

mkdir -p "$dir"
dir=$(realpath "$dir")
bin=$dir/bin
# shellcheck disable=SC2086,SC2046 # and so are the programs
CGO_ENABLED=0 go build -buildvcs=false -o "$bin/" ./cmd/fatkit ${programs:+$(printf './bench/%s ' $programs)}
have() { command -v "$1" >/dev/null; }
# The programs are read back, so that only the images are cold.
for tool in "$bin/fatkit" $peers dd; do
	[ -z "$cold" ] || ! have "$tool" || cold="$cold; cat $(command -v "$tool") >/dev/null"
done

# measure TITLE PREPARE NAME=COMMAND...; ok=CODES says which exit codes are no
# failure, 0 unless given.
measure() {
	local title=$1 prepare=$2
	shift 2
	[ -z "$cold" ] || prepare="${prepare:+$prepare; }$cold"
	"$bin/measure" -n "$runs" -title "$title" -ok "${ok:-0}" -prepare "$prepare" "$@"
}

# table_head: the first lines of the table.
table_head() {
	echo "| case | command | median s | range s | peak MiB | times the first |"
	echo "| --- | --- | --- | --- | --- | --- |"
}

# reads IMAGE COUNT [SKIP]: a command that reads COUNT bytes from byte SKIP on.
reads() { echo "dd if=$1 of=/dev/null bs=1M iflag=skip_bytes,count_bytes skip=${3:-0} count=$2 status=none"; }

# syncs FILE BYTES: a command that writes as many zeros and waits for them.
syncs() { echo "dd if=/dev/zero of=$1 bs=1M iflag=count_bytes count=$2 conv=fsync status=none"; }

# field IMAGE NAME: a field of the superblock.
field() { "$bin/fatkit" info "$1" | awk -v f="$2" '$1 == f { print $2 }'; }

# formats TYPE SIZE OPTIONS PEER COMMAND: fatkit format with the options beside
# the command of a peer, on sparse files, and what each has written.
formats() {
	local type=$1 size=$2 options=$3 peer=$4 command=$5 ours=$dir/ours.img theirs=$dir/theirs.img
	local format="$bin/fatkit format -q -t $type -s $size $options $ours"
	local tools=("fatkit format=$format")
	! have "${command%% *}" || tools+=("$peer=$command $theirs")
	measure "format, $size${options:+ $options}, sparse" "rm -f $ours $theirs; truncate -s $size $theirs" "${tools[@]}"
	# The last run was the other tool's.
	[ -e "$ours" ] || $format
	echo "<!-- on disk: fatkit $(du -k "$ours" | cut -f1) KiB, $peer $(du -k "$theirs" | cut -f1) KiB -->"
	rm -f "$ours" "$theirs"
}

unknown() {
	echo "no case $1" >&2
	exit 2
}
