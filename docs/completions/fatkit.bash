# Completions of fatkit, which writes them: fatkit docs completions DIR.

_fatkit_reply() {
	local found
	found=$(compgen "$@")
	local IFS=$'\n'
	COMPREPLY=($found)
}

_fatkit() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd= i words=
	COMPREPLY=()
	# Bash takes "--flag=value" for three words.
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} != -* ]]; then
			cmd=${COMP_WORDS[i]}
			break
		fi
	done
	case $cmd:$prev in
	format:-t|format:--type)
		_fatkit_reply -W 'fat fat12 fat16 fat32 exfat f2fs' -- "$cur"
		return
		;;
	format:-s|format:--size)
		:
		return
		;;
	format:-L|format:--label)
		:
		return
		;;
	format:-i|format:--id)
		:
		return
		;;
	format:-c|format:--cluster-size)
		:
		return
		;;
	format:-S|format:--sector-size)
		:
		return
		;;
	format:--align)
		:
		return
		;;
	format:--fats)
		:
		return
		;;
	format:--reserved-sectors)
		:
		return
		;;
	format:--root-entries)
		:
		return
		;;
	format:--hidden-sectors)
		:
		return
		;;
	format:--media-type)
		:
		return
		;;
	format:-O|format:--features)
		:
		return
		;;
	format:--uuid)
		:
		return
		;;
	format:--overprovision)
		:
		return
		;;
	format:--segs-per-sec)
		:
		return
		;;
	format:--secs-per-zone)
		:
		return
		;;
	format:--cold-ext)
		:
		return
		;;
	format:--hot-ext)
		:
		return
		;;
	format:--root-owner)
		:
		return
		;;
	format:--encoding)
		_fatkit_reply -W 'utf8 utf8:strict' -- "$cur"
		return
		;;
	format:--table)
		_fatkit_reply -W 'none mbr gpt' -- "$cur"
		return
		;;
	format:--partition-label)
		:
		return
		;;
	format:-d|format:--from)
		:
		return
		;;
	format:--slack)
		:
		return
		;;
	format:--links)
		_fatkit_reply -W 'follow skip error' -- "$cur"
		return
		;;
	format:--owner)
		:
		return
		;;
	format:--file-contexts)
		_fatkit_reply -f -- "$cur"
		return
		;;
	format:--codepage)
		_fatkit_reply -W '437 737 775 850 852 855 857 858 860 861 862 863 864 865 866 869 874 932 936 949 950 1250 1251 1252 1253 1254 1255 1256 1257 1258' -- "$cur"
		return
		;;
	format:--undo)
		_fatkit_reply -f -- "$cur"
		return
		;;
	check:--report)
		_fatkit_reply -W 'text json jsonl sarif junit github' -- "$cur"
		return
		;;
	check:--fail-on)
		_fatkit_reply -W 'info warning error' -- "$cur"
		return
		;;
	check:--orphans)
		_fatkit_reply -W 'report free rescue' -- "$cur"
		return
		;;
	check:-j)
		:
		return
		;;
	check:--codepage)
		_fatkit_reply -W '437 737 775 850 852 855 857 858 860 861 862 863 864 865 866 869 874 932 936 949 950 1250 1251 1252 1253 1254 1255 1256 1257 1258' -- "$cur"
		return
		;;
	check:-C)
		:
		return
		;;
	check:--partition-label)
		:
		return
		;;
	check:--max-size)
		:
		return
		;;
	check:--undo)
		_fatkit_reply -f -- "$cur"
		return
		;;
	prealloc:-l|prealloc:--length)
		:
		return
		;;
	prealloc:-o|prealloc:--offset)
		:
		return
		;;
	prealloc:--manifest)
		_fatkit_reply -f -- "$cur"
		return
		;;
	prealloc:--align)
		:
		return
		;;
	prealloc:--fill)
		_fatkit_reply -W 'zero none' -- "$cur"
		return
		;;
	prealloc:--valid)
		_fatkit_reply -W 'none all' -- "$cur"
		return
		;;
	prealloc:-j)
		:
		return
		;;
	prealloc:--codepage)
		_fatkit_reply -W '437 737 775 850 852 855 857 858 860 861 862 863 864 865 866 869 874 932 936 949 950 1250 1251 1252 1253 1254 1255 1256 1257 1258' -- "$cur"
		return
		;;
	prealloc:--partition-label)
		:
		return
		;;
	prealloc:--undo)
		_fatkit_reply -f -- "$cur"
		return
		;;
	zero:-o|zero:--offset)
		:
		return
		;;
	zero:-l|zero:--length)
		:
		return
		;;
	zero:--codepage)
		_fatkit_reply -W '437 737 775 850 852 855 857 858 860 861 862 863 864 865 866 869 874 932 936 949 950 1250 1251 1252 1253 1254 1255 1256 1257 1258' -- "$cur"
		return
		;;
	zero:--partition-label)
		:
		return
		;;
	zero:--undo)
		_fatkit_reply -f -- "$cur"
		return
		;;
	mount-scan:--readahead)
		:
		return
		;;
	mount-scan:-j)
		:
		return
		;;
	mount-scan:--partition-label)
		:
		return
		;;
	mount-scan:--max-size)
		:
		return
		;;
	ls:--codepage)
		_fatkit_reply -W '437 737 775 850 852 855 857 858 860 861 862 863 864 865 866 869 874 932 936 949 950 1250 1251 1252 1253 1254 1255 1256 1257 1258' -- "$cur"
		return
		;;
	ls:--partition-label)
		:
		return
		;;
	ls:--max-size)
		:
		return
		;;
	cat:--codepage)
		_fatkit_reply -W '437 737 775 850 852 855 857 858 860 861 862 863 864 865 866 869 874 932 936 949 950 1250 1251 1252 1253 1254 1255 1256 1257 1258' -- "$cur"
		return
		;;
	cat:--partition-label)
		:
		return
		;;
	cat:--max-size)
		:
		return
		;;
	copy:--tar)
		_fatkit_reply -f -- "$cur"
		return
		;;
	copy:--links)
		_fatkit_reply -W 'follow skip error' -- "$cur"
		return
		;;
	copy:--owner)
		:
		return
		;;
	copy:--file-contexts)
		_fatkit_reply -f -- "$cur"
		return
		;;
	copy:--codepage)
		_fatkit_reply -W '437 737 775 850 852 855 857 858 860 861 862 863 864 865 866 869 874 932 936 949 950 1250 1251 1252 1253 1254 1255 1256 1257 1258' -- "$cur"
		return
		;;
	copy:--partition-label)
		:
		return
		;;
	copy:--max-size)
		:
		return
		;;
	copy:--undo)
		_fatkit_reply -f -- "$cur"
		return
		;;
	rm:--codepage)
		_fatkit_reply -W '437 737 775 850 852 855 857 858 860 861 862 863 864 865 866 869 874 932 936 949 950 1250 1251 1252 1253 1254 1255 1256 1257 1258' -- "$cur"
		return
		;;
	rm:--partition-label)
		:
		return
		;;
	rm:--undo)
		_fatkit_reply -f -- "$cur"
		return
		;;
	mkdir:--codepage)
		_fatkit_reply -W '437 737 775 850 852 855 857 858 860 861 862 863 864 865 866 869 874 932 936 949 950 1250 1251 1252 1253 1254 1255 1256 1257 1258' -- "$cur"
		return
		;;
	mkdir:--partition-label)
		:
		return
		;;
	mkdir:--undo)
		_fatkit_reply -f -- "$cur"
		return
		;;
	map:--svg)
		_fatkit_reply -f -- "$cur"
		return
		;;
	map:--png)
		_fatkit_reply -f -- "$cur"
		return
		;;
	map:--show)
		:
		return
		;;
	map:--rows)
		:
		return
		;;
	map:--codepage)
		_fatkit_reply -W '437 737 775 850 852 855 857 858 860 861 862 863 864 865 866 869 874 932 936 949 950 1250 1251 1252 1253 1254 1255 1256 1257 1258' -- "$cur"
		return
		;;
	map:--partition-label)
		:
		return
		;;
	map:--max-size)
		:
		return
		;;
	info:--partition-label)
		:
		return
		;;
	info:--max-size)
		:
		return
		;;
	undo:--undo)
		_fatkit_reply -f -- "$cur"
		return
		;;
	esac
	case $cmd in
	'')
		if [[ $cur == -* ]]; then
			words='--json -q --quiet -v --verbose --version -h --help'
		else
			words='format check prealloc zero mount-scan ls cat copy rm mkdir map info undo explain version help'
		fi
		;;
	format)
		if [[ $cur == -* ]]; then
			words='-t --type -s --size -L --label -i --id -c --cluster-size -S --sector-size --align --fats --reserved-sectors --root-entries --hidden-sectors --media-type -O --features --uuid --overprovision --segs-per-sec --secs-per-zone --cold-ext --hot-ext --root-owner --encoding --table --partition-label -f --force --dry-run -d --from --slack --links --rename --owner --file-contexts --codepage --undo --keep-undo --json -q --quiet -v --verbose -h --help'
		fi
		;;
	check)
		if [[ $cur == -* ]]; then
			words='-n -p -a -y -r --report --fail-on --orphans --no-replay --discard-log --dry-run -j --codepage -C --partition-label --max-size --undo --keep-undo --json -q --quiet -v --verbose -h --help'
		fi
		;;
	prealloc)
		if [[ $cur == -* ]]; then
			words='-l --length -o --offset --manifest -n --keep-size --create --contiguous --align --fill --valid -f --force -j --dry-run --codepage --partition-label --undo --keep-undo --json -q --quiet -v --verbose -h --help'
		fi
		;;
	zero)
		if [[ $cur == -* ]]; then
			words='-o --offset -l --length -n --keep-size --free --slack --punch --write -f --force --dry-run --codepage --partition-label --undo --keep-undo --json -q --quiet -v --verbose -h --help'
		fi
		;;
	mount-scan)
		if [[ $cur == -* ]]; then
			words='--quick --readahead -j --partition-label --max-size --json -q --quiet -v --verbose -h --help'
		fi
		;;
	ls)
		if [[ $cur == -* ]]; then
			words='-l --long -R --recursive --extents --codepage --partition-label --max-size --json -q --quiet -v --verbose -h --help'
		fi
		;;
	cat)
		if [[ $cur == -* ]]; then
			words='--codepage --partition-label --max-size -q --quiet -v --verbose -h --help'
		fi
		;;
	copy)
		if [[ $cur == -* ]]; then
			words='-r -R --recursive --sparse --replace --tar --links --rename --owner --file-contexts --codepage -f --force --dry-run --partition-label --max-size --undo --keep-undo --json -q --quiet -v --verbose -h --help'
		fi
		;;
	rm)
		if [[ $cur == -* ]]; then
			words='-r -R --recursive -f --force --dry-run --codepage --partition-label --undo --keep-undo --json -q --quiet -v --verbose -h --help'
		fi
		;;
	mkdir)
		if [[ $cur == -* ]]; then
			words='-p --parents -f --force --dry-run --codepage --partition-label --undo --keep-undo --json -q --quiet -v --verbose -h --help'
		fi
		;;
	map)
		if [[ $cur == -* ]]; then
			words='--svg --png --show --rows --codepage --partition-label --max-size --json -q --quiet -v --verbose -h --help'
		fi
		;;
	info)
		if [[ $cur == -* ]]; then
			words='--partition-label --max-size --json -q --quiet -v --verbose -h --help'
		fi
		;;
	undo)
		if [[ $cur == -* ]]; then
			words='--undo -f --force --json -q --quiet -v --verbose -h --help'
		fi
		;;
	explain)
		if [[ $cur == -* ]]; then
			words='--json -q --quiet -v --verbose -h --help'
		else
			words='DISK-0001 DISK-0002 DISK-0003 DISK-0004 DISK-0005 DISK-0006 DISK-0007 DISK-0008 DISK-0009 DISK-0101 DISK-0102 DISK-0103 DISK-0104 DISK-0105 DISK-0106 DISK-0107 DISK-0108 DISK-0109 EXFAT-0001 EXFAT-0002 EXFAT-0003 EXFAT-0004 EXFAT-0005 EXFAT-0006 EXFAT-0007 EXFAT-0008 EXFAT-0009 EXFAT-0010 EXFAT-0011 EXFAT-0012 EXFAT-0100 EXFAT-0101 EXFAT-0102 EXFAT-0103 EXFAT-0104 EXFAT-0105 EXFAT-0106 EXFAT-0107 EXFAT-0108 EXFAT-0109 EXFAT-0110 EXFAT-0111 EXFAT-0112 EXFAT-0113 EXFAT-0114 EXFAT-0115 EXFAT-0116 EXFAT-0117 EXFAT-0118 EXFAT-0119 EXFAT-0120 EXFAT-0121 EXFAT-0122 EXFAT-0123 EXFAT-0200 EXFAT-0201 EXFAT-0202 EXFAT-0203 EXFAT-0204 EXFAT-0205 EXFAT-0206 EXFAT-0207 EXFAT-0208 EXFAT-0209 EXFAT-0210 EXFAT-0211 EXFAT-0212 EXFAT-0213 EXFAT-0214 EXFAT-0215 EXFAT-0216 EXFAT-0217 EXFAT-0218 EXFAT-0300 EXFAT-0301 EXFAT-0302 EXFAT-0303 EXFAT-0304 EXFAT-0305 EXFAT-0306 EXFAT-0307 EXFAT-0308 EXFAT-0309 EXFAT-0310 EXFAT-0311 EXFAT-0312 EXFAT-0313 EXFAT-0314 EXFAT-0315 EXFAT-0316 EXFAT-0317 EXFAT-0318 EXFAT-0319 EXFAT-0320 EXFAT-0321 EXFAT-0322 EXFAT-0400 EXFAT-0401 EXFAT-0402 EXFAT-0403 EXFAT-0404 EXFAT-0405 F2FS-0100 F2FS-0101 F2FS-0102 F2FS-0103 F2FS-0104 F2FS-0105 F2FS-0106 F2FS-0107 F2FS-0108 F2FS-0109 F2FS-0110 F2FS-0111 F2FS-0112 F2FS-0113 F2FS-0114 F2FS-0115 F2FS-0116 F2FS-0117 F2FS-0118 F2FS-0119 F2FS-0120 F2FS-0121 F2FS-0122 F2FS-0123 F2FS-0124 F2FS-0125 F2FS-0126 F2FS-0127 F2FS-0128 F2FS-0200 F2FS-0201 F2FS-0202 F2FS-0203 F2FS-0204 F2FS-0205 F2FS-0206 F2FS-0207 F2FS-0208 F2FS-0209 F2FS-0210 F2FS-0211 F2FS-0212 F2FS-0213 F2FS-0214 F2FS-0215 F2FS-0216 F2FS-0217 F2FS-0218 F2FS-0219 F2FS-0220 F2FS-0221 F2FS-0222 F2FS-0223 F2FS-0224 F2FS-0225 F2FS-0226 F2FS-0227 F2FS-0228 F2FS-0229 F2FS-0230 F2FS-0300 F2FS-0301 F2FS-0302 F2FS-0303 F2FS-0304 F2FS-0305 F2FS-0306 F2FS-0307 F2FS-0308 F2FS-0309 F2FS-0310 F2FS-0400 F2FS-0401 F2FS-0402 F2FS-0403 F2FS-0404 F2FS-0405 F2FS-0406 F2FS-0407 F2FS-0408 F2FS-0500 F2FS-0501 F2FS-0502 F2FS-0503 F2FS-0504 F2FS-0505 F2FS-0506 F2FS-0507 F2FS-0508 F2FS-0509 F2FS-0510 F2FS-0511 F2FS-0512 F2FS-0513 F2FS-0514 F2FS-0515 F2FS-0516 F2FS-0517 F2FS-0518 F2FS-0519 F2FS-0520 F2FS-0521 F2FS-0522 F2FS-0523 F2FS-0524 F2FS-0525 F2FS-0526 F2FS-0527 F2FS-0528 F2FS-0529 F2FS-0530 F2FS-0600 F2FS-0601 F2FS-0602 F2FS-0603 F2FS-0604 F2FS-0605 F2FS-0606 F2FS-0607 F2FS-0608 F2FS-0609 F2FS-0610 FAT-0001 FAT-0002 FAT-0003 FAT-0004 FAT-0005 FAT-0006 FAT-0007 FAT-0008 FAT-0009 FAT-0010 FAT-0011 FAT-0012 FAT-0013 FAT-0100 FAT-0101 FAT-0102 FAT-0103 FAT-0104 FAT-0105 FAT-0106 FAT-0107 FAT-0108 FAT-0109 FAT-0110 FAT-0111 FAT-0112 FAT-0113 FAT-0114 FAT-0115 FAT-0116 FAT-0117 FAT-0118 FAT-0119 FAT-0120 FAT-0121 FAT-0122 FAT-0123 FAT-0124 FAT-0125 FAT-0126 FAT-0127 FAT-0128 FAT-0129 FAT-0130 FAT-0131 FAT-0132 FAT-0133 FAT-0134 FAT-0135 FAT-0136 FAT-0137 FAT-0138 FAT-0139 FAT-0140 FAT-0141 FAT-0142 FAT-0143 FAT-0144 FAT-0145 FAT-0146 FAT-0200 FAT-0201 FAT-0202 FAT-0203 FAT-0204 FAT-0205 FAT-0206 FAT-0207 FAT-0300 FAT-0301 FAT-0302 FAT-0303 FAT-0304 FAT-0305 FAT-0306 FAT-0307 FAT-0308 FAT-0309 FAT-0310 FAT-0311 FAT-0312 FAT-0313 FAT-0314 FAT-0315 FAT-0316 FAT-0317 FAT-0400 FAT-0401 FAT-0402 FAT-0403 FAT-0404 FAT-0405 FAT-0406 FAT-0407 FAT-0408 FAT-0409 FAT-0410 FAT-0411 FAT-0412 FAT-0413 FAT-0414 FAT-0415 FAT-0416'
		fi
		;;
	version)
		if [[ $cur == -* ]]; then
			words='--json -q --quiet -v --verbose -h --help'
		fi
		;;
	help)
		if [[ $cur == -* ]]; then
			words=''
		else
			words='format check prealloc zero mount-scan ls cat copy rm mkdir map info undo explain version'
		fi
		;;
	esac
	if [[ -n $words ]]; then
		_fatkit_reply -W "$words" -- "$cur"
	elif [[ $cmd != version ]]; then
		_fatkit_reply -f -- "$cur"
	fi
}

complete -o filenames -F _fatkit fatkit
