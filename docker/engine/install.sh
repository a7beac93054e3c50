#!/usr/bin/env bash
# install.sh: Docker Engine from the distribution's own packages. Needs root.
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

log=$ARENA_CACHE/apt.log
# cgroupfs-mount makes the cgroup tree where nothing else does; the client is a
# package of its own on newer releases.
names() {
  local name
  printf 'docker.io\nca-certificates\n'
  for name in cgroupfs-mount docker-cli; do
    if apt-cache show "$name" >/dev/null 2>&1; then printf '%s\n' "$name"; fi
  done
}
try() {
  local list
  mapfile -t list < <(names)
  say "installing ${list[*]}"
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${list[@]}" >"$log" 2>&1
}

# A fresh machine has no package lists, and one that a third party broke is no
# reason to stop.
try || { apt-get update -qq >&2 || true; try; } || {
  tail -n 5 "$log" >&2
  die 5 "apt-get cannot install docker.io (log: $log); use --host local"
}
