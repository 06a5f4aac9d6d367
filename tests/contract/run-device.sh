#!/bin/sh
# run-device.sh CONTRACT DIRECTORY: the contract suite over devices of this machine: a blank image
# file, a loop device, and one with 4096-byte sectors. Loop devices need root; without, only the
# file.
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
contract=$1 image=$2/device.$$
loop=
clean() {
	[ -z "$loop" ] || losetup -d "$loop"
	rm -f "$image"
}
trap clean EXIT
trap 'exit 1' INT TERM
truncate -s 96M "$image"
"$contract" "local:$image"
if ! loop=$(losetup -f --show "$image" 2>/dev/null); then
	loop=
	echo "no loop devices (root?): only the image file was checked" >&2
	[ "${NASMARK_REQUIRE_SERVERS:-}" = 1 ] && exit 1
	exit 77
fi
# What the first run left in the middle is not blank: it must be named.
"$contract" "local:$loop" --set "local.allow_destroy=$loop"
losetup -d "$loop"
loop=
truncate -s 0 "$image"
truncate -s 96M "$image"
loop=$(losetup -f --show -b 4096 "$image")
"$contract" "local:$loop"
