#!/bin/sh
# Installs what requirements.txt names, every file by its digest.
set -eu
cd "$(dirname "$0")"
# Only when it has changed, or Python has.
made=.packages/.installed
want=$(python3 --version && cat requirements.txt)
if [ -f "$made" ] && [ "$(cat "$made")" = "$want" ]; then exit 0; fi
rm -rf .packages
python3 -m pip install --quiet --disable-pip-version-check --no-compile \
  --no-warn-conflicts --root-user-action ignore \
  --require-hashes --only-binary :all: --target .packages -r requirements.txt
printf '%s\n' "$want" >"$made"
