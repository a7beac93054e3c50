#!/bin/sh
# Fills the template for where and on how many CPUs it runs, and becomes nginx.
# One script for the container and for a machine without one. SITE says what is
# passed on: gateway or production.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tmp=${TMPDIR:-/tmp}
static=${STATIC_DIR:-/data/static}
# As root nginx would change to a user who may not read the files.
root='/^#root /d'
[ "$(id -u)" -eq 0 ] && root='s/^#root //'

conf=$(mktemp "$tmp/edge.XXXXXX")
sed -e "$root" -e "s|@HERE@|$here|" -e "s|@SITE@|$SITE|" \
    -e "s|@CPUS@|${ARENA_CPUS:-$(nproc)}|" -e "s|@TMP@|$tmp|" \
    -e "s|@PID@|$conf.pid|" -e "s|@STATIC@|${static%/}|" \
    -e "s|@CERT@|${TLS_CERT:-/certs/server.crt}|" \
    -e "s|@KEY@|${TLS_KEY:-/certs/server.key}|" \
    "$here/nginx.conf.in" >"$conf"
# It is read once: nothing of it is left when nginx is killed.
exec 3<"$conf"
rm "$conf"
exec nginx -e stderr -p "$here/" -c /dev/fd/3
