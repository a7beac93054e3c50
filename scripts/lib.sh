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

# need_tools: what every build here needs, or what to install.
need_tools() {
  local need=1.89 found
  have cargo || die 5 "cargo is missing: install Rust $need or later with rustup, then run this again"
  have cc || die 5 "a C compiler is missing: apt-get install gcc libc6-dev, then run this again"
  found=$(rustc --version | cut -d' ' -f2)
  [[ $(printf '%s\n' "$need" "$found" | sort -V | head -n1) == "$need" ]] ||
    die 5 "Rust $need or later is needed, found $found: rustup update stable, then run this again"
}

# need_packages COMMAND:PACKAGE...: installs the packages whose command is
# missing; fails, and says what to install, where that cannot be done.
need_packages() {
  local pair missing=() install
  for pair in "$@"; do
    have "${pair%%:*}" || [[ $pair == /* && -e ${pair%%:*} ]] || missing+=("${pair#*:}")
  done
  ((${#missing[@]})) || return 0
  if ((EUID == 0)) && have apt-get; then
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    install=(apt-get install -qq -y --no-install-recommends "${missing[@]}")
    "${install[@]}" >"$ARENA_CACHE/apt.log" 2>&1 && return
    { apt-get update -qq || true; } >&2
    "${install[@]}" >"$ARENA_CACHE/apt.log" 2>&1 && return
  fi
  say "missing: apt-get install ${missing[*]}"
  return 1
}

# entry_packages [ARG...]: the COMMAND:PACKAGE pairs that entries on host
# `local` need: the entries named among the arguments, or all.
entry_packages() {
  local arg list entries=() metas=()
  for arg in "$@"; do
    [[ $arg == [a-zA-Z0-9]* && -f $ARENA_ROOT/frameworks/$arg/meta.json ]] && entries+=("$arg")
  done
  ((${#entries[@]})) || entries=('*')
  for arg in "${entries[@]}"; do
    # The star is the only pattern among names, so it alone is expanded.
    for list in "$ARENA_ROOT/frameworks/"$arg/{meta.json,compose.*.yml}; do
      [[ -f $list ]] && metas+=("$list")
    done
  done
  # Lists on the line of their key, or an item a line below it.
  awk '/packages"?:/ { on = 1; print; next } on && /^ *- / { print; next } { on = 0 }' "${metas[@]}" |
    { grep -oE '"/?[A-Za-z0-9][A-Za-z0-9._+/-]*:[a-z0-9][a-z0-9.+-]*"' || true; } |
    tr -d '"' | sort -u
}

# on_local ARGS...: will a run with these arguments use host `local`?
on_local() {
  case " $* " in
  *" --help "* | *" --list "* | *" --target"*) return 1 ;;
  *" --host local "* | *" --host=local "*) return 0 ;;
  *" --host"*) return 1 ;;
  esac
  ! { have docker && timeout 10 docker version >/dev/null 2>&1; }
}

# need_entry_packages ARGS...: installs what the entries named among the
# arguments (all, when none is) need on host `local`. Not fatal: an entry
# whose programs are missing says so itself.
need_entry_packages() {
  on_local "$@" || return 0
  local pairs pair
  mapfile -t pairs < <(entry_packages "$@")
  # One at a time: a package that nobody has keeps no other entry from its own.
  for pair in "${pairs[@]}"; do need_packages "$pair" || true; done
  need_sidecars || true
}

# need_sidecars: the database and the cache that stand beside entries.
need_sidecars() {
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ||
    need_packages initdb:postgresql || return
  need_packages redis-server:redis-server
}

# prepare_host ARGS...: makes what containers need, when a run with these
# arguments will use them: asked for by name, or by default where an engine
# answers.
prepare_host() {
  case " $* " in
  *" --host local "* | *" --host=local "* | *" --help "* | *" --list "*) return ;;
  *" --host docker "* | *" --host=docker "*) ;;
  *) have docker && timeout 10 docker version >/dev/null 2>&1 || return 0 ;;
  esac
  "$ARENA_ROOT/scripts/setup-docker.sh" >/dev/null
  need_sidecar_images
}

# need_sidecar_images: those of what stands beside entries in containers. Not
# fatal: a profile that needs one says so itself.
need_sidecar_images() {
  "$ARENA_ROOT/scripts/docker-sidecars.sh" postgres redis authsvc >/dev/null ||
    say "going on without: profiles that need them will say so"
}
