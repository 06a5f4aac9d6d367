# shellcheck shell=bash
# smbd of a lab: every directory it writes to is below DIR/smb, no Unix account is created.
#
# The users are names mapped to system accounts that every Debian has: bench to root, odd to
# daemon. An unknown name becomes a guest, a wrong password is refused.
#
# SPDX-License-Identifier: GPL-3.0-or-later

SMB_USER=bench SMB_PASS=benchpw
SMB_ODD_USER=odd SMB_ODD_PASS='p@s:s%w/d'

smb_pids() { ours 'smbd*' cleanupd samba-dcerpcd 'rpcd_*'; }

smb_configuration() {
    local d=$DIR/smb v extra
    cat <<E
[global]
    server role = standalone server
    workgroup = LAB
    netbios name = LABNAS
    disable netbios = yes
    smb ports = $SMB_PORT
    interfaces = $ADDR
    bind interfaces only = yes
    private dir = $d/private
    state directory = $d/state
    cache directory = $d/cache
    lock directory = $d/lock
    pid directory = $d/pid
    ncalrpc dir = $d/ncalrpc
    binddns dir = $d/state
    usershare path =
    log file = $d/log/smbd.log
    max log size = 0
    log level = 1
    passdb backend = tdbsam:$d/private/passdb.tdb
    username map = $d/users.map
    map to guest = bad user
    guest account = nobody
    idmap config * : backend = tdb
    idmap config * : range = 100000-199999
    server min protocol = SMB2_02
    server max protocol = SMB3
    server multi channel support = no
    load printers = no
    printing = bsd
    printcap name = /dev/null
    disable spoolss = yes
    read only = no
    force user = root
    $LAB_SMB_GLOBAL
E
    for v in $LAB_VOLUMES; do smb_share "$v" "$(share "$v")" "valid users = root daemon"; done
    v=$(first_volume) extra=$(data "$v")/extra
    smb_share guest "$(share "$v")" "guest ok = yes" "guest only = yes"
    smb_share sealed "$(share "$v")" "smb encrypt = required"
    smb_share readonly "$(share "$v")" "read only = yes"
    smb_share 'my share é' "$extra/named"
    smb_share 'hid$' "$extra/hidden"
    smb_share 'a@b' "$extra/at"
}

smb_share() { # name, path, lines...
    printf '[%s]\n    path = %s\n' "$1" "$2"
    [ $# -le 2 ] || printf '    %s\n' "${@:3}"
}

smb_user() { # Unix account, password
    printf '%s\n%s\n' "$2" "$2" |
        smbpasswd -c "$DIR/smb/smb.conf" -L -s -a "$1" >>"$DIR/smb/log/setup" 2>&1
}

smb_start() {
    local d=$DIR/smb
    mkdir -p "$d"/{private,state,cache,lock,pid,ncalrpc,log}
    printf 'root = %s\ndaemon = %s\n' "$SMB_USER" "$SMB_ODD_USER" >"$d/users.map"
    smb_configuration >"$d/smb.conf"
    if [ ! -e "$d/private/passdb.tdb" ]; then
        smb_user root "$SMB_PASS"
        smb_user daemon "$SMB_ODD_PASS"
    fi
    in_network smbd -D -s "$d/smb.conf" -l "$d/log"
    wait_port "$SMB_PORT" smb
}

smb_stop() { stop_all "$1" smb_pids; } # TERM or KILL
