#!/usr/bin/env bash
# Measures everything in this folder, and leaves the results in one: bench/all.sh [FOLDER [FLAGS...]]
# FLAGS go to each benchmark (bench/README.md). Exit status: the highest of the benchmarks'.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-bench-results}
shift || true
mkdir -p "$folder" || exit 4
folder=$(cd "$folder" && pwd)
status=0
cd "$top" || exit 4
for name in digits ops data graph; do
  tools/bazel run "//bench:$name" -- --out "$folder/$name.json" --format markdown "$@" \
    > "$folder/$name.md"
  code=$?
  cat "$folder/$name.md"
  [ "$code" -gt "$status" ] && status=$code
done
echo "results: $folder" >&2
exit "$status"
