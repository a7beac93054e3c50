#!/bin/sh
# Becomes Caddy, in the container and on a machine without one alike; it keeps
# to the CPUs of its affinity mask by itself. SITE says what is passed on:
# gateway or production.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
export STATIC_DIR="${STATIC_DIR:-/data/static}"
export TLS_CERT="${TLS_CERT:-/certs/server.crt}"
export TLS_KEY="${TLS_KEY:-/certs/server.key}"
export TMPDIR="${TMPDIR:-/tmp}"
exec caddy run --adapter caddyfile --config "$here/$SITE.caddy"
