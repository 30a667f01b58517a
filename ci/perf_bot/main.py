"""The command line of the performance bot: `tools/bazel run //ci/perf_bot -- COMMAND ...`.

    measure  two commits: builds, rounds, decision, artifacts
    judge    a record again: the same record gives the same result
    render   a result as the comment
    history  results of master into a folder of JSON lines, and its page
    post     a result as a comment on a pull request

The exit status of `measure` and `judge` is the result's (schema.STATUSES); 2 is a wrong command
line.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.harness.result import user_path
from ci.perf_bot import branch, builds, files, history, measure, record
from ci.perf_bot.catalogue import make_catalogue
from ci.perf_bot.render import render
from ci.perf_bot.schema import LARGEST_RESULT_BYTES, exit_status, parse_json, read_result

# A record holds every sample.
_LARGEST_RECORD_BYTES = 1 << 28
_USAGE = 2
# Commands whose modules have a main(argv) of their own.
_ELSEWHERE = {"post": "ci.perf_bot.post"}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in _ELSEWHERE:
        module: Any = importlib.import_module(_ELSEWHERE[words[0]])
        return int(module.main(words[1:]))
    args = make_parser().parse_args(words)
    try:
        return int(args.run(args))
    except (ValueError, OSError) as error:
        print(f"perf_bot: {error}", file=sys.stderr)
        return _USAGE


def make_parser() -> argparse.ArgumentParser:
    """All commands but those elsewhere."""
    parser = argparse.ArgumentParser(
        prog="perf_bot", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    added = commands.add_parser("measure", help="compare two commits")
    measure.add_arguments(added)
    added.set_defaults(run=_measure)
    added = commands.add_parser("judge", help="decide a record again")
    added.add_argument("record", type=user_path, help="rounds.json of a run")
    added.add_argument("--out", type=user_path, help="a folder for the artifacts")
    added.set_defaults(run=_judge)
    added = commands.add_parser("render", help="print the comment")
    added.add_argument("result", type=user_path, help="result.json of a run")
    added.add_argument("--history", type=user_path, metavar="FOLDER")
    added.set_defaults(run=_render)
    added = commands.add_parser("history", help="add results to the history, renew its page")
    added.add_argument("folder", help="a folder, or one below the top of the branch")
    added.add_argument("results", type=user_path, nargs="*", help="result.json of runs of master")
    added.add_argument("--branch", help="keep it in this branch of the checkout")
    added.add_argument("--push", metavar="REMOTE", help="and push the branch there")
    added.set_defaults(run=_history)
    commands.add_parser("post", help="post a result; see post --help")
    return parser


def _measure(args: argparse.Namespace) -> int:
    measure.prepare(args)
    made = measure.run(args, make_catalogue(), lambda line: print(line, file=sys.stderr))
    return _finish(args.out, made)


def _judge(args: argparse.Namespace) -> int:
    made = record.check_record(parse_json(args.record.read_bytes(), _LARGEST_RECORD_BYTES))
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
    return _finish(args.out, made)


def _finish(folder: Path | None, made: dict[str, Any]) -> int:
    """Writes the artifacts, prints the comment, returns the status."""
    result = record.result_of(made)
    if folder:
        files.write_all(folder, made, result)
    sys.stdout.write(render(result))
    return exit_status(result)


def _render(args: argparse.Namespace) -> int:
    result = read_result(_read(args.result))
    entries = history.read(args.history) if args.history else []
    sys.stdout.write(render(result, entries))
    return 0


def _read(path: Path) -> bytes:
    """A file, but no more of it than a result may have, and a byte that shows it."""
    with open(path, "rb") as file:
        return file.read(LARGEST_RESULT_BYTES + 1)


def _history(args: argparse.Namespace) -> int:
    results = [read_result(_read(path)) for path in args.results]
    if args.branch:
        repository = builds.Repository(measure.workspace())
        try:
            entries = branch.add(repository, args.branch, args.folder, results, args.push)
        except builds.GitError as error:
            raise OSError(str(error)) from None
    else:
        entries = history.add(user_path(args.folder), results)
    print(f"{len(entries)} commits in {args.branch or args.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
