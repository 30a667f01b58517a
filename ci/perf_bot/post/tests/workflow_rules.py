"""What a workflow of this repository may be: rules that keep a stranger's code away from a token
that writes. Each is a function from a workflow to faults, in words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import yaml

Json = Mapping[str, Any]

TRIGGERS = {"pull_request", "push", "schedule", "workflow_dispatch", "workflow_run"}
_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
# All that may be written with a stranger's result at hand, and the only programs that run then.
WRITES = {"pull-requests", "statuses"}
_BUILD = "tools/bazel build //ci/perf_bot/post"
_POST = (
    'bazel-bin/ci/perf_bot/post/post --event "$GITHUB_EVENT_PATH" '
    '--result "$RUNNER_TEMP/perf-bot/result.json" --history "$GITHUB_WORKSPACE/perf-history" '
    '--memory "$RUNNER_TEMP/perf-memory/comments.json"'
)
_CHECKOUTS = (
    {"persist-credentials": "false"},
    {"persist-credentials": "false", "ref": "perf-history", "path": "perf-history"},
)
# What is written after a push, and by which program alone.
_KEEP = (
    'tools/bazel run //ci/perf_bot -- history . "$RUNNER_TEMP/perf-bot/result.json" '
    "--branch perf-history --push origin"
)
_BRANCHES = ["main", "master"]
# Before anything is built that is measured: a cache that was not there before.
_OWN_CACHE = 'export XDG_CACHE_HOME="$(mktemp -d -p "$RUNNER_TEMP")"'
_ACTIONS = ("actions/checkout@", "actions/download-artifact@")
# What posters remember. A run of a pull request can read it, and write into no cache but its own.
_CACHES = ("actions/cache/restore@", "actions/cache/save@")
_MEMORY = {"path": "${{ runner.temp }}/perf-memory", "key": "perf-memory-${{ github.run_id }}"}


def faults(texts: Mapping[str, str]) -> list[str]:
    """What is wrong with the workflows, by file name and text. BaseLoader: `on` stays a word."""
    found: list[str] = []
    parsed = {name: yaml.load(text, yaml.BaseLoader) for name, text in texts.items()}
    names = {workflow.get("name") for workflow in parsed.values()}
    for name, workflow in parsed.items():
        for rule in RULES:
            found += [f"{name}: {fault}" for fault in rule(workflow)]
        found += [f"{name}: {fault}" for fault in _comments_of_pins(texts[name])]
        for wanted in _awaited(workflow):
            if wanted not in names:
                found.append(f"{name}: waits for {wanted!r}, which is no workflow here")
    return found


def _awaited(workflow: Json) -> list[str]:
    """The workflows whose end starts this one."""
    start = workflow["on"].get("workflow_run") if isinstance(workflow["on"], dict) else None
    value = start.get("workflows", []) if isinstance(start, dict) else []
    return [value] if isinstance(value, str) else list(value)


def _jobs(workflow: Json) -> Iterable[Json]:
    return workflow["jobs"].values()


def _steps(workflow: Json) -> Iterator[Json]:
    for job in _jobs(workflow):
        yield from job.get("steps", ())


def _writes(workflow: Json) -> set[str]:
    """What some job may write."""
    given = [job.get("permissions", {}) for job in _jobs(workflow)]
    return {
        name
        for permissions in given
        for name, level in (permissions.items() if isinstance(permissions, dict) else ())
        if level == "write"
    }


def triggers(workflow: Json) -> Iterator[str]:
    """`pull_request_target` and its like hand a stranger's event to a token that writes."""
    if not isinstance(workflow["on"], dict):
        yield "expects `on` to be a mapping"
        return
    for name in set(workflow["on"]) - TRIGGERS:
        yield f"starts on {name}"
    if len(workflow["on"]) != 1:
        yield "starts on more than one event"


def permissions(workflow: Json) -> Iterator[str]:
    """Nothing by default; each job names what it needs."""
    if workflow.get("permissions") != {}:
        yield "expects `permissions: {}` at the top"
    for job in _jobs(workflow):
        if not isinstance(job.get("permissions"), dict):
            yield "a job names no permissions of its own"
        elif "write-all" in job["permissions"].values():
            yield "a job may write all"
        if "timeout-minutes" not in job:
            yield "a job has no end in time"


def pins(workflow: Json) -> Iterator[str]:
    """A tag can be moved; a commit cannot."""
    used = [step["uses"] for step in _steps(workflow) if "uses" in step]
    used += [job["uses"] for job in _jobs(workflow) if "uses" in job]
    for name in used:
        if not _PINNED.fullmatch(name):
            yield f"{name} is not pinned by a commit"


