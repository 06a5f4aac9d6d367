#!/bin/sh
# run-url.sh VARIABLE CONTRACT [options]: runs the contract suite on the URL in the environment
# variable. Without it: skipped (77), or failed when NASMARK_REQUIRE_SERVERS=1.
# SPDX-License-Identifier: GPL-3.0-or-later
variable=$1 contract=$2
shift 2
eval "url=\${$variable:-}"
if [ -z "$url" ]; then
	echo "$variable is not set: start the servers first (tests/contract/README.md)" >&2
	[ "${NASMARK_REQUIRE_SERVERS:-}" = 1 ] && exit 1
	exit 77
fi
exec "$contract" "$url" "$@"
