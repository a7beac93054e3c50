#!/usr/bin/env bash
# Chooses the base images that entries are built from and prints them as build
# arguments (NAME=VALUE). The public ones where they can be pulled; local ones
# where they cannot, or where this machine has extra CAs that a build needs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

shopt -s nullglob
out=$ARENA_CACHE/docker-build-args
no_pull=$ARENA_CACHE/docker-pull-failed
extra_cas=(/usr/local/share/ca-certificates/*.crt)
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
rust=$(rustc -V 2>/dev/null | cut -d' ' -f2) || rust=1
public_base=debian:bookworm-slim
public_rust=rust:$rust-slim-bookworm

present() {
  docker image inspect "$1" >/dev/null 2>&1
}

pull() {
  present "$2" && return
  say "pulling $2"
  timeout "$1" docker pull -q "$2" >&2
}

# A registry that did not answer is asked again a day later, or at once when
# the note is deleted.
if ((${#extra_cas[@]} == 0)) && [[ -z $(find "$no_pull" -mtime -1 2>/dev/null) ]]; then
  if pull 60 "$public_base" && pull 900 "$public_rust"; then
    printf 'BASE_IMAGE=%s\nRUST_IMAGE=%s\n' "$public_base" "$public_rust" | tee "$out"
    exit
  fi
  say "no registry answers; making local base images (noted in $no_pull)"
  touch "$no_pull"
fi

base=arena-base:$suite
builder=arena-rust:$rust
"$ARENA_ROOT/docker/base/build.sh" "$base"
"$ARENA_ROOT/docker/rust/build.sh" "$base" "$builder"
printf 'BASE_IMAGE=%s\nRUST_IMAGE=%s\n' "$base" "$builder" | tee "$out"
