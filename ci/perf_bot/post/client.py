"""GitHub's own API behind :class:`ci.perf_bot.post.api.GitHub`, through githubkit.

Each method is one request. githubkit's retries and its cache are off: it would repeat a creation
without a look, and answer a list from memory. The token is in the client alone: what githubkit and
httpx raise holds the request with its headers, so none of their exceptions gets out, not even as
the context of another.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import githubkit
from githubkit import Response
from githubkit.exception import RequestError, RequestFailed, RequestTimeout

from ci.perf_bot.post.api import (
    ApiError,
    Comment,
    Gone,
    Limited,
    Page,
    Refused,
    TooLong,
    Unsure,
)
from ci.perf_bot.post.clock import Clock

PER_PAGE = 100
PUBLIC = "https://api.github.com"
# Of the versions of the API, the one that Enterprise Server 3.19 knows too.
VERSION = "2022-11-28"
CONTEXT = "perf-bot"
_SECONDS = 30.0  # that one answer may take
_LONGEST_MESSAGE = 300


class GitHubClient:
    """One repository of one server. Not thread-safe; holds no connection between calls."""

    def __init__(self, token: str, repository: str, clock: Clock, base_url: str = PUBLIC) -> None:
        """`repository` is owner/name. `base_url` ends in `/api/v3` for an Enterprise Server.

        Raises:
            ValueError: `repository` or `base_url` has another form; the token is empty, or has
                characters that no token has.
        """
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}", repository):
            raise ValueError(f"expects owner/name, got {repository[:100]!r}")
        if not re.fullmatch(r"https?://[A-Za-z0-9.\[\]:-]+(/[A-Za-z0-9._/-]*)?", base_url):
            raise ValueError(f"expects the address of GitHub's API, got {base_url[:100]!r}")
        if not re.fullmatch(r"[A-Za-z0-9_.~+/=-]{1,1000}", token):
            raise ValueError("expects a token of GitHub, got something else")
        self._token = token
        self._path = f"/repos/{repository}"
        self._clock = clock
        self._github = githubkit.GitHub(
            token,
            auto_retry=False,
            base_url=base_url,
            follow_redirects=False,
            http_cache=False,
            # The machine's own certificates, which know a company's server; read once, and not for
            # each call.
            ssl_verify=ssl.create_default_context(),
            timeout=_SECONDS,
            user_agent="oneflow-perf-bot",
        )

    def __repr__(self) -> str:
        return f"GitHubClient({self._path})"

    def comments(self, pull: int, page: int) -> Page:
        """See api.GitHub."""
        path = f"{self._path}/issues/{pull}/comments"
        items, link = self._call("GET", path, params={"per_page": PER_PAGE, "page": page})
        if not isinstance(items, list):
            raise Refused(f"GET {path}: expects a list, got {type(items).__name__}")
        # A full page without links comes of a server in between that drops them.
        more = 'rel="next"' in link if link else len(items) >= PER_PAGE
        return Page([_comment(item, path) for item in items], more)

    def create(self, pull: int, body: str) -> Comment:
        """See api.GitHub."""
        path = f"{self._path}/issues/{pull}/comments"
        return _comment(self._call("POST", path, json={"body": body})[0], path)

    def edit(self, comment: int, body: str) -> None:
        """See api.GitHub."""
        self._call("PATCH", f"{self._path}/issues/comments/{comment}", json={"body": body})

    def delete(self, comment: int) -> None:
        """See api.GitHub."""
        try:
            self._call("DELETE", f"{self._path}/issues/comments/{comment}")
        except Gone:
            pass

    def label(self, pull: int, name: str, present: bool) -> None:
        """See api.GitHub."""
        path = f"{self._path}/issues/{pull}/labels"
        if present:
            self._call("POST", path, json={"labels": [name]})
            return
        try:
            self._call("DELETE", f"{path}/{quote(name, safe='')}")
        except Gone:
            pass

    def status(self, commit: str, state: str, description: str, link: str) -> None:
        """See api.GitHub."""
        fields = {"state": state, "description": description, "context": CONTEXT}
        fields |= {"target_url": link} if link else {}
        self._call("POST", f"{self._path}/statuses/{quote(commit, safe='')}", json=fields)

    def open_pulls(self, head: str) -> list[dict[str, Any]]:
        """The open pull requests from `owner:branch`, as GitHub describes them."""
        path = f"{self._path}/pulls"
        wanted: dict[str, str | int] = {"head": head, "state": "open", "per_page": PER_PAGE}
        items, _ = self._call("GET", path, params=wanted)
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise Refused(f"GET {path}: expects a list of objects")
        return items

    def _call(
        self,
        method: str,
        path: str,
        params: Mapping[str, str | int] | None = None,
        json: Any = None,
    ) -> tuple[Any, str]:
        """One request; its JSON (None if it has none), and the header `link`."""
        answer = self._answer(method, path, params, json)
        if isinstance(answer, ApiError):
            # Here, outside of any `except`: what githubkit raised is not its context.
            raise answer
        return answer

    def _answer(self, method: str, path: str, params: Any, json: Any) -> tuple[Any, str] | ApiError:
        what = f"{method} {path}"
        try:
            response = self._github.request(
                method, path, params=params, json=json, headers={"X-GitHub-Api-Version": VERSION}
            )
        except RequestFailed as error:
            return self._failure(what, error.response)
        except RequestTimeout:
            return Unsure(f"{what}: no answer in {_SECONDS:.0f} s")
        except RequestError as error:
            return Unsure(f"{what}: {type(error.exc).__name__}")
        except ValueError:
            # githubkit takes `retry-after` for a number; it may be a date.
            return Limited(f"{what}: refused for now", None)
        if response.status_code >= 300:
            return Refused(f"{what}: {response.status_code}, has the repository another name now?")
        try:
            value = response.json() if response.content.strip() else None
        except ValueError:
            return Unsure(f"{what}: {response.status_code}, and no JSON")
        return value, response.headers.get("link", "")

    def _failure(self, what: str, response: Response[Any]) -> ApiError:
        """The error that an answer stands for."""
        code, headers = response.status_code, response.headers
        message = self._message(response)
        text = f"{what}: {code} {message}".strip()
        if code in (404, 410):
            return Gone(text)
        hurried = any(words in message.lower() for words in ("rate limit", "too quickly", "abuse"))
        limited = "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"
        if code == 429 or (code in (403, 422) and hurried) or (code == 403 and limited):
            return Limited(text, self._wait(headers))
        if code == 422 and "too long" in message.lower():
            return TooLong(text)
        if code >= 500 or code == 408:
            return Unsure(text, self._wait(headers) if "retry-after" in headers else None)
        return Refused(text)

    def _wait(self, headers: Mapping[str, str]) -> float | None:
        """Seconds until the next call is welcome; None if the server does not say."""
        after, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
        if re.fullmatch(r"[0-9]{1,9}", after):
            return float(after)
        if headers.get("x-ratelimit-remaining") == "0" and re.fullmatch(r"[0-9]{1,12}", reset):
            # A second more: the server's clock has no fractions.
            return max(float(reset) - self._clock.now(), 0.0) + 1.0
        return None

    def _message(self, response: Response[Any]) -> str:
        """What the server says, in one line, short, without the token."""
        try:
            value = response.json()
        except ValueError:
            return ""
        found = [value] if isinstance(value, dict) else []
        errors = found[0].get("errors") if found else None
        found += [e for e in errors if isinstance(e, dict)] if isinstance(errors, list) else []
        text = "; ".join(str(item["message"]) for item in found if item.get("message"))
        clean = "".join(c if c.isprintable() else " " for c in text).replace(self._token, "***")
        return clean[:_LONGEST_MESSAGE]


def _comment(item: Any, path: str) -> Comment:
    """A comment from GitHub's JSON."""
    if not isinstance(item, dict) or type(item.get("id")) is not int:
        raise Refused(f"{path}: expects a comment, got something else")
    user, body = item.get("user"), item.get("body")
    login = user.get("login") if isinstance(user, dict) else None
    return Comment(
        item["id"],
        login if isinstance(login, str) else "",
        body if isinstance(body, str) else "",
    )
