"""Posts the result of a measurement on its pull request.

    post --result FILE --event FILE                              as the workflow does
    post --result FILE --repository OWNER/NAME --pull N --commit SHA [--run N] [--link ADDRESS]

The token is in $GITHUB_TOKEN, and on no command line; $GITHUB_API_URL and $GITHUB_SERVER_URL name
the server. Exit status: 0 posted (or nothing is left to be posted on), 2 usage, 3 no result, 4
GitHub refused or failed, 5 the result was refused.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from ci.perf_bot import history
from ci.perf_bot.post import event, untrusted
from ci.perf_bot.post.api import ApiError, GitHub
from ci.perf_bot.post.armour import armour
from ci.perf_bot.post.client import PUBLIC, GitHubClient
from ci.perf_bot.post.clock import Clock, SystemClock
from ci.perf_bot.post.dry_run import DryRun
from ci.perf_bot.post.event import Run
from ci.perf_bot.post.memory import Memory, default_file
from ci.perf_bot.post.patience import Patience
from ci.perf_bot.post.sticky import Poster, Report
from ci.perf_bot.post.verdict import short, verdict_of
from ci.perf_bot.render import render

POSTED, USAGE, NO_RESULT, FAILED, BAD_RESULT = 0, 2, 3, 4, 5
# What a workflow's own token comments as.
AUTHOR = "github-actions[bot]"
_COMMAND = re.compile(r"(?m)^(?=\s*::)|(?<=##)(?=\[)")


@dataclasses.dataclass
class Session:
    """What the command needs of the world."""

    environment: Mapping[str, str]
    out: TextIO
    error: TextIO
    clock: Clock

    def log(self, line: str) -> None:
        """One line for the log."""
        clean = "".join(c if c.isprintable() else " " for c in line)
        print(f"perf_bot post: {self._hidden(clean)}", file=self.error)

    def tell(self, text: str) -> None:
        """Text for the reader of a dry run."""
        print(self._hidden(text), file=self.out)

    def _hidden(self, text: str) -> str:
        """Without the token, and without what a workflow's runner takes for a command."""
        token = self.environment.get("GITHUB_TOKEN")
        text = text.replace(token, "***") if token else text
        return _COMMAND.sub("\u200b", text)

    def log_trace(self) -> None:
        """The exception at hand."""
        for line in traceback.format_exc().splitlines():
            self.log(line)


def main(argv: Sequence[str] | None = None) -> int:
    """Posts; returns the exit status."""
    return run(argv, Session(os.environ, sys.stdout, sys.stderr, SystemClock()))


def run(argv: Sequence[str] | None, session: Session) -> int:
    """As `main`, in a given world."""
    parser = make_parser()
    args = parser.parse_args(argv)
    try:
        origin, pull = _origin(args, session)
        token = session.environment.get("GITHUB_TOKEN", "")
        base = session.environment.get("GITHUB_API_URL") or PUBLIC
        # Without a token a dry run reads nothing.
        offline = args.dry_run and not token
        client = None if offline else GitHubClient(token, origin.repository, session.clock, base)
    except (ValueError, OSError) as error:
        session.log(str(error))
        return USAGE
    try:
        return _post(args, session, origin, pull, client)
    except ApiError as error:
        session.log(str(error))
    except Exception:  # whatever it is, the token is not to be printed
        session.log_trace()
    return FAILED


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="perf_bot post",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--result", type=_path, required=True, help="result.json of the run")
    parser.add_argument("--event", type=_path, help="the event workflow_run that started this")
    parser.add_argument("--repository", help="owner/name; also --pull and --commit, not --event")
    parser.add_argument("--pull", type=int, help="number of the pull request")
    parser.add_argument("--commit", help="the commit that was measured, 40 hex digits")
    parser.add_argument("--run", type=int, default=0, help="a lower one gives way to what is there")
    parser.add_argument("--link", default="", help="page of the run")
    parser.add_argument("--author", default=AUTHOR, help="login that the token comments as")
    parser.add_argument("--history", type=_path, metavar="FOLDER", help="for the sparklines")
    parser.add_argument(
        "--memory", type=_path, metavar="FILE", help="of comments; default: in the user's cache"
    )
    parser.add_argument("--dry-run", action="store_true", help="write nothing, say what would be")
    return parser


