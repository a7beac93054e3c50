#!/usr/bin/env bash
# start.sh: starts Docker Engine, by systemd where there is one. Needs root.
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

if [[ -d /run/systemd/system ]]; then
  say "starting docker.service"
  systemctl start docker || die 5 "docker.service does not start: see journalctl -u docker"
  exit
fi
if ! mountpoint -q /sys/fs/cgroup && have cgroupfs-mount; then
  say "mounting the cgroup tree"
  cgroupfs-mount || say "cgroupfs-mount failed; going on"
fi
# A killed engine leaves pid files behind, and a number may be another's by now
# or a zombie that nobody reaps: the new engine would wait for it in vain.
for file in /var/run/docker.pid /var/run/docker/containerd/containerd.pid; do
  [[ -f $file ]] || continue
  if ! grep -qsE '^[0-9]+ \((dockerd|containerd)\) [^ZX]' "/proc/$(<"$file")/stat"; then
    say "removing the stale $file"
    rm -f "$file"
  fi
done

log=$ARENA_CACHE/dockerd.log
say "starting dockerd (log: $log)"
# The daemon must not inherit what the caller holds open: a lock or a pipe
# would then stay taken for as long as the engine lives.
(
  for fd in /proc/"$BASHPID"/fd/*; do
    fd=${fd##*/}
    if ((fd > 2)); then eval "exec $fd>&-"; fi
  done
  ulimit -n "$(ulimit -Hn)"
  exec setsid dockerd </dev/null >"$log" 2>&1
) &
