# shellcheck shell=bash
# Disks of a chosen speed: LAB_DISK (bytes/s) and LAB_IOPS limit every loop device of the lab.
#
# cgroup v1: the limits of the root group hold for write-back and for every process. cgroup v2 has
# none in its root, so the lab runs in a group of its own (GROUP); a program that shall feel the
# limits on a local path is started with `lab exec`.
#
# SPDX-License-Identifier: GPL-3.0-or-later

V1=/sys/fs/cgroup/blkio/blkio.throttle

throttle_wanted() { [ "$LAB_DISK$LAB_IOPS" != 00 ]; }

throttle_up() { # before any process of the lab starts
    local root=''
    GROUP=''
    throttle_wanted || return 0
    [ ! -e $V1.write_bps_device ] || return 0
    root=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
    grep -qsw io "${root:-/none}/cgroup.controllers" ||
        die "LAB_DISK and LAB_IOPS need the cgroup controller blkio (v1) or io (v2)"
    # memory as well: without it write-back cannot be charged to a group
    echo "+io +memory" >"$root/cgroup.subtree_control"
    GROUP=$root/nasmark-lab-$BASHPID
    mkdir "$GROUP"
    echo "$GROUP" >"$DIR/group"
    throttle_join
}

throttle_join() { [ -z "${GROUP:-}" ] || echo $$ >"$GROUP/cgroup.procs"; }

throttle_disks() {
    local bytes iops device
    throttle_wanted || return 0
    bytes=$(numfmt --from=iec "$LAB_DISK") iops=$LAB_IOPS
    loops_of "" | while read -r _ device; do
        if [ -n "$GROUP" ]; then
            [ "$bytes" = 0 ] || echo "$device rbps=$bytes wbps=$bytes" >"$GROUP/io.max"
            [ "$iops" = 0 ] || echo "$device riops=$iops wiops=$iops" >"$GROUP/io.max"
        else
            echo "$device $bytes" | tee $V1.read_bps_device >$V1.write_bps_device
            echo "$device $iops" | tee $V1.read_iops_device >$V1.write_iops_device
        fi
    done
}

# v1 limits stay with the device number: they are lifted before the loop device goes.
throttle_lift() { # volume prefix as loops_of takes it
    local device file
    [ -e $V1.write_bps_device ] || return 0
    loops_of "$1" | while read -r _ device; do
        for file in read_bps write_bps read_iops write_iops; do
            if grep -qs "^$device " "$V1.${file}_device"; then
                echo "$device 0" >"$V1.${file}_device"
            fi
        done
    done
}

throttle_down() { # after the last process of the lab has ended
    local group tries
    [ -f "$DIR/group" ] || return 0
    group=$(<"$DIR/group")
    [ -d "$group" ] || return 0
    echo $$ >"$(dirname "$group")/cgroup.procs"
    for tries in {1..20}; do
        rmdir "$group" 2>/dev/null && return 0
        sleep 0.05
    done
    echo "lab: $group is still in use after $tries tries" >&2
}
