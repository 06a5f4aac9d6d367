# shellcheck shell=bash
# Where the servers listen: loopback, or a network namespace behind a shaped veth pair.
#
# tbf does not count preamble, gap and frame checksum (24 of MTU + 38 bytes on the wire), so "1gbe"
# is shaped to what is left of 1000 Mbit/s: 984 at MTU 1500.
#
# SPDX-License-Identifier: GPL-3.0-or-later

network_up() {
    local n host peer rate=$LAB_NET
    NS='' ADDR=127.0.0.1
    [ "$LAB_NET" != host ] || return 0
    for ((n = 1; n < 250; n++)); do # a /30 each out of 198.18.0.0/16, reserved for benchmarks
        if [ ! -e "/run/netns/nmlab$n" ] && ip netns add "nmlab$n" 2>/dev/null; then break; fi
    done
    [ $n -lt 250 ] || die "no free network namespace name nmlab1..249"
    NS=nmlab$n ADDR=198.18.$n.2 host=nmlab$n peer=nmlab${n}p
    echo "$NS" >"$DIR/netns"
    ip link add "$host" mtu "$LAB_MTU" type veth peer name "$peer" mtu "$LAB_MTU"
    ip link set "$peer" netns "$NS"
    ip addr add "198.18.$n.1/30" dev "$host"
    ip link set "$host" up
    in_network ip addr add "$ADDR/30" dev "$peer"
    in_network ip link set "$peer" up
    in_network ip link set lo up
    [ "$LAB_NET" != veth ] || return 0
    if [[ $rate =~ ^([0-9.]+)gbe$ ]]; then
        rate=$(awk -v g="${BASH_REMATCH[1]}" -v m="$LAB_MTU" \
            'BEGIN {printf "%.0fkbit", g * 1e6 * (m + 14) / (m + 38)}')
    fi
    tc qdisc add dev "$host" root tbf rate "$rate" burst 256kb latency 20ms
    in_network tc qdisc add dev "$peer" root tbf rate "$rate" burst 256kb latency 20ms
}

network_down() {
    local name
    [ -f "$DIR/netns" ] || return 0
    name=$(<"$DIR/netns")
    ip link del "$name" 2>/dev/null || true
    ip netns del "$name" 2>/dev/null || true
}

choose_ports() { # five in a row
    local used port
    used=" $(in_network ss -Htan | awk '{sub(/.*:/, "", $4); print $4}' | tr '\n' ' ')"
    taken_port() { # first: prints the first of the five that is in use; 1 when none is
        for port in {0..4}; do
            if [[ $used == *" $(($1 + port)) "* ]]; then echo $(($1 + port)) && return; fi
        done
        return 1
    }
    if [ -z "$LAB_PORT" ]; then
        for ((LAB_PORT = 20000; LAB_PORT < 32000; LAB_PORT += 10)); do
            taken_port "$LAB_PORT" >/dev/null || break
        done
    fi
    ! port=$(taken_port "$LAB_PORT") || die "port $port is taken"
    SMB_PORT=$LAB_PORT NFS_PORT=$((LAB_PORT + 1)) MNT_PORT=$((LAB_PORT + 2))
    ISCSI_PORT=$((LAB_PORT + 3)) HTTP_PORT=$((LAB_PORT + 4))
}
