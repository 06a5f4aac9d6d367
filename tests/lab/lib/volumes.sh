# shellcheck shell=bash
# Volumes of a lab: sparse files as disks, loop devices, file systems, LUN files.
#
# Volume V is mounted at DIR/mnt/V; below it v/share is what the servers export, v/lun holds LUNs
# and v/extra the directories of special shares.
#
# SPDX-License-Identifier: GPL-3.0-or-later

KNOWN_VOLUMES="plain single raid0 raid1 raid5 compressed encrypted gocrypt usb usbexfat small"

data() { echo "$DIR/mnt/$1/v"; }
share() { echo "$DIR/mnt/$1/v/share"; }
first_volume() { echo "${LAB_VOLUMES%% *}"; }

volume_kind() { # as the plan calls it
    case $1 in
    plain | small) echo other ;;
    gocrypt) echo encrypted ;;
    usbexfat) echo usb ;;
    *) echo "$1" ;;
    esac
}

make_disks() { # volume, number [size]: sets DISKS to the loop devices
    local i file
    DISKS=()
    for ((i = 0; i < $2; i++)); do
        file=$DIR/img/$1.$i
        truncate -s "${3:-$LAB_SIZE}" "$file"
        DISKS+=("$(losetup --find --show --direct-io="$LAB_DIO" "$file")")
    done
}

loops_of() { # volume, or "" for all: loop devices of this lab with their device numbers
    losetup -nl -O NAME,MAJ:MIN,BACK-FILE |
        awk -v f="$DIR/img/$1" 'index($3, f) == 1 {print $1, $2}'
}

make_btrfs() { # volume, disks, data profile, metadata profile
    make_disks "$1" "$2"
    mkfs.btrfs -q -f -K -d "$3" -m "$4" -L "$1" "${DISKS[@]}"
    mount -t btrfs -o noatime "${DISKS[0]}" "$DIR/mnt/$1"
}

make_ext4() { # volume, mount point, size, mkfs options...
    make_disks "$1" 1 "$3"
    mkfs.ext4 -q -F -m 0 -E nodiscard "${@:4}" "${DISKS[0]}"
    mount -t ext4 -o noatime "${DISKS[0]}" "$2"
}

make_gocrypt() { # mount point: gocryptfs over ext4
    local below=$DIR/mnt/.gocrypt
    mkdir -p "$below"
    make_ext4 gocrypt "$below" "$LAB_SIZE"
    mkdir "$below/cipher"
    (umask 077 && head -c 16 /dev/urandom | od -An -vtx1 | tr -d ' \n' >"$DIR/gocrypt.pass")
    gocryptfs -init -q -scryptn 10 -passfile "$DIR/gocrypt.pass" "$below/cipher"
    gocryptfs -q -nosyslog -allow_other -passfile "$DIR/gocrypt.pass" "$below/cipher" "$1"
}

make_volume() {
    local m=$DIR/mnt/$1
    case $1 in
    plain) ;; # a directory of the file system that DIR is on
    single | compressed) make_btrfs "$1" 1 single dup ;;
    raid0) make_btrfs raid0 4 raid0 raid1 ;;
    raid1) make_btrfs raid1 4 raid1 raid1 ;;
    raid5) make_btrfs raid5 4 raid5 raid1 ;;
    encrypted) make_ext4 encrypted "$m" "$LAB_SIZE" -O encrypt ;;
    gocrypt) make_gocrypt "$m" ;;
    usb)
        make_disks usb 1
        mkfs.ntfs -F -Q -q -L USBDISK -p 0 -H 255 -S 63 "${DISKS[0]}"
        ntfs-3g -o noatime,big_writes,permissions "${DISKS[0]}" "$m"
        ;;
    usbexfat)
        make_disks usbexfat 1
        mkfs.exfat -L USBDISK "${DISKS[0]}"
        mount.exfat-fuse -o noatime "${DISKS[0]}" "$m"
        ;;
    small) make_ext4 small "$m" "$LAB_SMALL" ;;
    esac
    mkdir "$(data "$1")"
    case $1 in
    compressed) btrfs property set "$(data compressed)" compression zstd ;;
    encrypted) python3 "$LAB_HOME/fscrypt-directory" "$m" "$(data encrypted)" ;;
    esac
}

volumes_up() {
    local v d
    for v in $LAB_VOLUMES; do
        mkdir -p "$DIR/mnt/$v"
        # In the background, because a shell inside a condition would ignore errors.
        (set -e && make_volume "$v") >>"$DIR/log" 2>&1 &
        wait $! || die "volume $v cannot be made here ('lab check' says more)"
        d=$(data "$v")
        mkdir "$d/share" "$d/lun"
        truncate -s "$LAB_LUN" "$d/lun/lun"
    done
    d=$(data "$(first_volume)")
    mkdir -p "$d"/extra/{named,hidden,at,squash,open,outer/inner}
    chmod 1777 "$d/extra/open"
}

unmount() { # mount point: two seconds, then lazily
    local tries
    for tries in {1..40}; do
        umount "$1" 2>/dev/null && return 0
        sleep 0.05
    done
    echo "lab: $1 is still in use after $tries tries; detached lazily" >&2
    umount -l "$1"
}

fuse_pids() { ours ntfs-3g gocryptfs mount.exfat-fus; }

volumes_down() {
    local m device tries
    throttle_lift ""
    findmnt -rn -o TARGET | awk -v d="$DIR/mnt" '$0 == d || index($0, d "/") == 1' | tac |
        while read -r m; do unmount "$m"; done
    for tries in {1..40}; do
        [ -n "$(fuse_pids)" ] || break
        sleep 0.05
    done
    [ "$tries" -lt 40 ] || stop_all TERM fuse_pids
    loops_of "" | while read -r device _; do losetup -d "$device"; done
    for tries in {1..40}; do # a device goes when its last user is gone
        [ -n "$(loops_of "")" ] || return 0
        sleep 0.05
    done
    echo "lab: loop devices still in use: $(loops_of "" | tr '\n' ' ')" >&2
    return 1
}

volumes_cold() {
    local v device
    for v in $LAB_VOLUMES; do sync -f "$DIR/mnt/$v"; done
    find "$DIR/mnt" -type f -exec \
        sh -c 'for f; do dd if="$f" iflag=nocache count=0 status=none; done' sh {} +
    # FUSE file systems read the disk through the device's own page cache.
    loops_of usb | while read -r device _; do blockdev --flushbufs "$device"; done
}
