#!/usr/bin/env bash
# build.sh IMAGE: a minimal system of this machine's own release, from its own
# apt mirrors, as a local image. Nothing is done when it is there already.
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

image=${1:?usage: build.sh IMAGE}
shopt -s nullglob
cas=(/usr/local/share/ca-certificates/*.crt)
made_from=$(cat "${BASH_SOURCE[0]}" "${cas[@]}" | sha256sum | cut -c1-16)
if [[ $(docker image inspect -f '{{index .Config.Labels "arena.made-from"}}' "$image" 2>/dev/null) == "$made_from" ]]; then
  say "$image is there"
  exit
fi

((EUID == 0)) || die 5 "$image is not built and only root can make it: run scripts/setup-docker.sh as root once"
have apt-get || die 5 "$image needs apt-get to be made; on other systems use an image registry"
if ! have mmdebstrap; then
  say "installing mmdebstrap"
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends mmdebstrap >"$ARENA_CACHE/apt.log" 2>&1 ||
    die 5 "apt-get cannot install mmdebstrap (log: $ARENA_CACHE/apt.log)"
fi

# Only the distribution's own archives: others' keys are not in the new system.
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
sources() {
  # shellcheck disable=SC2016 # apt's own placeholders, not the shell's
  apt-get indextargets --format '$(ORIGIN) deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v s="$suite" '($1 == "Debian" || $1 == "Ubuntu") && ($4 == s || $4 == s"-updates" || $4 == s"-security") { print $2, $3, $4, $5 }' | sort -u
}
[[ -n $(sources) ]] || apt-get update -qq >&2 || true
[[ -n $(sources) ]] || die 5 "apt knows no archive of $suite: run apt-get update"

say "making $image (about half a minute)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # mmdebstrap gives the hooks their $1
hooks=(--customize-hook='mkdir -p "$1/usr/local/share/ca-certificates"')
for ca in "${cas[@]}"; do hooks+=(--customize-hook="copy-in $ca /usr/local/share/ca-certificates"); done
# shellcheck disable=SC2016
hooks+=(--customize-hook='chroot "$1" update-ca-certificates >/dev/null' --customize-hook='rm -rf "$1"/var/lib/apt/lists/*')
mmdebstrap --quiet --variant=minbase --include=ca-certificates \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' "${hooks[@]}" \
  "$suite" "$work/base.tar" - < <(sources) >"$ARENA_CACHE/mmdebstrap.log" 2>&1 || {
  tail -n 10 "$ARENA_CACHE/mmdebstrap.log" >&2
  die 1 "mmdebstrap failed (log: $ARENA_CACHE/mmdebstrap.log)"
}

bundle=/etc/ssl/certs/ca-certificates.crt
changes=(--change "LABEL arena.made-from=$made_from" --change 'CMD ["/bin/sh"]')
for name in SSL_CERT_FILE CARGO_HTTP_CAINFO NODE_EXTRA_CA_CERTS PIP_CERT; do
  changes+=(--change "ENV $name=$bundle")
done
docker import "${changes[@]}" "$work/base.tar" "$image" >/dev/null
say "$image is made"
