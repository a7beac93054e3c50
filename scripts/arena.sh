#!/usr/bin/env bash
# Does everything: builds the tool and the entries, generates the data,
# validates each entry, fires its profiles, prints the ranking and writes
# site/dist/index.html. Arguments are those of `arena bench`:
#   ./scripts/arena.sh                        all entries, preset quick
#   ./scripts/arena.sh --host docker          the same in containers
#   ./scripts/arena.sh axum --profile json    one entry, one profile
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

arena=$("$ARENA_ROOT/scripts/build.sh")
prepare_host "$@"
need_entry_packages "$@"
exec "$arena" --root "$ARENA_ROOT" bench --site "$@"
