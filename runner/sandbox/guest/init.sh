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

# The label of an ISO 9660 file system is 32808 bytes from its start (ECMA-119, 8.4 and 8.4.6).
seed=
for block in /sys/block/*; do
	label=$(dd if="/dev/${block##*/}" bs=2 skip=16404 count=3 2>/dev/null)
	case $label in cidata | CIDATA) seed=/dev/${block##*/} ;; esac
done
if [ -n "$seed" ] && mkdir /seed && mount -t iso9660 -o ro "$seed" /seed; then
	field() { sed -n "s/^$1: *//p" /seed/meta-data | tr -d '"'; }
	if [ -f /seed/user-data ] && [ -f /seed/meta-data ]; then
		digest=$(sha256sum /seed/user-data)
		echo "SEED instance-id=$(field instance-id) local-hostname=$(field local-hostname) sha256-of-user-data=${digest%% *}"
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
