"""A GitHub on this machine: one repository's comments, labels, statuses and pull requests.

It keeps what is written, pages, knows tokens by their logins, and fails as it is told to: before or
after it has stored something, with limits that last until the clock says so, and by holding several
callers back until all of them have the same answer. Its answers are made of GitHub's own schemas.
"""

from __future__ import annotations

import dataclasses
import json
import re
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ci.perf_bot.post.clock import Clock
from ci.perf_bot.post.testing.examples import Examples

Json = dict[str, Any]
REPOSITORY = "octo/flow"
BOT, BOT_TOKEN = "github-actions[bot]", "ghs_" + "s3cr3t" * 6
EVE, EVE_TOKEN = "eve", "ghp_" + "eve" * 12


@dataclasses.dataclass
class Answer:
    """What goes back: without a value, nothing but the head."""

    code: int
    value: Any = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Fault:
    """Makes `times` calls fail whose "METHOD path" matches. `stored` says whether the call is
    carried out all the same; without an answer the connection is dropped; `hold` is called before
    the answer is sent.
    """

    call: str
    answer: Answer | None = None
    stored: bool = False
    times: int = 1
    hold: Callable[[], object] | None = None


class FakeGitHub:
    """The state, behind one lock. `calls` has "METHOD path" of each call, `early` counts those that
    were made during a limit.
    """

    def __init__(self, description: Json, clock: Clock, prefix: str = "") -> None:
        self._examples = Examples(description)
        self._clock = clock
        self._prefix = prefix
        self._lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """As new."""
        with self._lock:
            self.comments: dict[int, Json] = {}
            self.labels: set[str] = set()
            self.statuses: list[Json] = []
            self.pulls: list[Json] = []
            self.calls: list[str] = []
            self.faults: list[Fault] = []
            self.early = 0
            self.longest_body = 65_536
            self.lag = 0  # calls for a list that do not see the newest comment yet
            self._limit: tuple[float, Answer] | None = None
            self._next_id = 1001
            self._lists = 0

    def limit(self, seconds: float, answer: Answer) -> None:
        """Refuses everything with `answer` until that much later."""
        with self._lock:
            self._limit = (self._clock.now() + seconds, answer)

    def add_comment(self, login: str, body: str) -> int:
        """Somebody comments; returns the comment's number."""
        with self._lock:
            made = self._examples.of("issue-comment")
            user = self._examples.of("simple-user") | {"login": login}
            made |= {"id": self._next_id, "body": body, "user": user}
            self.comments[self._next_id] = made | {"seen_from": self._lists + self.lag}
            self._next_id += 1
            return made["id"]

    def add_pull(self, number: int, head: str, base: str) -> None:
        """An open pull request; `head` and `base` are commits."""
        made = self._examples.of("pull-request-simple")
        made |= {"number": number, "state": "open"}
        made["head"] |= {"sha": head}
        made["base"] |= {"sha": base}
        self.pulls.append(made)

    def bodies(self, login: str = BOT) -> list[str]:
        """What somebody's comments say, the oldest first."""
        with self._lock:
            found = sorted(self.comments.items())
            return [c["body"] for _, c in found if c["user"]["login"] == login]

    def answer(self, method: str, target: str, login: str | None, value: Any) -> Answer | None:
        """Carries a call out; None: the connection is to be dropped."""
        parts = urlsplit(target)
        call = f"{method} {parts.path.removeprefix(self._prefix)}"
        with self._lock:
            self.calls.append(call)
            if self._limit and self._clock.now() < self._limit[0]:
                self.early += 1
                return self._limit[1]
            self._limit = None
            fault = next((f for f in self.faults if re.search(f.call, call) and f.times > 0), None)
            if fault:
                fault.times -= 1
            if login is None:
                return self._error(401, "Bad credentials")
            if not fault or fault.stored or fault.hold:
                found = self._carry_out(call, parse_qs(parts.query), login, value)
        if fault and fault.hold:
            fault.hold()
            return found
        return fault.answer if fault else found

    def _carry_out(self, call: str, query: Mapping[str, list[str]], login: str, v: Any) -> Answer:
        for pattern, method in self._ROUTES:
            if match := re.fullmatch(pattern.replace("~", f"/repos/{REPOSITORY}"), call):
                return method(self, match, query, login, v)
        return self._error(404, "Not Found")

    def _list(self, match: re.Match[str], query: Any, login: str, v: Any) -> Answer:
        size = min(int(query.get("per_page", ["30"])[0]), 100)
        page = int(query.get("page", ["1"])[0])
        self._lists += 1
        found = [c for _, c in sorted(self.comments.items()) if c["seen_from"] < self._lists]
        last = max(-(-len(found) // size), 1)
        path = f"https://github.example/issues/comments?per_page={size}&page="
        links = [f'<{path}{page + 1}>; rel="next"'] if page < last else []
        links += [f'<{path}1>; rel="first"'] if page > 1 else []
        shown = found[(page - 1) * size : page * size]
        return Answer(200, shown, {"link": ", ".join(links)} if links else {})

    def _create(self, match: re.Match[str], query: Any, login: str, v: Any) -> Answer:
        if len(v["body"]) > self.longest_body:
            return self._too_long()
        return Answer(201, self.comments[self.add_comment(login, v["body"])])

    def _edit(self, match: re.Match[str], query: Any, login: str, v: Any) -> Answer:
        comment = self.comments.get(int(match[1]))
        if comment is None or comment["user"]["login"] != login:
            return self._error(404 if comment is None else 403, "Not Found")
        if len(v["body"]) > self.longest_body:
            return self._too_long()
        comment["body"] = v["body"]
        return Answer(200, comment)

    def _delete(self, match: re.Match[str], query: Any, login: str, v: Any) -> Answer:
        comment = self.comments.get(int(match[1]))
        if comment is None or comment["user"]["login"] != login:
            return self._error(404 if comment is None else 403, "Not Found")
        del self.comments[int(match[1])]
        return Answer(204)

    def _add_label(self, match: re.Match[str], query: Any, login: str, v: Any) -> Answer:
        self.labels |= set(v["labels"])
        return Answer(200, self._labels())

    def _remove_label(self, match: re.Match[str], query: Any, login: str, v: Any) -> Answer:
        if unquote(match[1]) not in self.labels:
            return self._error(404, "Label does not exist")
        self.labels.remove(unquote(match[1]))
        return Answer(200, self._labels())

    def _labels(self) -> list[Json]:
        return [self._examples.of("label") | {"name": name} for name in sorted(self.labels)]

    def _status(self, match: re.Match[str], query: Any, login: str, v: Any) -> Answer:
        self.statuses.append(v | {"sha": match[1]})
        return Answer(201, self._examples.of("status") | v)

    def _open_pulls(self, match: re.Match[str], query: Any, login: str, v: Any) -> Answer:
        return Answer(200, self.pulls)

    _ROUTES = (
        (r"GET ~/issues/7/comments", _list),
        (r"POST ~/issues/7/comments", _create),
        (r"PATCH ~/issues/comments/(\d+)", _edit),
        (r"DELETE ~/issues/comments/(\d+)", _delete),
        (r"POST ~/issues/7/labels", _add_label),
        (r"DELETE ~/issues/7/labels/([^/]+)", _remove_label),
        (r"POST ~/statuses/([0-9a-f]{40})", _status),
        (r"GET ~/pulls", _open_pulls),
    )

    def _error(self, code: int, message: str) -> Answer:
        return Answer(code, {"message": message, "documentation_url": "https://github.example/d"})

    def _too_long(self) -> Answer:
        answer = self._error(422, "Validation Failed")
        text = f"Body is too long (maximum is {self.longest_body} characters)"
        fault = {"resource": "IssueComment", "code": "unprocessable", "message": text}
        return dataclasses.replace(answer, value=answer.value | {"errors": [fault]})


class Server:
    """A fake behind an address of this machine; a context manager."""

    def __init__(self, fake: FakeGitHub) -> None:
        class Handler(_Handler):
            github = fake

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Server:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    github: FakeGitHub
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet
    _LOGINS = {BOT_TOKEN: BOT, EVE_TOKEN: EVE}

    def _any(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        login = self._LOGINS.get(self.headers.get("authorization", "").rpartition(" ")[2])
        value = json.loads(data) if data else None
        answer = self.github.answer(self.command, self.path, login, value)
        if answer is None:
            self.close_connection = True
            return
        text = b"" if answer.value is None else json.dumps(answer.value).encode()
        self.send_response(answer.code)
        if text:
            self.send_header("content-type", "application/json; charset=utf-8")
        if answer.code != 204:
            self.send_header("content-length", str(len(text)))
        for name, header in answer.headers.items():
            self.send_header(name, header)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_DELETE = _any

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""
