# shellcheck shell=bash
# `lab check`: what a lab needs and whether it is here.
#
# SPDX-License-Identifier: GPL-3.0-or-later

check_prerequisites() {
    local missing=0 command package answer
    report() { # what, answer; "no..." counts as missing
        printf '%-18s %s\n' "$1" "$2"
        case $2 in no*) missing=1 ;; esac
    }
    while read -r command package; do
        answer=$(command -v "$command") || answer="no: package $package"
        report "$command" "$answer"
    done <<'E'
smbd samba
smbpasswd samba-common-bin
ganesha.nfsd nfs-ganesha
rpcbind rpcbind
tgtd tgt
lighttpd lighttpd
mkfs.btrfs btrfs-progs
mkfs.ext4 e2fsprogs
mkfs.ntfs ntfs-3g
losetup mount
findmnt util-linux
ip iproute2
python3 python3-minimal
E
    for command in btrfs ext4 fuse; do
        modprobe "$command" 2>/dev/null || true
        answer=no
        if grep -qw "$command" /proc/filesystems; then answer=yes; fi
        report "kernel: $command" "$answer"
    done
    answer=no
    if [ -e /dev/loop-control ]; then answer=yes; fi
    report "kernel: loop" "$answer"
    answer="no: run it as root"
    if [ "$(id -u)" = 0 ]; then answer=yes; fi
    report root "$answer"
    answer="not here (only LAB_DISK and LAB_IOPS need it)"
    if [ -e "$V1.write_bps_device" ]; then answer="cgroup v1 blkio"; fi
    if grep -qsw io /sys/fs/cgroup/cgroup.controllers; then answer="cgroup v2 io"; fi
    printf '%-18s %s\n' "disk limits" "$answer"
    for command in gocryptfs mkfs.exfat mount.exfat-fuse; do
        printf '%-18s %s\n' "$command" "$(command -v "$command" || echo 'not here (optional)')"
    done
    return $missing
}
