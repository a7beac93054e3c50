#!/bin/sh
# Fills the template for where and on how many CPUs it runs, and becomes nginx.
# One script for the container and for a machine without one.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tmp=${TMPDIR:-/tmp}
static=${STATIC_DIR:-/data/static}
cert=${TLS_CERT:-/certs/server.crt}
key=${TLS_KEY:-/certs/server.key}

# Lines that begin with #tls count where there is a certificate, those with
# #root where nginx would give the user away that may read the files.
tls='/^ *#tls /d'
[ -r "$cert" ] && [ -r "$key" ] && tls='s/^\( *\)#tls /\1/'
root='/^#root /d'
[ "$(id -u)" -eq 0 ] && root='s/^#root //'
modules=
for name in js brotli_static; do
  modules="${modules}load_module /usr/lib/nginx/modules/ngx_http_${name}_module.so; "
done

conf=$(mktemp "$tmp/nginx.XXXXXX")
sed -e "$tls" -e "$root" \
    -e "s|@MODULES@|$modules|" -e "s|@HERE@|$here|" \
    -e "s|@CPUS@|${ARENA_CPUS:-$(nproc)}|" -e "s|@TMP@|$tmp|" \
    -e "s|@PID@|$conf.pid|" -e "s|@STATIC@|${static%/}|" \
    -e "s|@CERT@|$cert|" -e "s|@KEY@|$key|" \
    "$here/nginx.conf.in" >"$conf"
# It is read once: nothing of it is left when nginx is killed.
exec 3<"$conf"
rm "$conf"
exec nginx -e stderr -p "$here/" -c /dev/fd/3
