#!/usr/bin/env bash
# Times fatkit prealloc of 64 files of 64 MiB, synced, beside Linux, which does
# the same with fallocate(2) on the same image in user-mode Linux.
#
#   bench/f2fs-prealloc.sh [-n RUNS] [-d DIR] [-c]
#
# -c empties the page cache before each run (root).
# Of fatkit the whole command counts, with its undo log and every sync; of Linux
# mount to umount, and the calls and one sync by themselves. Prints a line a run.
# Needs Go, mkfs.f2fs, perl and user-mode-linux.
set -euo pipefail
cd "$(dirname "$0")/.."
programs="" peers="" cases=""
. bench/common.sh

rm -f "$dir/empty.img"
truncate -s 8G "$dir/empty.img"
mkfs.f2fs -q "$dir/empty.img"
for i in $(seq 64); do printf '64M\tf%d\n' "$i"; done >"$dir/manifest"
fresh() { cp --sparse=always "$dir/empty.img" "$dir/$1.img" && sync "$dir/$1.img" && eval "$cold"; }

cat >"$dir/linux.pl" <<'PERL'
use Time::HiRes qw(time);
my $start = time;
system("mount -t f2fs /dev/ubda /mnt") == 0 or die "mount";
chdir "/mnt";
my $calls = time;
for my $i (1..64) {
	open(my $f, ">", "f$i") or die $!;
	syscall(285, fileno($f), 0, 0, 64 << 20) == 0 or die $!; # fallocate
}
syscall(162); # sync
my $synced = time;
chdir "/";
system("umount /mnt") == 0 or die "umount";
printf("Linux: mount to umount %.3f s, fallocate and sync %.3f s\n", time - $start, $synced - $calls);
PERL
cat >"$dir/init" <<INIT
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
for m in lz4_compress lz4hc_compress zstd_compress crc32_generic f2fs; do
	for ko in \$(find /usr/lib/uml/modules/\$(uname -r) -name "\$m.ko*"); do insmod \$ko 2>/dev/null; done
done
perl "$dir/linux.pl"
halt -f
INIT
chmod +x "$dir/init"

for _ in $(seq "$runs"); do
	fresh linux
	# How it ends says nothing.
	{ linux.uml mem=512M rootfstype=hostfs rootflags=/ ro quiet con=null con0=fd:0,fd:1 init="$dir/init" ubd0="$dir/linux.img" </dev/null 2>/dev/null || true; } | tr -d '\r' | grep '^Linux' || echo "Linux did not get through"
	fresh fatkit
	start=$(date +%s%N)
	"$bin/fatkit" prealloc -q --create --manifest "$dir/manifest" "$dir/fatkit.img"
	echo "fatkit: $(((($(date +%s%N) - start)) / 1000000)) ms"
done
