# shellcheck shell=bash
# lighttpd of a lab: WebDAV for the user bench, one directory per volume.
#
# It runs as root, so that it reaches DIR wherever that lies and writes what smbd and ganesha wrote.
#
# SPDX-License-Identifier: GPL-3.0-or-later

http_pids() { ours lighttpd; }

http_configuration() {
    local d=$DIR/http v
    cat <<E
server.modules = ("mod_alias", "mod_auth", "mod_authn_file", "mod_webdav")
server.bind = "$ADDR"
server.port = $HTTP_PORT
server.document-root = "$d/root"
server.upload-dirs = ("$d/upload")
server.errorlog = "$d/log"
server.pid-file = "$d/pid"
server.max-keep-alive-requests = 1000000
# lighttpd 1.4 answers OPTIONS and LOCK by itself; a lock database is not needed.
webdav.activate = "enable"
auth.backend = "plain"
auth.backend.plain.userfile = "$d/users"
auth.require = ("" => ("method" => "basic", "realm" => "lab", "require" => "valid-user"))
E
    printf 'alias.url = ('
    for v in $LAB_VOLUMES; do printf '"/%s" => "%s", ' "$v" "$(share "$v")"; done
    printf ')\n$HTTP["url"] =~ "^/readonly" { webdav.is-readonly = "enable" }\n'
    printf 'alias.url += ("/readonly" => "%s")\n' "$(share "$(first_volume)")"
}

http_start() {
    local d=$DIR/http
    mkdir -p "$d"/{root,upload}
    http_configuration >"$d/lighttpd.conf"
    (umask 077 && echo "$SMB_USER:$SMB_PASS" >"$d/users")
    in_network lighttpd -f "$d/lighttpd.conf" >>"$DIR/log" 2>&1
    wait_port "$HTTP_PORT" http
}

http_stop() { stop_all "$1" http_pids; } # TERM or KILL
