#!/bin/sh
# run-image.sh SIZE CONTRACT [options]: runs the contract suite on an empty image file of that size,
# then lets e2fsck judge what is on it.
# SPDX-License-Identifier: GPL-3.0-or-later
size=$1 contract=$2
shift 2
image=$(mktemp --tmpdir nasmark-image.XXXXXX) || exit 1
trap 'rm -f "$image"' EXIT
truncate -s "$size" "$image" && "$contract" "local:$image" "$@" || exit 1
PATH=$PATH:/usr/sbin:/sbin
command -v e2fsck >/dev/null || {
	echo "e2fsck is not installed (Debian package e2fsprogs)" >&2
	[ "${NASMARK_REQUIRE_SERVERS:-}" = 1 ] && exit 1
	exit 77
}
e2fsck -fn "$image"
