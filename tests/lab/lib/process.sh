# shellcheck shell=bash
# Processes of a lab: who belongs to it, signals, waiting for a port.
#
# A process is ours when its name is that of a server and its command line or an open file lies
# below DIR. No pid is stored, so nothing goes stale, and children that rewrite their command line
# (smbd does from Samba 4.18 on) are found as well.
#
# SPDX-License-Identifier: GPL-3.0-or-later

ours() { # names as in /proc/PID/comm, 15 characters (globs): prints pids
    local pid name wanted
    {
        grep -lsF -- "$DIR/" /proc/[0-9]*/cmdline
        find /proc/[0-9]*/fd -maxdepth 1 -lname "$DIR/*" 2>/dev/null
    } | cut -d/ -f3 | sort -un | while read -r pid; do
        { read -r name <"/proc/$pid/comm"; } 2>/dev/null || continue
        for wanted; do
            # shellcheck disable=SC2053 # the right-hand side is a glob
            if [[ $name == $wanted ]]; then echo "$pid"; fi
        done
    done
    return 0
}

signal_all() { # signal, function that prints pids; again until no new process appears
    local pids before=none tries
    for tries in {1..20}; do
        pids=$("$2")
        [ "$pids" != "$before" ] || break
        # shellcheck disable=SC2086 # a list
        [ -z "$pids" ] || kill "-$1" $pids 2>/dev/null || true
        before=$pids
    done
    [ "$tries" -lt 20 ] || echo "lab: processes keep appearing: $pids" >&2
}

# Signals, waits three seconds, then kills. A paused process acts on a signal only when continued.
stop_all() { # signal, function that prints pids
    local pids tries
    for tries in {1..100}; do
        pids=$("$2")
        [ -n "$pids" ] || return 0
        # shellcheck disable=SC2086
        case $tries in
        1) kill "-$1" $pids 2>/dev/null || true; kill -CONT $pids 2>/dev/null || true ;;
        60) kill -KILL $pids 2>/dev/null || true ;;
        esac
        sleep 0.05
    done
    echo "lab: still running: $pids" >&2
    return 1
}

in_network() { # runs a command in the servers' network namespace
    if [ -n "${NS:-}" ]; then nsenter --net="/run/netns/$NS" "$@"; else "$@"; fi
}

port_answers() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    in_network timeout 2 bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$ADDR" "$1" 2>/dev/null
}

wait_port() { # port, server
    local deadline=$((SECONDS + 30))
    until port_answers "$1"; do
        [ $SECONDS -lt $deadline ] ||
            die "$2 does not answer on $ADDR:$1; see $DIR/$2/log and $DIR/log"
        sleep 0.02
    done
}
