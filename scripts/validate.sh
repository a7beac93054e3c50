#!/usr/bin/env bash
# Asks one entry every probe of the profiles it subscribes to:
#   ./scripts/validate.sh <entry> [--profile P] [--host local|docker] [--seed N]
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

(($#)) || die 2 "name an entry: ./scripts/validate.sh axum (there are: $(ls "$ARENA_ROOT/frameworks" | xargs))"
arena=$("$ARENA_ROOT/scripts/build.sh")
prepare_host "$@"
need_entry_packages "$@"
exec "$arena" --root "$ARENA_ROOT" validate "$@"
