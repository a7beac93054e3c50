#!/usr/bin/env bash
# Does all set-up that tests need and runs every test of the project.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
cd "$ARENA_ROOT"

# Container tests run where an engine can be had, and say so where it cannot.
if args=$("$ARENA_ROOT/scripts/setup-docker.sh"); then
  say "container tests run, with: $(xargs <<<"$args")"
  need_sidecar_images
else
  say "container tests are skipped: the reason is in the line above"
fi

# Tests of agreement hold the load generator against these two, where they are.
need_packages wrk:wrk h2load:nghttp2-client || say "tests of agreement are skipped"

# The judge is held against a real database, where one can be had.
need_sidecars || say "tests beside a database are skipped"

# Entries in other languages are built and judged, too.
need_entry_packages --host local

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
# Entries are workspaces of their own; their builds are kept where the host
# `local` keeps them, so the tests below find them built.
for manifest in frameworks/*/Cargo.toml; do
  step cargo test --quiet --locked --release --manifest-path "$manifest" --target-dir "$ARENA_CACHE/entries"
done
step cargo test --locked --workspace
step "$ARENA_ROOT/scripts/fuzz.sh"
say "all tests passed"
