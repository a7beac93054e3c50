#!/bin/sh
# Becomes Caddy, in the container and on a machine without one alike. The
# Caddyfile reads the variables; what it leaves to the shell is whether there
# is a certificate.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
export STATIC_DIR="${STATIC_DIR:-/data/static}"
export TLS_CERT="${TLS_CERT:-/certs/server.crt}"
export TLS_KEY="${TLS_KEY:-/certs/server.key}"
export TMPDIR="${TMPDIR:-/tmp}"
tls=none
[ -r "$TLS_CERT" ] && [ -r "$TLS_KEY" ] && tls=tls
export ARENA_TLS="$here/sites-$tls.caddy"
exec caddy run --adapter caddyfile --config "$here/Caddyfile"
