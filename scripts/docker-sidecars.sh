#!/usr/bin/env bash
# docker-sidecars.sh [NAME...]: builds the images of what runs beside entries:
# postgres, redis, authsvc, loadgen; all of them when none is named. Prints their
# names, one a line. Quick when they are current.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

args=$("$ARENA_ROOT/scripts/setup-docker.sh")
cd "$ARENA_ROOT"

# The first client that has BuildKit, which cache mounts need: an older one has
# it built in, a newer one needs a plugin.
client() {
  local docker version
  while read -r docker; do
    version=$("$docker" --version | sed -n 's/^Docker version \([0-9]*\)\..*/\1/p')
    if ((${version:-99} < 23)) || "$docker" buildx version >/dev/null 2>&1; then
      printf '%s\n' "$docker"
      return
    fi
  done < <(type -aP docker)
  die 5 "no docker client can use BuildKit: install docker-buildx"
}

# Files whose bytes make the image of $1, besides its base.
sources() {
  case $1 in
  authsvc) printf '%s\n' Cargo.toml Cargo.lock && find docker/authsvc -type f ;;
  loadgen)
    printf '%s\n' Cargo.toml Cargo.lock && find docker/loadgen profiles harness/loadgen \
      -type f -not -path '*/target/*' -not -path '*/fuzz/*'
    ;;
  *) find "docker/$1" -type f ;;
  esac | LC_ALL=C sort
}

sidecar() {
  local name=$1 image=arena-$1 line made_from context build log
  case $name in
  authsvc | loadgen) line=$(grep '^RUST_IMAGE=' <<<"$args") context=. ;;
  postgres | redis) line=$(grep '^BASE_IMAGE=' <<<"$args") context=docker/$name ;;
  *) die 2 "no sidecar $name: expected postgres, redis, authsvc or loadgen" ;;
  esac
  made_from=$( (docker image inspect -f '{{.Id}}' "${line#*=}" && sources "$name" | xargs sha256sum) | sha256sum | cut -c1-16)
  if [[ $(docker image inspect -f '{{index .Config.Labels "arena.made-from"}}' "$image" 2>/dev/null) != "$made_from" ]]; then
    say "making $image"
    build=(--build-arg "$line" --label "arena.made-from=$made_from" --network host)
    # Proxies of this machine apply to the build; the names are predefined ones.
    for name in http_proxy https_proxy no_proxy; do
      if [[ -n ${!name:-} ]]; then build+=(--build-arg "$name"); fi
    done
    log=$ARENA_CACHE/$image.log
    DOCKER_BUILDKIT=1 "$(client)" build --progress=plain -t "$image" -f "docker/$1/Dockerfile" \
      "${build[@]}" "$context" >"$log" 2>&1 || {
      tail -n 10 "$log" >&2
      die 1 "$image does not build (log: $log)"
    }
  fi
  printf '%s\n' "$image"
}

(($#)) || set -- postgres redis authsvc loadgen
for name in "$@"; do sidecar "$name"; done