def _path(text: str) -> Path:
    """A path; a relative one begins where the user is, not where Bazel is."""
    return Path(os.environ.get("BUILD_WORKING_DIRECTORY", ".")) / text


def _origin(args: argparse.Namespace, session: Session) -> tuple[Run, int | None]:
    """What is trusted: the run, and the pull request if the command line names it."""
    by_hand = [args.repository, args.pull, args.commit]
    if args.event:
        if any(value is not None for value in by_hand):
            raise ValueError("expects --event, or --repository, --pull and --commit, not both")
        return event.read(json.loads(args.event.read_bytes())), None
    if any(value is None for value in by_hand):
        raise ValueError("expects --event, or all of --repository, --pull and --commit")
    if not re.fullmatch(r"[0-9a-f]{40}", args.commit) or args.pull < 1:
        raise ValueError("expects --commit with 40 hex digits and --pull above 0")
    server = session.environment.get("GITHUB_SERVER_URL") or "https://github.com"
    address = f"{server}/{args.repository}"
    found = Run(args.repository, address, args.run, 1, args.commit, "", args.link, ())
    return found, args.pull


def _post(
    args: argparse.Namespace,
    session: Session,
    origin: Run,
    pull: int | None,
    client: GitHubClient | None,
) -> int:
    github: GitHub = client or DryRun(None, args.author, session.tell)
    if args.dry_run:
        github = DryRun(client, args.author, session.tell)
    patience = Patience(session.clock, log=session.log)
    try:
        result = untrusted.load(args.result, origin.commit, origin.address)
    except (FileNotFoundError, untrusted.BadResult) as error:
        missing = isinstance(error, FileNotFoundError)
        text = "the run left no result" if missing else f"the result is refused: {error}"
        session.log(text)
        patience.call(lambda: github.status(origin.commit, "error", short(text), origin.link))
        return NO_RESULT if missing else BAD_RESULT
    if pull is None:
        pull = _find_pull(origin, result["base"]["commit"], patience, client)
    verdict = verdict_of(result)
    if pull is None:
        session.log(f"no open pull request has the head {origin.commit}: only its status is set")
        patience.call(
            lambda: github.status(origin.commit, verdict.state, verdict.description, origin.link)
        )
        return POSTED
    report = _report(result, _history(args, session), origin, pull)
    Poster(github, args.author, patience, session.log, _memory(args, session, origin)).post(report)
    return POSTED


def _memory(args: argparse.Namespace, session: Session, origin: Run) -> Memory:
    """What earlier calls posted; a dry run neither knows nor changes it."""
    file = args.memory or default_file(session.environment)
    return Memory() if args.dry_run else Memory(file, f"{args.author} {origin.address}")


def _history(args: argparse.Namespace, session: Session) -> list[dict[str, Any]]:
    """The entries of the history; none, and a word about it, where it cannot be read."""
    try:
        return history.read(args.history) if args.history else []
    except (ValueError, OSError) as error:
        session.log(f"without a history: {error}")
        return []


def _find_pull(
    origin: Run, base: str, patience: Patience, client: GitHubClient | None
) -> int | None:
    """The pull request that the run belongs to. The event names it; of forks, GitHub is asked."""
    pulls = origin.pulls
    if not pulls and client:
        asked = patience.call(lambda: client.open_pulls(origin.branch))
        pulls = tuple(event.pull_of(item) for item in asked)
    chosen = event.choose(pulls, origin.commit, base)
    return chosen.number if chosen else None


def _report(
    result: Mapping[str, Any], entries: Sequence[dict[str, Any]], origin: Run, pull: int
) -> Report:
    verdict = verdict_of(result)
    text = armour(render(dict(result), entries), [f"{origin.address}/"])
    run_link = f"[the run]({origin.link})" if origin.link else "the run"
    everything = (
        f"All figures, as JSON and CSV, with plots: artifacts of {run_link}. The commands that "
        f"repeat a row need the commit: `git fetch {origin.address} pull/{pull}/head`."
    )
    return Report(
        pull=pull,
        commit=origin.commit,
        run=origin.id,
        attempt=origin.attempt,
        text=f"{text.rstrip()}\n\n{everything}\n",
        notice=f"The rest is left out here, for its length. {everything}\n",
        regressed=verdict.regressed,
        state=verdict.state,
        description=verdict.description,
        link=origin.link,
    )


if __name__ == "__main__":
    sys.exit(main())
