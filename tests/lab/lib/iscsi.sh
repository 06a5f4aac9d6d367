# shellcheck shell=bash
# tgtd of a lab: one target per volume, and special ones on the first volume.
#
# SPDX-License-Identifier: GPL-3.0-or-later

IQN=iqn.2026-01.lab.nasmark
CHAP_USER=bench CHAP_PASS=benchpw123456
CHAP_TARGET_USER=labnas CHAP_TARGET_PASS=labnaspw1234

iscsi_pids() { ours tgtd; }
iscsi_admin() { TGT_IPC_SOCKET=$DIR/iscsi/sock timeout 20 tgtadm -C 0 --lld iscsi "$@"; }

iscsi_target() { # name, LUN number, file, options of the LUN...
    local sum serial
    # tgtd numbers its LUNs the same in every lab; a LUN's identity is its own.
    sum=$(printf '%s' "$DIR $1 $2" | cksum)
    serial=$(printf %08x "${sum%% *}")
    ((++TARGET))
    iscsi_admin -m target -o new -t $TARGET -T "$IQN:$1"
    iscsi_admin -m logicalunit -o new -t $TARGET -l "$2" -b "$3" "${@:4}"
    iscsi_admin -m logicalunit -o update -t $TARGET -l "$2" \
        -P "vendor_id=NASLAB,product_id=$1,scsi_sn=$serial"
    iscsi_admin -m target -o bind -t $TARGET -I ALL
}

iscsi_file() { # name, size: a LUN file of the first volume
    local file
    file=$(data "$(first_volume)")/lun/$1
    truncate -s "$2" "$file"
    echo "$file"
}

iscsi_targets() {
    local v
    TARGET=0
    for v in $LAB_VOLUMES; do iscsi_target "$v" 1 "$(data "$v")/lun/lun" -E rdwr; done
    iscsi_target aio 1 "$(iscsi_file aio "$LAB_LUN")" -E aio
    iscsi_target scratch 1 "$(iscsi_file scratch "$LAB_LUN")" -E rdwr
    iscsi_target b4096 1 "$(iscsi_file b4096 "$LAB_LUN")" -E rdwr --blocksize 4096
    iscsi_target tiny 1 "$(iscsi_file tiny 16M)" -E rdwr
    iscsi_target lun5 5 "$(iscsi_file lun5 64M)" -E rdwr
    iscsi_target readonly 1 "$(iscsi_file readonly 64M)" -E rdwr
    iscsi_admin -m logicalunit -o update -t $TARGET -l 1 -P "readonly=1"
    iscsi_admin -m account -o new -u $CHAP_USER -p $CHAP_PASS
    iscsi_admin -m account -o new -u $CHAP_TARGET_USER -p $CHAP_TARGET_PASS
    iscsi_target chap 1 "$(iscsi_file chap 64M)" -E rdwr
    iscsi_admin -m account -o bind -t $TARGET -u $CHAP_USER
    iscsi_target mutual 1 "$(iscsi_file mutual 64M)" -E rdwr
    iscsi_admin -m account -o bind -t $TARGET -u $CHAP_USER
    iscsi_admin -m account -o bind -t $TARGET -u $CHAP_TARGET_USER --outgoing
}

iscsi_start() {
    local d=$DIR/iscsi
    mkdir -p "$d"
    rm -f "$d"/sock*
    TGT_IPC_SOCKET=$d/sock in_network tgtd -C 0 --iscsi "portal=$ADDR:$ISCSI_PORT" \
        -p "$d/tgtd.pid" >>"$DIR/log" 2>&1
    wait_port "$ISCSI_PORT" iscsi
    iscsi_targets
}

# tgtd ignores SIGTERM; the orderly way is to drop every target, then the daemon.
iscsi_stop() { # TERM or KILL
    local target
    if [ "$1" = TERM ] && [ -n "$(iscsi_pids)" ]; then
        signal_all CONT iscsi_pids
        for target in $(iscsi_admin -m target -o show 2>/dev/null |
            sed -n 's/^Target \([0-9]*\):.*/\1/p'); do
            iscsi_admin -m target -o delete -t "$target" --force 2>/dev/null || true
        done
        iscsi_admin -m sys -o delete 2>/dev/null || true
        for _ in {1..20}; do
            [ -n "$(iscsi_pids)" ] || return 0
            sleep 0.05
        done
    fi
    stop_all KILL iscsi_pids
}
