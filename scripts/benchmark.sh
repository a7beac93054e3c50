#!/usr/bin/env bash
# Measures one entry, in one profile or in all it subscribes to:
#   ./scripts/benchmark.sh <entry> [profile] [--save]
# The run is kept in results/ either way; --save also builds the site from it.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

(($#)) || die 2 "name an entry: ./scripts/benchmark.sh axum [profile] [--save]"
arena=$("$ARENA_ROOT/scripts/build.sh")
args=("$1")
shift
for arg in "$@"; do
  case $arg in
  --save) args+=(--site) ;;
  -*) die 2 "unknown flag $arg; there is only --save (more: arena bench --help)" ;;
  *) args+=(--profile "$arg") ;;
  esac
done
prepare_host
need_entry_packages "${args[@]}"
exec "$arena" --root "$ARENA_ROOT" bench "${args[@]}"
