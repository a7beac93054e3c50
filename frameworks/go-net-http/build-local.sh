#!/bin/sh
# Builds ./server; nothing is downloaded, since it imports nothing.
set -eu
cd "$(dirname "$0")"
CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -trimpath -buildvcs=false -o server .
