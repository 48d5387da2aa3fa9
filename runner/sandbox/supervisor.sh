# supervisor.sh DIRECTORY own|shared session|system
#
# Starts a libvirtd in DIRECTORY for each line on standard input, and prints "exit STATUS" when one ends. Standard
# input is the owner's lease: at its end everything that was started is killed, and DIRECTORY is removed.
# "own" says that this is the first process of a PID namespace. It must be bash: bash reaps orphans while it reads,
# and libvirt takes a QEMU that nobody reaped for one that would not die.
# "system" says that this has a mount and a network namespace: folders of the system are then covered by DIRECTORY's.
set -u
dir=$1 pids=$2 kind=$3

# In a shared PID namespace the only thing that tells our processes from others is their command line.
kill_ours() {
	local file exe pid
	for file in /proc/[0-9]*/cmdline; do
		IFS= read -r -d '' exe <"$file" || continue
		case ${exe##*/} in
		libvirtd | qemu-*) ;;
		*) continue ;;
		esac
		grep -qaF -- "$dir/" "$file" || continue
		pid=${file#/proc/}
		kill -KILL "${pid%/cmdline}"
	done 2>/dev/null
}

# cover has a system daemon see folders of its own, and users that only an installed system daemon brings along.
cover() {
	local name of
	while read -r name of; do
		mount --bind "$dir/p/$name" "$of" || return
	done <<-END
		etc /etc/libvirt
		lib /var/lib/libvirt
		cache /var/cache/libvirt
		log /var/log/libvirt
		run /run
	END
	for name in passwd group; do
		cp "/etc/$name" "$dir/p/$name" || return
		for of in libvirt-qemu:x:64055 kvm:x:64056; do
			grep -q "^${of%%:*}:" "$dir/p/$name" || case $name in
			passwd) echo "$of:${of##*:}::/:/bin/false" ;;
			group) echo "$of:" ;;
			esac >>"$dir/p/$name"
		done
		mount --bind "$dir/p/$name" "/etc/$name" || return
	done
	ip link set lo up
}

[ "$kind" = session ] || cover || exit
echo ready
while read -r _; do
	{
		libvirtd --config "$dir/libvirtd.conf" --pid-file "$dir/pid" --timeout 0 </dev/null >>"$dir/log" 2>&1
		echo "exit $?"
	} &
done

if [ "$pids" = own ]; then
	kill -KILL -- -1
else
	kill_ours # the daemon, and the QEMUs that it has
	kill_ours # a QEMU that it was starting meanwhile
fi
rm -rf -- "$dir"
