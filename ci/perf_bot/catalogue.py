"""The bot's own cases. A new one is a new entry here; its program is a script of `bench`.

* `resnet50/16` to `resnet50/1`, `bert`: training steps as graphs, beside PyTorch as people run it;
  measured when no case is named. `resnet50-eager/...`, `bert-eager`: the same op by op.
* `digits`: a small perceptron, whose step is mostly the framework's own time. `ops/...`: tiny ops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench import digits_reference
from bench.models import cases as models
from bench.ops.rows import ROWS
from ci.perf_bot.cases import Case, Catalogue, Measured
from ci.perf_bot.schema import TIME

Entry = tuple[Case, Measured]

# Three steps before the timed ones, then a second of them: a process is its own repetition.
_HOW = ("--warm", "3", "--least", "2", "--seconds", "1")
# Dropout draws from each library's own numbers, and so moves the loss of the first step: two of
# them differ by 0.34 % (standard deviation, BERT-base at 8 x 128); six times that is let pass.
_DROPOUT_RTOL, _RTOL = 0.02, 1e-3


def make_catalogue() -> Catalogue:
    """All cases and their programs."""
    entries = [*_models("graph"), _digits(), *_models("eager"), *_ops()]
    return Catalogue(
        {case.name: case for case, _ in entries},
        {case.program: measured for case, measured in entries},
    )


def _models(setting: str) -> Iterator[Entry]:
    """ResNet-50 by batch, BERT-base; each case has processes of its own."""
    suffix = "" if setting == "graph" else f"-{setting}"
    for case in models.usual("resnet50"):
        shape = (case.batch, 3, 224, 224)
        yield _model(case, f"resnet50{suffix}/{case.batch}", setting, "images", shape, _RTOL)
    bert = models.usual("bert-base")[0]
    yield _model(
        bert, f"bert{suffix}", setting, "sequences", (bert.batch, bert.sequence), _DROPOUT_RTOL
    )


def _model(
    case: models.Case, name: str, setting: str, item: str, shape: tuple[int, ...], rtol: float
) -> Entry:
    described = Case(
        name=name,
        title=f"{case.title()}, {setting}",
        model=case.model,
        program=name,
        metric=str(case),
        items=case.batch,
        item=item,
        input_shape=shape,
        default=setting == "graph",
    )
    words = (setting, str(case), *_HOW)
    theirs = ("eager", str(case), *_HOW)
    script = "bench/models/step_main.py"
    return described, Measured(script, words, theirs, rtol=rtol, timeout_s=600.0)


def _digits() -> Entry:
    case = Case(
        name="digits",
        title="perceptron on digits, training step, batch 32",
        model="digits perceptron",
        program="digits",
        metric="step_time",
        items=digits_reference.BATCH,
        item="images",
        input_shape=(digits_reference.BATCH, digits_reference.SIZES[0]),
    )
    return case, Measured("bench/digits_main.py", prepare=_digits_task, timeout_s=120.0)


def _ops() -> Iterator[Entry]:
    expected = {row.metric: {"value": row.expected} for row in ROWS}
    measured = Measured("bench/ops/micro_main.py", expected=expected, timeout_s=120.0)
    for row in ROWS:
        # The processes of tiny ops hold all of them: memory and first step are no one's own.
        case = Case(
            name=f"ops/{row.metric}",
            title=row.statement,
            model=row.metric,
            program="ops",
            metric=row.metric,
            figures=(TIME,),
            item="ops",
            input_shape=(1,),
            backward=False,
        )
        yield case, measured


def _digits_task(folder: Path) -> tuple[tuple[str, ...], Mapping[str, Mapping[str, Any]]]:
    """Writes the task that the processes read; the losses that training it must give."""
    from sklearn.datasets import load_digits

    data = load_digits()
    task = digits_reference.make_task(data.data, data.target)
    path = folder / "digits.npz"
    task.save(path)
    losses = digits_reference.reference_losses(task)
    return (str(path),), {"step_time": {"losses": losses}}
