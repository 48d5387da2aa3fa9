#!/bin/sh
# The first process of the guest. What it prints to the console is described in the package's documentation.
PATH=/bin
export PATH
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
exec >/dev/ttyS0 2>&1 </dev/null

for module in /modules/*; do
	insmod "$module" || echo "ERROR cannot load $module"
done

# has WORD, value NAME: what the kernel's command line says.
cmdline=" $(cat /proc/cmdline) "
has() { case $cmdline in *" $1 "*) ;; *) false ;; esac; }
value() {
	case $cmdline in *" $1="*) ;; *) return ;; esac
	rest=${cmdline#*" $1="}
	echo "${rest%% *}"
}

if ! has gitvirt.ignore-acpi; then
	mkdir -p /etc/acpi/PWRF
	printf '#!/bin/sh\necho POWER-BUTTON >/dev/ttyS0\nexec poweroff -f\n' >/etc/acpi/PWRF/00000080
	chmod 755 /etc/acpi/PWRF/00000080
	acpid -f -l /dev/null &
	# A request that comes before it listens would be lost, and READY says that it is heard.
	tries=0
	until ls -l /proc/$!/fd 2>/dev/null | grep -q /dev/input || [ $tries = 50 ]; do
		tries=$((tries + 1))
		usleep 20000
	done
fi

disks= nics=
for block in /sys/block/*; do
	name=${block##*/}
	case $name in '*' | loop* | ram* | fd*) continue ;; esac
	read -r sectors <"$block/size"
	serial=
	[ ! -f "$block/serial" ] || read -r serial <"$block/serial"
	disks=$disks${disks:+,}$name:$((sectors * 512)):$serial
done
for nic in /sys/class/net/*; do
	[ -e "$nic/device" ] || continue
	read -r mac <"$nic/address"
	nics=$nics${nics:+,}$mac
done
read -r _ memory _ </proc/meminfo
cpus=$(grep -c '^processor' /proc/cpuinfo)
uuid=
[ ! -r /sys/class/dmi/id/product_uuid ] || read -r uuid </sys/class/dmi/id/product_uuid
echo "READY uuid=$uuid memory=$memory cpus=$cpus disks=$disks nics=$nics"

after=$(value gitvirt.poweroff-after)
[ -z "$after" ] || { sleep "$after" && poweroff -f; } &

# digest FILE: what a file holds, and nothing of one that is not there.
digest() { [ ! -f "$1" ] || sha256sum "$1" | cut -d ' ' -f 1; }

# The label of an ISO 9660 file system is 32808 bytes from its start, and 32 long (ECMA-119, 8.4 and 8.4.6).
seed= drive=
for block in /sys/block/*; do
	device=/dev/${block##*/}
	case $(dd if="$device" bs=8 skip=4101 count=4 2>/dev/null | tr -d ' \000') in
	cidata | CIDATA) seed=$device ;;
	config-2 | CONFIG-2) drive=$device ;;
	esac
done
if [ -n "$drive" ] && mkdir /drive && mount -t iso9660 -o ro "$drive" /drive; then
	latest=/drive/openstack/latest
	word() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" $latest/meta_data.json; }
	echo "DRIVE instance-id=$(word uuid) local-hostname=$(word hostname) sha256-of-user-data=$(digest $latest/user_data) sha256-of-network-data=$(digest $latest/network_data.json) sha256-of-meta-data=$(digest $latest/meta_data.json)"
	umount /drive
fi
ignition=/sys/firmware/qemu_fw_cfg/by_name/opt/com.coreos/config/raw
[ ! -f $ignition ] || echo "IGNITION sha256-of-config=$(digest $ignition)"
if [ -n "$seed" ] && mkdir /seed && mount -t iso9660 -o ro "$seed" /seed; then
	field() { sed -n "s/^$1: *//p" /seed/meta-data | tr -d '"'; }
	if [ -f /seed/user-data ] && [ -f /seed/meta-data ]; then
		echo "SEED instance-id=$(field instance-id) local-hostname=$(field local-hostname) sha256-of-user-data=$(digest /seed/user-data) sha256-of-network-data=$(digest /seed/network-config) sha256-of-meta-data=$(digest /seed/meta-data)"
		sed -n 's/^gitvirt-run: //p' /seed/user-data >/run.sh
		if [ -s /run.sh ]; then
			sh /run.sh
			echo "RAN status=$?"
		fi
	else
		echo "ERROR the seed has no user-data and meta-data, but: $(ls /seed)"
	fi
	umount /seed # as cloud-init does: a mounted CD is locked in its drive
fi

while :; do
	wait
	sleep 3600 &
done