def _comments_of_pins(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if re.search(r"\buses:", line) and not re.search(r"# v\d+\.\d+\.\d+$", line):
            yield f"{line.strip()} does not say which version it is"


def scripts(workflow: Json) -> Iterator[str]:
    """An expression inside a script is text of a stranger inside a script."""
    for step in _steps(workflow):
        if "${{" in step.get("run", ""):
            yield f"an expression in the script {step['run'][:60]!r}"
        if "shell" in step or "script" in step.get("with", {}):
            yield "a step has a shell or a script of another kind"


def credentials(workflow: Json) -> Iterator[str]:
    """A checkout leaves no token behind, but for the job that pushes."""
    for job in _jobs(workflow):
        pushes = job.get("permissions") == {"contents": "write"} and "push" in workflow["on"]
        for step in job.get("steps", ()):
            kept = step.get("with", {}).get("persist-credentials") != "false"
            if step.get("uses", "").startswith("actions/checkout@") and kept and not pushes:
                yield "a checkout keeps its credentials"


def strangers(workflow: Json) -> Iterator[str]:
    """What runs a pull request's code reads the repository, and knows no secret."""
    if "pull_request" not in workflow["on"]:
        return
    for job in _jobs(workflow):
        if job.get("permissions") != {"contents": "read"}:
            yield f"a pull request's code has {job.get('permissions')}"
    text = str(workflow)
    for word in ("secrets.", "github.token", "GITHUB_TOKEN", "secrets:", "'secrets'"):
        if word in text:
            yield f"a pull request's code sees {word}"


def caches(workflow: Json) -> Iterator[str]:
    """What is measured is not built from what an earlier job left: that may be anybody's."""
    for step in _steps(workflow):
        before, measures, _ = step.get("run", "").partition("//ci/perf_bot -- measure")
        if measures and _OWN_CACHE not in [line.strip() for line in before.splitlines()]:
            yield "builds from what an earlier job may have left"
        remembers = step.get("uses", "").startswith(_CACHES) and "workflow_run" in workflow["on"]
        inputs = dict(step.get("with", {}))
        inputs.pop("restore-keys", None)
        if "cache" in step.get("uses", "") and not (remembers and inputs == _MEMORY):
            yield "takes a cache that other jobs write"


def posters(workflow: Json) -> Iterator[str]:
    """What writes with a stranger's result at hand runs the default branch's code, and no other."""
    if not _writes(workflow) or "push" in workflow["on"]:
        return
    if set(workflow["on"]) != {"workflow_run"}:
        yield "writes, and is started neither by a push nor by the end of another workflow"
    if not _writes(workflow) <= WRITES:
        yield f"writes {sorted(_writes(workflow) - WRITES)}"
    for job in _jobs(workflow):
        if "github.event.workflow_run.event == 'pull_request' &&" not in job.get("if", ""):
            yield "takes runs that no pull request started"
        if job.get("runs-on") != "ubuntu-24.04":
            yield "runs elsewhere than on a fresh machine"
    for step in _steps(workflow):
        yield from _posting_step(step)
    holders = [step for step in _steps(workflow) if "token" in str(step.get("env", {})).lower()]
    if [step.get("run", "").strip() for step in holders] != [_POST]:
        yield "others than the poster have the token in their environment"
    if "env" in workflow or any("env" in job for job in _jobs(workflow)):
        yield "an environment is set for several steps"


def _posting_step(step: Json) -> Iterator[str]:
    inputs = step.get("with", {})
    if "run" in step and step["run"].strip() not in (_BUILD, _POST):
        yield f"runs {step['run'].strip()[:60]!r}"
    if "uses" in step and not step["uses"].startswith((*_ACTIONS, *_CACHES)):
        yield f"uses {step['uses']}"
    if step.get("uses", "").startswith("actions/checkout@") and inputs not in _CHECKOUTS:
        yield "checks out something else than the default branch and the history"
    if step.get("uses", "").startswith("actions/download-artifact@"):
        if inputs.get("path") != "${{ runner.temp }}/perf-bot":
            yield "a stranger's files go into the checkout"
    if "working-directory" in step:
        yield "runs in a folder of its own"


def keepers(workflow: Json) -> Iterator[str]:
    """After a push of the main branch, one job may write: it keeps the history, and measures
    nothing.
    """
    if not _writes(workflow) or "push" not in workflow["on"]:
        return
    push = workflow["on"]["push"]
    if not isinstance(push, dict) or push.get("branches") != _BRANCHES:
        yield "writes after a push to any branch"
    for job in _jobs(workflow):
        if "write" not in job.get("permissions", {}).values():
            continue
        if job["permissions"] != {"contents": "write"}:
            yield f"writes {sorted(job['permissions'])}"
        if [s["run"].strip() for s in job["steps"] if "run" in s] != [_KEEP]:
            yield "a job that writes does more than to keep the history"
        if not all(s["uses"].startswith(_ACTIONS) for s in job["steps"] if "uses" in s):
            yield "a job that writes uses other actions"


RULES: tuple[Callable[[Json], Iterable[str]], ...] = (
    triggers,
    permissions,
    pins,
    scripts,
    credentials,
    strangers,
    caches,
    posters,
    keepers,
)
