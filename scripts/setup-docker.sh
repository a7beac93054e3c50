#!/usr/bin/env bash
# Makes a container engine answer and prints the build arguments that name the
# base images, one NAME=VALUE a line on stdout. Quick when already done.
# Exit code 5 when this machine cannot have one, with the reason.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

log=$ARENA_CACHE/dockerd.log

answers() {
  have docker && timeout 10 docker version --format '{{.Server.Version}}' 2>"$ARENA_CACHE/docker.err"
}

install() {
  local list=(docker.io ca-certificates) extra
  for extra in cgroupfs-mount docker-cli; do
    if apt-cache show "$extra" >/dev/null 2>&1; then list+=("$extra"); fi
  done
  say "installing ${list[*]}"
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${list[@]}" \
    >"$ARENA_CACHE/apt.log" 2>&1 || {
    tail -n 5 "$ARENA_CACHE/apt.log" >&2
    return 1
  }
}

# The daemon must not inherit what the caller holds open: a lock or a pipe
# would then stay taken for as long as the engine lives.
start_by_hand() (
  for fd in /proc/"$BASHPID"/fd/*; do
    fd=${fd##*/}
    if ((fd > 2)); then eval "exec $fd>&-"; fi
  done
  ulimit -n "$(ulimit -Hn)"
  exec setsid dockerd </dev/null >"$log" 2>&1
)

if version=$(answers); then
  say "container engine $version answers"
  exec "$ARENA_ROOT/scripts/docker-bases.sh"
fi
if grep -qi 'permission denied' "$ARENA_CACHE/docker.err" 2>/dev/null; then
  die 5 "the engine's socket refuses this user: add it to the docker group (usermod -aG docker \$USER), or use --host local"
fi
if [[ -n ${DOCKER_HOST:-} && $DOCKER_HOST != unix:///var/run/docker.sock ]]; then
  die 5 "no engine answers at DOCKER_HOST=$DOCKER_HOST: start it or unset the variable, or use --host local"
fi
if ((EUID != 0)); then
  die 5 "no container engine answers and this is not root: install docker.io as root and start it, or use --host local"
fi
if ! have dockerd; then
  have apt-get || die 5 "no container engine and no apt-get: install Docker Engine 20.10 or later, or use --host local"
  # The lists may be missing on a fresh machine; a third party's broken list is no reason to stop.
  install || { apt-get update -qq >&2 || true; install; } || die 5 "apt-get cannot install docker.io (log: $ARENA_CACHE/apt.log); use --host local"
fi
if ! mountpoint -q /sys/fs/cgroup && have cgroupfs-mount; then
  say "mounting the cgroup tree"
  cgroupfs-mount || say "cgroupfs-mount failed; going on"
fi
if ! answers >/dev/null; then
  if [[ -d /run/systemd/system ]]; then
    say "starting docker.service"
    systemctl start docker || die 5 "docker.service does not start: see journalctl -u docker"
  else
    pid_file=/var/run/docker.pid
    if [[ -f $pid_file ]] && ! grep -qs dockerd "/proc/$(<"$pid_file")/comm"; then
      say "removing the stale $pid_file"
      rm -f "$pid_file"
    fi
    say "starting dockerd (log: $log)"
    start_by_hand &
  fi
fi
for _ in $(seq 100); do
  if version=$(answers); then
    say "container engine $version answers"
    exec "$ARENA_ROOT/scripts/docker-bases.sh"
  fi
  sleep 0.3
done
tail -n 20 "$log" >&2 || true
die 5 "dockerd did not answer within 30 s (log: $log); use --host local"
