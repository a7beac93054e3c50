#!/usr/bin/env bash
# Measures loadgen against its peers (wrk, h2load, oha), alternately, on the
# same server and CPUs. Arguments are those of the bench:
#   ./scripts/peers.sh                  all workloads
#   ./scripts/peers.sh h1 --pairs 3     some, shorter
#   ./scripts/peers.sh --help
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
need_packages wrk:wrk h2load:nghttp2-client ||
  say "the rows of what is missing are skipped"

# Built once and kept; its version is the one the goals were set against.
oha=1.16.0
if ! have oha && [[ ! -x $ARENA_CACHE/peers/bin/oha ]]; then
  say "building oha $oha, once; this takes some minutes"
  cargo install --quiet --locked --version "$oha" --features http3 \
    --root "$ARENA_CACHE/peers" oha ||
    say "oha cannot be built: its rows are skipped"
fi

cd "$ARENA_ROOT"
exec cargo bench --quiet --locked -p loadgen --bench peers -- "$@"
