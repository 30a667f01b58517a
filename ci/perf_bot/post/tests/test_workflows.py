"""The workflows keep to the rules, and the rules find what is planted."""

from __future__ import annotations

from pathlib import Path

import pytest

from ci.perf_bot.post.tests.workflow_rules import faults

FOLDER = Path(".github/workflows")
MEASURE, POST, HISTORY = "perf_measure.yml", "perf_post.yml", "perf_history.yml"


def texts() -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(FOLDER.iterdir())}


def test_the_workflows_keep_to_the_rules() -> None:
    assert {MEASURE, POST, HISTORY} <= set(texts())
    assert faults(texts()) == []


CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1"
CACHE = "actions/cache/restore@27d5ce7f107fe9357f9df03efb73ab90386fccae"
TOKEN = "        env:\n          GITHUB_TOKEN: ${{ github.token }}\n"

PLANTED = [
    (MEASURE, "  pull_request:\n", "  pull_request_target:\n", "starts on pull_request_target"),
    (MEASURE, "permissions: {}", "permissions: write-all", "at the top"),
    (MEASURE, "\npermissions: {}\n", "\n", "at the top"),
    (MEASURE, "      contents: read", "      contents: write", "a pull request's code has"),
    (MEASURE, "    permissions:\n      contents: read\n", "", "no permissions of its own"),
    (MEASURE, "    timeout-minutes: 300\n", "", "no end in time"),
    (MEASURE, CHECKOUT, "actions/checkout@v7", "not pinned"),
    (MEASURE, CHECKOUT, "./.github/actions/mine", "not pinned"),
    (MEASURE, " # v7.0.1", "", "which version"),
    (MEASURE, '"$HEAD"', '"${{ github.head_ref }}"', "an expression in the script"),
    (MEASURE, "persist-credentials: false", "persist-credentials: true", "keeps its credentials"),
    (MEASURE, "          persist-credentials: false\n", "", "keeps its credentials"),
    (
        MEASURE,
        "          HEAD: ${{",
        "          KEY: ${{ secrets.KEY }}\n          HEAD: ${{",
        "sees",
    ),
    (
        MEASURE,
        "          HEAD: ${{",
        "          KEY: ${{ github.token }}\n          HEAD: ${{",
        "sees",
    ),
    (MEASURE, "export XDG_CACHE_HOME", "export XDG_CACHE", "an earlier job may have left"),
    (HISTORY, '"$(mktemp -d -p "$RUNNER_TEMP")"', '"$HOME/.cache"', "an earlier job may have left"),
    (MEASURE, CHECKOUT, CACHE, "a cache that other jobs write"),
    (POST, "path: ${{ runner.temp }}/perf-memory", "path: bazel-bin", "a cache that other jobs"),
    (POST, "key: perf-memory-${{ github.run_id }}", "key: x", "a cache that other jobs write"),
    (POST, "perf-memory/comments.json", "perf-bot/comments.json", "runs"),
    (POST, "  workflow_run:\n", "  workflow_run:\n  push:\n", "more than one event"),
    (POST, "      - perf measure", "      - perf measurement", "no workflow here"),
    (POST, "event == 'pull_request'", "event != ''", "no pull request started"),
    (POST, "statuses: write", "contents: write", "writes ['contents']"),
    (POST, "statuses: write", "id-token: write", "writes ['id-token']"),
    (POST, "      pull-requests: write", "      pull-requests: write-all", "may write all"),
    (
        POST,
        "          persist-credentials: false\n",
        "          persist-credentials: false\n"
        "          ref: ${{ github.event.workflow_run.head_sha }}\n",
        "something else than the default branch",
    ),
    (
        POST,
        "          persist-credentials: false\n",
        "          persist-credentials: false\n          repository: eve/flow\n",
        "something else than the default branch",
    ),
    (POST, "path: ${{ runner.temp }}/perf-bot", "path: .", "into the checkout"),
    (
        POST,
        "tools/bazel build //ci",
        "bash $RUNNER_TEMP/perf-bot/x; tools/bazel build //ci",
        "runs",
    ),
    (POST, "bazel-bin/ci/perf_bot/post/post", "$RUNNER_TEMP/perf-bot/post", "runs"),
    (POST, "actions/download-artifact@", "actions/cache@", "uses actions/cache"),
    (POST, "      - name: Build\n", "      - name: Build\n" + TOKEN, "others than the poster"),
    (POST, "    steps:\n", "    env:\n      A: b\n    steps:\n", "for several steps"),
    (POST, "          ref: perf-history\n", "          ref: eve\n", "and the history"),
    (HISTORY, "      - main\n      - master\n", "      - '*'\n", "any branch"),
    (HISTORY, "    branches:\n      - main\n      - master\n", "", "any branch"),
    (HISTORY, "contents: write", "packages: write", "writes ['packages']"),
    (HISTORY, "      - name: Keep\n", "      - run: make\n      - name: Keep\n", "does more than"),
    (HISTORY, "persist-credentials: false", "persist-credentials: true", "keeps its credentials"),
    (POST, "runs-on: ubuntu-24.04", "runs-on: self-hosted", "a fresh machine"),
    (POST, "      - name: Build\n", "      - name: Build\n        shell: python\n", "shell"),
]


@pytest.mark.parametrize(("name", "old", "new", "words"), PLANTED)
def test_finds_a_planted_fault(name: str, old: str, new: str, words: str) -> None:
    before = texts()
    assert old in before[name]
    changed = before | {name: before[name].replace(old, new)}
    assert any(words in fault for fault in faults(changed)), faults(changed)
