# shellcheck shell=bash
# What a lab tells its users: shell variables, the plan, the credentials.
#
# SPDX-License-Identifier: GPL-3.0-or-later

serves() { [[ " $LAB_SERVERS " == *" $1 "* ]]; }

smb_url() { echo "smb://$SMB_USER@$ADDR:$SMB_PORT/$1"; }
nfs_url() {
    if [ "$LAB_NFS_PROTOCOLS" = 4 ]; then
        echo "nfs://$ADDR:$NFS_PORT/$1?version=4"
    else
        echo "nfs://$ADDR:$NFS_PORT/$1?mountport=$MNT_PORT"
    fi
}
http_url() { echo "http://$SMB_USER@$ADDR:$HTTP_PORT/$1"; }
iscsi_url() { echo "iscsi://$ADDR:$ISCSI_PORT/$IQN:$1/${2:-1}"; }

# The volumes of the reference procedure that this lab has; a lab without any: all it has.
plan_volumes() {
    local v chosen=''
    for v in $LAB_VOLUMES; do [ "$(volume_kind "$v")" = other ] || chosen+="$v "; done
    echo "${chosen:-$LAB_VOLUMES}"
}

protocols() { # http only when asked for by name
    local name
    for name in smb iscsi nfs; do if serves "$name"; then printf '%s ' "$name"; fi; done
    echo local
}

urls_plan() {
    local v destroy=''
    cat <<E
; Plan of the lab in $DIR; credentials: $DIR/credentials
[nas]
name = lab
vendor = nasmark
model = tests/lab
firmware = 1.0
E
    for v in $(plan_volumes); do
        printf '[volume %s]\nkind = %s\ninterface = loop device\n' "$v" "$(volume_kind "$v")"
        serves smb && echo "smb = $(smb_url "$v")"
        serves nfs && echo "nfs = $(nfs_url "$v")"
        if serves iscsi && [ "$(volume_kind "$v")" != usb ]; then
            echo "iscsi = $(iscsi_url "$v")"
            destroy+=" $IQN:$v/1"
        fi
        serves http && echo "http = $(http_url "$v")"
        echo "local = $(share "$v")"
    done
    cat <<E
[run]
workloads = copy:1x64MB copy:50x2MB copy:500x2KB
protocols = $(protocols)
trials = 3
pause = 0s
E
    [ -z "$destroy" ] || printf '[iscsi]\nallow_destroy =%s\n' "$destroy"
}

urls_credentials() {
    cat <<E
[$ADDR]
user = $SMB_USER
password = $SMB_PASS
[$ADDR/$IQN:chap]
chap_user = $CHAP_USER
chap_secret = $CHAP_PASS
[$ADDR/$IQN:mutual]
chap_user = $CHAP_USER
chap_secret = $CHAP_PASS
chap_target_user = $CHAP_TARGET_USER
chap_target_secret = $CHAP_TARGET_PASS
E
}

urls_odd_credentials() {
    printf '[%s]\nuser = %s\npassword = %s\n' "$ADDR" "$SMB_ODD_USER" "$SMB_ODD_PASS"
}

urls_env() {
    local v
    put() { printf "%s='%s'\n" "$1" "$2"; }
    put LAB_DIR "$DIR"
    put LAB_PLAN "$DIR/plan.ini"
    put LAB_CREDENTIALS "$DIR/credentials"
    put LAB_CREDENTIALS_ODD "$DIR/credentials.odd"
    put LAB_ADDR "$ADDR"
    put LAB_VOLUMES "$LAB_VOLUMES"
    put LAB_SERVERS "$LAB_SERVERS"
    for v in $LAB_VOLUMES; do put "LOCAL_DIR_$v" "$(share "$v")"; done
    put LOCAL_DIR_squash "$(data "$(first_volume)")/extra/squash"
    put LOCAL_DIR_squash_open "$(data "$(first_volume)")/extra/open"
    if serves smb; then urls_env_smb; fi
    if serves nfs; then urls_env_nfs; fi
    if serves iscsi; then urls_env_iscsi; fi
    if serves http; then urls_env_http; fi
    urls_env_contract "$(first_volume)"
    return 0
}

