#!/usr/bin/env bash
# build.sh BASE IMAGE: this machine's Rust toolchain, without documentation and
# tools that no build needs, on top of BASE. Nothing is done when it is current.
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

base=${1:?usage: build.sh BASE IMAGE}
image=${2:?usage: build.sh BASE IMAGE}
here=$ARENA_ROOT/docker/rust
have rustc || die 5 "$image is made from this machine's Rust toolchain, and there is no rustc: install Rust first"
made_from=$( (docker image inspect -f '{{.Id}}' "$base" && rustc -vV && cat "$here/Dockerfile") | sha256sum | cut -c1-16)
if [[ $(docker image inspect -f '{{index .Config.Labels "arena.made-from"}}' "$image" 2>/dev/null) == "$made_from" ]]; then
  say "$image is there"
  exit
fi

say "making $image (about half a minute)"
target=$(rustc -vV | sed -n 's/^host: //p')
sysroot=$(rustc --print sysroot)
[[ -x $sysroot/bin/cargo && $sysroot != /usr ]] ||
  die 5 "$image needs a toolchain in a folder of its own, as rustup makes it; found $sysroot"
context=$(mktemp -d "$ARENA_CACHE/rust-context.XXXXXX")
trap 'rm -rf "$context"' EXIT
mkdir -p "$context/toolchain/bin" "$context/toolchain/lib/rustlib"
# Hard links where the file system allows it: the toolchain is about 700 MB.
copy() {
  cp -al "$@" 2>/dev/null || cp -a "$@"
}
copy "$sysroot"/bin/{cargo,rustc} "$context/toolchain/bin/"
copy "$sysroot"/lib/*.so* "$context/toolchain/lib/"
copy "$sysroot/lib/rustlib/$target" "$context/toolchain/lib/rustlib/"
cp "$here/Dockerfile" "$context/"

# Proxies of this machine apply to the build; the names are predefined ones.
args=(--build-arg "BASE_IMAGE=$base" --label "arena.made-from=$made_from")
for name in http_proxy https_proxy no_proxy; do
  if [[ -n ${!name:-} ]]; then args+=(--build-arg "$name"); fi
done
# The client picks its builder: a newer one without the buildx plugin refuses BuildKit.
env -u DOCKER_BUILDKIT docker build --network host -q -t "$image" "${args[@]}" "$context" >"$ARENA_CACHE/rust-image.log" 2>&1 || {
  tail -n 10 "$ARENA_CACHE/rust-image.log" >&2
  die 1 "$image does not build (log: $ARENA_CACHE/rust-image.log)"
}
say "$image is made"
