#!/bin/sh
# Fills the template for where and on how many CPUs it runs, and becomes h2o.
# One script for the container and for a machine without one.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
static=${STATIC_DIR:-/data/static}
# As root h2o would change to a user who may not read the files.
root='/^#root /d'
[ "$(id -u)" -eq 0 ] && root='s/^#root //'

conf=$(mktemp "${TMPDIR:-/tmp}/h2o.XXXXXX")
sed -e "$root" -e "s|@CPUS@|${ARENA_CPUS:-$(nproc)}|" \
    -e "s|@STATIC@|${static%/}|" "$here/h2o.conf.in" >"$conf"
# It is read once: nothing of it is left when h2o is killed.
exec 3<"$conf"
rm "$conf"
exec h2o -m worker -c /dev/fd/3
