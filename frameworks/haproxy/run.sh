#!/bin/sh
# Becomes HAProxy, in the container and on a machine without one alike.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
export ARENA_CPUS="${ARENA_CPUS:-$(nproc)}"
exec haproxy -db -q -f "$here/haproxy.cfg"
