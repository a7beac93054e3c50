#!/usr/bin/env bash
# Does all set-up that tests need and runs every test of the project.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

have cargo || die 5 "cargo is missing: install Rust 1.88 or later (https://rustup.rs), then run this again"
have cc || die 5 "a C compiler is missing: apt-get install gcc libc6-dev, then run this again"
cd "$ARENA_ROOT"

# Container tests run where an engine can be had, and say so where it cannot.
if args=$("$ARENA_ROOT/scripts/setup-docker.sh"); then
  say "container tests run, with: $(xargs <<<"$args")"
else
  say "container tests are skipped: the reason is in the line above"
fi

step() {
  say "$*"
  "$@"
}
if cargo fmt --version >/dev/null 2>&1; then step cargo fmt --all --check; else say "cargo fmt is missing: formatting is not checked"; fi
if cargo clippy --version >/dev/null 2>&1; then
  step cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
else say "cargo clippy is missing: lints are not checked"; fi
RUSTDOCFLAGS="-D warnings" step cargo doc --quiet --locked --workspace --no-deps
step cargo build --quiet --locked --workspace --bins
step cargo test --locked --workspace
say "all tests passed"
