# supervisor.sh DIRECTORY own|shared
#
# Starts a libvirtd in DIRECTORY for each line on standard input, and prints "exit STATUS" when one ends. Standard
# input is the owner's lease: at its end everything that was started is killed, and DIRECTORY is removed.
# "own" says that this is the first process of a PID namespace. It must be bash: bash reaps orphans while it reads,
# and libvirt takes a QEMU that nobody reaped for one that would not die.
set -u
dir=$1 pids=$2

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
