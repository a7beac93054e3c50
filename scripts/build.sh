#!/usr/bin/env bash
# Builds the tool and what it starts, and prints the path of `arena`. Quick when already built.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
bin=$CARGO_TARGET_DIR/release
[[ -x $bin/arena ]] || say "building the tool (a few minutes the first time)"
cargo build --release --locked --quiet --manifest-path "$ARENA_ROOT/Cargo.toml" \
  --package arena --package loadgen --package authsvc >&2
printf '%s\n' "$bin/arena"