# Two spellings: NAME_URL_V with the password and arguments of the client libraries' own URLs
# (smbclient, nfs-cp, iscsi-ls), NAME_TARGET_V as nasmark takes them.
urls_env_smb() {
    local v with="smb://$SMB_USER:$SMB_PASS@$ADDR:$SMB_PORT"
    put SMB_PORT "$SMB_PORT"
    put SMB_USER "$SMB_USER"
    put SMB_PASS "$SMB_PASS"
    put SMB_ODD_USER "$SMB_ODD_USER"
    put SMB_ODD_PASS "$SMB_ODD_PASS"
    for v in $LAB_VOLUMES sealed readonly; do
        put "SMB_URL_$v" "$with/$v"
        put "SMB_TARGET_$v" "$(smb_url "$v")"
    done
    put SMB_URL_guest "smb://$ADDR:$SMB_PORT/guest"
    put SMB_TARGET_guest "smb://$ADDR:$SMB_PORT/guest"
    put SMB_TARGET_odd "smb://$SMB_ODD_USER@$ADDR:$SMB_PORT/$(first_volume)"
    put SMB_TARGET_named "$(smb_url my%20share%20%C3%A9)"
    # shellcheck disable=SC2016 # the share's name
    put SMB_TARGET_hidden "$(smb_url 'hid$')"
    put SMB_TARGET_at "$(smb_url a@b)"
}

urls_env_nfs() {
    local v q="nfsport=$NFS_PORT&mountport=$MNT_PORT&version=3"
    put NFS_PORT "$NFS_PORT"
    put MNT_PORT "$MNT_PORT"
    put NFS3_ARGS "$q"
    put NFS4_ARGS "nfsport=$NFS_PORT&version=4"
    for v in $LAB_VOLUMES readonly squash squash-open; do
        put "NFS_URL_${v/-/_}" "nfs://$ADDR/$v?$q"
        put "NFS4_URL_${v/-/_}" "nfs://$ADDR/$v?nfsport=$NFS_PORT&version=4"
        put "NFS_TARGET_${v/-/_}" "$(nfs_url "$v")"
        put "NFS4_TARGET_${v/-/_}" "nfs://$ADDR:$NFS_PORT/$v?version=4"
    done
}

urls_env_http() {
    local v
    put HTTP_PORT "$HTTP_PORT"
    for v in $LAB_VOLUMES readonly; do put "HTTP_TARGET_$v" "$(http_url "$v")"; done
}

urls_env_iscsi() {
    local v
    put ISCSI_PORT "$ISCSI_PORT"
    put ISCSI_IQN "$IQN"
    put CHAP_USER "$CHAP_USER"
    put CHAP_PASS "$CHAP_PASS"
    put CHAP_TARGET_USER "$CHAP_TARGET_USER"
    put CHAP_TARGET_PASS "$CHAP_TARGET_PASS"
    for v in $LAB_VOLUMES aio scratch b4096 tiny readonly chap mutual; do
        put "ISCSI_URL_$v" "$(iscsi_url "$v")"
        put "ISCSI_TARGET_$v" "$(iscsi_url "$v")"
    done
    put ISCSI_TARGET_lun5 "$(iscsi_url lun5 5)"
    put ISCSI_URL_chap "iscsi://$CHAP_USER%$CHAP_PASS@$ADDR:$ISCSI_PORT/$IQN:chap/1"
    put ISCSI_URL_nochap "$(iscsi_url chap)"
}

# The targets of the contract suite (tests/contract), on the first volume.
urls_env_contract() {
    put NASMARK_TEST_PASSWORD "$SMB_PASS"
    if serves http; then put NASMARK_TEST_HTTP "$(http_url "$1")"; fi
    if serves smb; then put NASMARK_TEST_SMB "$(smb_url "$1")"; fi
    if serves nfs; then
        [ "$LAB_NFS_PROTOCOLS" = 4 ] || put NASMARK_TEST_NFS3 "$(nfs_url "$1")"
        put NASMARK_TEST_NFS4 "nfs://$ADDR:$NFS_PORT/$1?version=4"
    fi
    if serves iscsi; then
        put NASMARK_TEST_ISCSI "$(iscsi_url aio)"
        put NASMARK_TEST_LUNFS "$(iscsi_url scratch)"
    fi
}
