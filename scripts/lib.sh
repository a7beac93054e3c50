# shellcheck shell=bash
# Shared by the scripts here: `source "$(dirname "$0")/lib.sh"`.
# Sets ARENA_ROOT (this repository), ARENA_CACHE (what may be deleted at any
# time) and, when unset, CARGO_TARGET_DIR; gives `say`, `die` and `have`.
set -euo pipefail

ARENA_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${ARENA_CACHE:=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/arena}"
: "${CARGO_TARGET_DIR:=$ARENA_CACHE/target}"
export ARENA_ROOT ARENA_CACHE CARGO_TARGET_DIR
mkdir -p "$ARENA_CACHE"

# say MESSAGE...: one line of progress. stdout is kept for results.
say() {
  printf '[arena] %s\n' "$*" >&2
}

# die EXIT_CODE MESSAGE...: 1 our fault, 2 usage, 5 the machine lacks something.
die() {
  local code=$1
  shift
  printf '[arena] error: %s\n' "$*" >&2
  exit "$code"
}

# have COMMAND: is it on the path?
have() {
  command -v "$1" >/dev/null 2>&1
}
