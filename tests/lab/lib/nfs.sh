# shellcheck shell=bash
# ganesha.nfsd of a lab, with an rpcbind of its own.
#
# Ganesha will not serve NFSv3 unless an rpcbind takes its registration. It gets one in a mount
# namespace where /run is DIR/nfs/run (rpcbind.sock) and, for rpcbind alone, /etc/netconfig has
# neither UDP nor TCP, so that port 111 of this machine is not touched. The namespace is a slave of
# ours, or our unmounts would not reach it.
#
# SPDX-License-Identifier: GPL-3.0-or-later

nfs_pids() { ours ganesha.nfsd; }
rpcbind_pids() { ours rpcbind; }

nfs_configuration() {
    local v id=10 limits=''
    [ -z "$LAB_NFS_MAX" ] || limits="MaxRead = $LAB_NFS_MAX; MaxWrite = $LAB_NFS_MAX;"
    cat <<E
NFS_CORE_PARAM {
    Bind_addr = $ADDR;
    NFS_Port = $NFS_PORT;
    MNT_Port = $MNT_PORT;
    Protocols = $LAB_NFS_PROTOCOLS;
    Enable_NLM = false;
    Enable_RQUOTA = false;
    Enable_UDP = false;
    mount_path_pseudo = true;
}
# Graceless: no 90 s of grace after a start.
NFSv4 { Graceless = true; RecoveryRoot = $DIR/nfs/recov; Only_Numeric_Owners = true; }
# Cached directory chunks give stale answers; without quick reaping deleted files stay open and fill
# the volume.
MDCACHE {
    Dir_Chunk = 0; LRU_Run_Interval = 1; FD_LWMark_Percent = 0; Reaper_Work_Per_Lane = 10000;
}
NFS_KRB5 { Active_krb5 = false; }
EXPORT_DEFAULTS {
    Access_Type = RW; Squash = no_root_squash; SecType = sys; Transports = TCP;
    Attr_Expiration_Time = 0;
}
LOG { Default_Log_Level = EVENT; }
E
    nfs_export() { # pseudo path, path, options; limits count here only, not in EXPORT_DEFAULTS
        echo "EXPORT { Export_Id = $((id++)); Path = $2; Pseudo = /$1; $3 $limits"
        echo "    FSAL { Name = VFS; } }"
    }
    for v in $LAB_VOLUMES; do nfs_export "$v" "$(share "$v")" ""; done
    v=$(first_volume)
    nfs_export readonly "$(share "$v")" "Access_Type = RO;"
    nfs_export squash "$(data "$v")/extra/squash" "Squash = Root_Squash;"
    nfs_export squash-open "$(data "$v")/extra/open" "Squash = Root_Squash;"
    nfs_export lowport "$(share "$v")" "PrivilegedPort = true;"
    nfs_export outer "$(data "$v")/extra/outer" ""
    nfs_export outer/inner "$(share "${LAB_VOLUMES##* }")" "" # another file system, if it is one
}

nfs_start() {
    local d=$DIR/nfs
    mkdir -p "$d"/{run,recov}
    nfs_configuration >"$d/ganesha.conf"
    printf 'local tpi_cots_ord - loopback - - -\n' >"$d/netconfig"
    rm -f "$d"/run/rpcbind.*
    # shellcheck disable=SC2016 # expanded by the inner shells
    in_network unshare -m --propagation slave bash -c '
        d=$1
        if [ "$2" = 3 ]; then
            mount --bind "$d/run" /run
            unshare -m --propagation slave bash -c "
                mount --bind \"\$1/netconfig\" /etc/netconfig
                exec -a \"rpcbind-lab \$1/\" rpcbind -f" x "$d" &
            for i in {1..250}; do [ -S /run/rpcbind.sock ] && break; sleep 0.02; done
        fi
        exec ganesha.nfsd -f "$d/ganesha.conf" -L "$d/log" -p "$d/ganesha.pid" -N NIV_EVENT
    ' x "$d" "${LAB_NFS_PROTOCOLS:0:1}" </dev/null >>"$DIR/log" 2>&1
    wait_port "$NFS_PORT" nfs
    [ "${LAB_NFS_PROTOCOLS:0:1}" != 3 ] || wait_port "$MNT_PORT" nfs
}

nfs_stop() { # TERM or KILL
    local left=0
    stop_all "$1" nfs_pids || left=1
    stop_all TERM rpcbind_pids || left=1
    return $left
}
