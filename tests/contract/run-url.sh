#!/bin/sh
# run-url.sh VARIABLE SERVER CONTRACT [options]: runs the contract suite on the URL in the
# environment variable. Without it: skipped (77), or failed when NASMARK_REQUIRE_SERVERS=1. With the
# lab in $NASMARK_LAB its SERVER is stopped for a moment to see operations time out.
# SPDX-License-Identifier: GPL-3.0-or-later
variable=$1 server=$2 contract=$3
shift 3
lab=$(dirname "$0")/../lab/lab
eval "url=\${$variable:-}"
if [ -z "$url" ]; then
	echo "$variable is not set: start the servers first (tests/contract/README.md)" >&2
	[ "${NASMARK_REQUIRE_SERVERS:-}" = 1 ] && exit 1
	exit 77
fi
[ -n "${NASMARK_LAB:-}" ] || exec "$contract" "$url" "$@"
trap '"$lab" resume "$NASMARK_LAB" "$server"' EXIT
"$contract" "$url" "$@" --timeout 6 --freeze "'$lab' pause '$NASMARK_LAB' $server" \
	--thaw "'$lab' resume '$NASMARK_LAB' $server"
