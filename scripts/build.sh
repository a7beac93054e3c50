#!/usr/bin/env bash
# Builds the tool and prints the path of `arena`. Quick when already built.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

have cargo || die 5 "cargo is missing: install Rust 1.88 or later (https://rustup.rs), then run this again"
have cc || die 5 "a C compiler is missing: apt-get install gcc libc6-dev, then run this again"
bin=$CARGO_TARGET_DIR/release
[[ -x $bin/arena ]] || say "building the tool (a few minutes the first time)"
cargo build --release --locked --quiet --manifest-path "$ARENA_ROOT/Cargo.toml" \
  --package arena --package loadgen >&2
printf '%s\n' "$bin/arena"
