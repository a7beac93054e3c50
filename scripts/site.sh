#!/usr/bin/env bash
# Builds the leaderboard from the newest run, or from the runs named:
#   ./scripts/site.sh [run...]
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

arena=$("$ARENA_ROOT/scripts/build.sh")
exec "$arena" --root "$ARENA_ROOT" site build "$@"
