#!/bin/sh
# Runs the server on the Bun that the lock file brought.
set -eu
cd "$(dirname "$0")"
case $(uname -m) in
aarch64 | arm64) bun=node_modules/@oven/bun-linux-aarch64/bin/bun ;;
*) bun=node_modules/@oven/bun-linux-x64/bin/bun ;;
esac
exec "$bun" src/main.js
