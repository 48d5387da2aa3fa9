# Sourced by deploy/demo and test/run: Debian packages, installed with care.

# as_root COMMAND… runs a command as root.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		echo "cannot run as root: $*: there is no sudo; run this yourself, and then try again" >&2
		return 1
	fi
}

# missing_packages PACKAGE… prints those that are not installed.
missing_packages() {
	local package
	for package; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
	done
}

# enabled_services prints the services that start at boot.
enabled_services() {
	if command -v systemctl >/dev/null; then
		systemctl list-unit-files --state=enabled --no-legend --plain 2>/dev/null | awk '{print $1}' | sort
	fi
}

# install_packages PACKAGE… installs those that are missing. A service that a package brings along is neither started
# nor enabled.
install_packages() {
	local missing
	if ! command -v dpkg-query >/dev/null; then
		echo "this is not Debian or like it: please have the like of these installed: $*" >&2
		return 0
	fi
	missing=$(missing_packages "$@")
	[ -n "$missing" ] || return 0
	echo "installing:" $missing >&2
	as_root apt-get -q -o DPkg::Lock::Timeout=300 update >&2 && install_quietly $missing
}

# install_quietly PACKAGE… is a subshell, for its trap: an interrupted installation must not leave the answer "no" to
# every package that asks whether it may start its service (policy-rc.d, see invoke-rc.d(8)).
install_quietly() (
	policy=/usr/sbin/policy-rc.d
	saved=$policy.gitvirt-saved
	restore() {
		as_root rm -f "$policy"
		if [ -e "$saved" ]; then as_root mv "$saved" "$policy"; fi
	}
	before=$(enabled_services)
	trap restore EXIT
	if [ -e "$policy" ] && [ ! -e "$saved" ]; then
		as_root mv "$policy" "$saved" || exit
	fi
	printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null && as_root chmod 755 "$policy" || exit
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@" >&2
	status=$?
	added=$(comm -13 <(echo "$before") <(enabled_services))
	[ -z "$added" ] || as_root systemctl --quiet disable $added || status=$?
	exit $status
)

# know_packages PACKAGE… sees to it that apt knows packages which are downloaded later, but not installed.
know_packages() {
	command -v apt-cache >/dev/null || return 0
	apt-cache show "$@" >/dev/null 2>&1 || as_root apt-get -q update >&2
}
