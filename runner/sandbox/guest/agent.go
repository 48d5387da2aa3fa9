package guest

// Agent is user data that makes the guest answer as the QEMU guest agent does, as far as tests need it: it gets in step,
// answers pings, says its addresses, of which 192.0.2.9 is the one that could be reached, and says of commands that /bin/true
// exits with 0 and all others with 7. The protocol is a JSON object
// a line.
const Agent = `gitvirt-run: agent() {
gitvirt-run:   exec 3<>$(ls /dev/vport* | head -n 1)
gitvirt-run:   while :; do read -r line <&3 || { sleep 1; continue; }
gitvirt-run:   case $line in
gitvirt-run:     *guest-sync*) id=${line##*:}; echo "{\"return\": ${id%%\}*}}" >&3 ;;
gitvirt-run:     *guest-ping*) echo '{"return": {}}' >&3 ;;
gitvirt-run:     *guest-exec-status*) [ $polls = 0 ] && echo "{\"return\": {\"exited\": true, \"exitcode\": $code}}" >&3 || { polls=0; echo '{"return": {"exited": false}}' >&3; } ;;
gitvirt-run:     *guest-exec*) polls=1; case $line in */bin/true*) code=0 ;; *) code=7 ;; esac; echo '{"return": {"pid": 5}}' >&3 ;;
gitvirt-run:     *guest-network*) echo '{"return": [{"name": "lo", "ip-addresses": [{"ip-address-type": "ipv4", "ip-address": "127.0.0.1", "prefix": 8}]}, {"name": "eth0", "hardware-address": "52:54:00:12:34:56", "ip-addresses": [{"ip-address-type": "ipv6", "ip-address": "fe80::1", "prefix": 64}, {"ip-address-type": "ipv4", "ip-address": "192.0.2.9", "prefix": 24}]}]}' >&3 ;;
gitvirt-run:     *) echo '{"error": {"class": "CommandNotFound", "desc": "no such command"}}' >&3 ;;
gitvirt-run:   esac; done; }
gitvirt-run: agent & echo AGENT
`
