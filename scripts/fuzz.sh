#!/usr/bin/env bash
# Fuzzes what the gun reads, for a bounded time a target (15 s unless told):
#   ./scripts/fuzz.sh [seconds]
# Builds with the coverage that libFuzzer reads, on stable Rust. Inputs that
# reach something new are kept in the user's cache and tried first next time.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

seconds=${1:-15}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || die 2 "seconds per target: \`$seconds\` is no number above 0"
need_tools
if ! need_packages c++:g++; then
  say "fuzz targets are skipped: libFuzzer needs a C++ compiler"
  exit 0
fi

fuzz=$ARENA_ROOT/harness/loadgen/fuzz
kept=$ARENA_CACHE/fuzz
triple=$(rustc -vV | sed -n 's/^host: //p')
coverage=(level=4 inline-8bit-counters pc-table trace-compares)
flags="-Cpasses=sancov-module ${coverage[*]/#/-Cllvm-args=-sanitizer-coverage-}"
say "building the fuzz targets (a few minutes the first time)"
# With a triple, build scripts and macros stay without coverage.
RUSTFLAGS=$flags cargo build --release --locked --quiet --target "$triple" \
  --manifest-path "$fuzz/Cargo.toml" --target-dir "$kept/target" >&2

for seeds in "$fuzz"/corpus/*/; do
  name=$(basename "$seeds")
  mkdir -p "$kept/$name"
  say "fuzzing $name for $seconds s"
  if ! "$kept/target/$triple/release/$name" "$kept/$name" "$seeds" \
    -max_total_time="$seconds" -max_len=2048 -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$kept/$name-" -print_final_stats=1 >"$kept/$name.log" 2>&1; then
    tail -n 40 "$kept/$name.log" >&2
    die 1 "fuzz target $name broke: mend what the input named above shows, and keep it in ${seeds#"$ARENA_ROOT/"}"
  fi
  say "$name held $(sed -n 's/^stat::number_of_executed_units: *//p' "$kept/$name.log") inputs"
done
