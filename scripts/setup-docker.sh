#!/usr/bin/env bash
# Makes a container engine answer and prints the build arguments that name the
# base images, one NAME=VALUE a line on stdout. Quick when already done.
# Exit code 5 when this machine cannot have one, with the reason.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

answers() {
  have docker && timeout 10 docker version --format '{{.Server.Version}}' 2>"$ARENA_CACHE/docker.err"
}

go_on() {
  say "container engine $1 answers"
  exec "$ARENA_ROOT/scripts/docker-bases.sh"
}

if version=$(answers); then go_on "$version"; fi
if grep -qi 'permission denied' "$ARENA_CACHE/docker.err" 2>/dev/null; then
  die 5 "the engine's socket refuses this user: add it to the docker group (usermod -aG docker \$USER), or use --host local"
fi
if [[ -n ${DOCKER_HOST:-} && $DOCKER_HOST != unix:///var/run/docker.sock ]]; then
  die 5 "no engine answers at DOCKER_HOST=$DOCKER_HOST: start it or unset the variable, or use --host local"
fi
if ((EUID != 0)); then
  die 5 "no container engine answers and this is not root: install docker.io as root and start it, or use --host local"
fi
if ! have dockerd || ! have docker; then
  have apt-get || die 5 "no container engine and no apt-get: install Docker Engine 20.10 or later, or use --host local"
  "$ARENA_ROOT/docker/engine/install.sh"
fi
# The package may have started it.
answers >/dev/null || "$ARENA_ROOT/docker/engine/start.sh"
for _ in $(seq 100); do
  if version=$(answers); then go_on "$version"; fi
  sleep 0.3
done
tail -n 20 "$ARENA_CACHE/dockerd.log" >&2 || true
die 5 "dockerd did not answer within 30 s (log: $ARENA_CACHE/dockerd.log); use --host local"
