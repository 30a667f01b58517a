"""Results and histories for tests, each made by the bot's own way from a simulated run."""

from __future__ import annotations

from typing import Any

from bench.harness.launch import Failure
from ci.perf_bot import history, record
from ci.perf_bot.schema import BASE, BASE_AGAIN, HEAD, PYTORCH
from ci.perf_bot.tests.simulated import Simulated, case, normal, run

Json = dict[str, Any]

COSTS = {BASE: 0.1, HEAD: 0.1, BASE_AGAIN: 0.1, PYTORCH: 0.12}
RESNET = case(
    "resnet50/16",
    title="ResNet-50 training step, batch 16",
    model="resnet50",
    items=16,
    item="images",
    input_shape=(16, 3, 224, 224),
)
BERT = case("bert", title="BERT-base training step", model="bert", items=8, item="sequences")


def result(head: float = 0.1, base: float = 0.1, **machine: Any) -> Json:
    """A result of two rows whose sides cost this much; other words go to the machine."""
    costs = {**COSTS, HEAD: head, BASE: base, BASE_AGAIN: base}
    return record.result_of(run([RESNET, BERT], Simulated(costs, **machine)))


def regression() -> Json:
    """A head that is 4 % slower."""
    return result(0.104)


def invalid() -> Json:
    """A machine that others use."""
    return result(0.104, foreign=0.25)


def noisy() -> Json:
    """A machine too noisy to decide anything."""
    return result(noise=normal(0.2))


def broken(detail: str = "died of SIGSEGV: Traceback\n  in kernel") -> Json:
    """A head that crashes."""
    return result(fails={HEAD: Failure("signal", detail)})


def unbuilt(detail: str = "ended with status 1: INFO\nx.cc:3: error: expected ';'") -> Json:
    """A head that does not build."""
    found = regression()
    fault = record.error("build", "build failed", detail, side=HEAD)
    return {**found, "status": "build failed", "rows": [], "errors": [fault]}


def past(count: int) -> list[Json]:
    """A history of commits, each a little faster than the one before; the fourth was slower."""
    entries, base = [], 0.12
    for number in range(count):
        head = 0.12 - 0.001 * number + (0.02 if number == 3 else 0.0)
        made, base = result(head, base, seed=number), head
        made["head"] |= {
            "commit": f"{number:040x}",
            "subject": f"change {number} <b>",
            "time": f"2026-11-{number + 1:02d}T12:00:00Z",
        }
        entries.append(history.entry_of(made))
    return entries
