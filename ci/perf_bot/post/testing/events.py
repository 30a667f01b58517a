"""Events as GitHub sends them, cut down to what is read, and a few fields that must not be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

REPOSITORY_ID = 42


def workflow_run(
    commit: str = "a" * 40, pulls: Sequence[tuple[int, str]] = (), run: int = 17
) -> dict[str, Any]:
    """`pulls`: number and head of the pull requests that the event names."""
    return {
        "action": "completed",
        "repository": {
            "id": REPOSITORY_ID,
            "full_name": "octo/flow",
            "html_url": "https://github.com/octo/flow",
        },
        "workflow_run": {
            "id": run,
            "run_attempt": 2,
            "event": "pull_request",
            "conclusion": "success",
            "head_sha": commit,
            "head_branch": "faster; $(reboot)",
            "head_repository": {"full_name": "eve/flow", "owner": {"login": "eve"}},
            "html_url": f"https://github.com/octo/flow/actions/runs/{run}",
            "pull_requests": [
                {
                    "number": number,
                    "head": {"sha": head, "ref": "faster"},
                    "base": {"sha": "b" * 40, "repo": {"id": REPOSITORY_ID}},
                }
                for number, head in pulls
            ],
        },
    }
