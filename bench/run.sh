#!/usr/bin/env bash
# The testers' table: throughput and peak memory of training steps of ResNet-50 and BERT.
#
#   bash bench/run.sh                      this checkout
#   bash bench/run.sh check_xx             a branch, tag or commit beside master, built in worktrees, in turns
#   bash run.sh --repo ADDRESS [check_xx]  the same with this file alone: it clones ADDRESS into the user's cache
#
# Flags: --case --batch --dtype --phase --mode --compare torch --json --csv --plot --budget; --help explains
# them. Exit status: 0 measured, nothing slower; 1 slower; 2 usage; 3 nothing measured; 4 infrastructure or host
# invalid; 5 a commit crashed, or computes something else; 6 a commit does not build.
set -u

fail() { # STATUS MESSAGE
  echo "run.sh: $2" >&2
  exit "$1"
}

repo=""
flags=()
words=()
while [ $# -gt 0 ]; do
  case "$1" in
    --repo)
      [ $# -gt 1 ] || fail 2 "--repo expects an address or a folder"
      repo=$2
      shift
      ;;
    --repo=*) repo=${1#--repo=} ;;
    --bazel-flag)
      [ $# -gt 1 ] || fail 2 "--bazel-flag expects a flag"
      flags+=("$2")
      words+=("$1" "$2")
      shift
      ;;
    --bazel-flag=*)
      flags+=("${1#--bazel-flag=}")
      words+=("$1")
      ;;
    *) words+=("$1") ;;
  esac
  shift
done

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -n "$repo" ]; then
  name=$(printf '%s' "$repo" | cksum | cut -d' ' -f1)
  top="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/oneflow-bench/repo-$name"
  if [ -d "$top/.git" ]; then
    echo "run.sh: fetching $repo" >&2
    git -C "$top" fetch --quiet --tags --force --prune origin || fail 4 "cannot fetch $repo"
  else
    echo "run.sh: cloning $repo into $top" >&2
    mkdir -p "$top" && git clone --quiet "$repo" "$top" || fail 2 "cannot clone $repo"
  fi
  git -C "$top" remote set-head origin --auto > /dev/null 2>&1
  git -C "$top" checkout --quiet --detach --force origin/HEAD || fail 4 "$repo has no default branch"
elif [ ! -x "$top/tools/bazel" ] || [ ! -d "$top/bench/models" ]; then
  fail 2 "this file is not in a checkout of the project; say where one is: --repo ADDRESS"
fi

log=$(mktemp) || fail 4 "cannot make a temporary file"
trap 'rm -f "$log"' EXIT
here=$PWD
cd "$top" || fail 4 "cannot enter $top"
tools/bazel build ${flags[@]+"${flags[@]}"} //bench:testers 2>&1 | tee "$log" >&2
if [ "${PIPESTATUS[0]}" -ne 0 ]; then
  echo "run.sh: $(git rev-parse --short HEAD 2> /dev/null || echo "this checkout") does not build; the end of its log:" >&2
  tail -n 30 "$log" >&2
  exit 6
fi
cd "$here" || fail 4 "cannot enter $here"
# Not by `bazel run`: the program builds other commits, and measures; no server should be waiting for it.
export BUILD_WORKSPACE_DIRECTORY=$top BUILD_WORKING_DIRECTORY=$here
[ -z "$repo" ] || export ONEFLOW_BENCH_REPO=$repo
"$top/bazel-bin/bench/models/testers" ${words[@]+"${words[@]}"}
