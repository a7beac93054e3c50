#!/bin/sh
# Installs what package-lock.json names, Bun itself included.
set -eu
cd "$(dirname "$0")"
# Only when it has changed: the copy says what was installed.
made=node_modules/.installed.json
cmp -s package-lock.json "$made" && exit 0
npm ci --loglevel=error --no-audit --no-fund --ignore-scripts
cp package-lock.json "$made"
