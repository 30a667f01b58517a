"""The measured process of the case file: `cases_main.py oneflow|torch FAMILY [SIZE|CASE ...]`.

SIZE is a class of sizes, CASE the name of a figure, such as "add / 1 kB"; none stands for all.
A figure is that of one statement. PyTorch reports, for cases that name one, a second figure: with a
result tensor that was there, its pages touched; OneFlow reports its own figure again beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any

import numpy as np

from bench.harness.process import measure_statement, shuffled
from bench.library import start
from bench.ops.cases import FAMILIES, SIZES, Case, metric, out_metric
from bench.ops.operands import numbers

_BATCHES, _TIMINGS, _WARMUP_S = 3, 5, 0.02


def names_of(library: Any, case: Case, n: int) -> dict[str, Any]:
    """What a statement sees."""
    rng = np.random.default_rng(n)
    names: dict[str, Any] = {"library": library, "F": library.nn.functional}
    for name, text in case.operands.items():
        word, _, kind = text.partition(":")
        tensor = library.tensor(numbers(word, kind, n, rng))
        if kind == "bfloat16":
            tensor = tensor.to(library.bfloat16)
        if kind == "grad":
            tensor.requires_grad_()
        names[name] = tensor
    names |= _helpers(library, case, names)
    return names


def _helpers(library: Any, case: Case, names: dict[str, Any]) -> dict[str, Any]:
    """Modules and functions that a statement names."""
    nn = library.nn
    word = case.statement.partition("(")[0].partition(".")[0]
    if word == "group_norm":
        return {word: nn.GroupNorm(names["x"].shape[1] // 2, names["x"].shape[1])}
    if word == "pixel_shuffle":
        return {word: nn.PixelShuffle(2)}
    if word == "attention":
        return {word: nn.functional.scaled_dot_product_attention}
    if word == "lstm":
        library.manual_seed(0)
        size = names["x"].shape[2]
        lstm = nn.LSTM(size, size)
        rng = np.random.default_rng(1)
        for parameter in lstm.parameters():
            values = rng.uniform(-0.1, 0.1, tuple(parameter.shape)).astype(np.float32)
            parameter.data.copy_(library.tensor(values))
        return {word: lstm}
    if word in ("sgd", "adamw"):
        parts = [p.detach().clone().requires_grad_() for p in names["p"].chunk(16)]
        for part in parts:
            part.grad = part.detach().clone()
        made = (
            library.optim.SGD(parts, lr=1e-9, momentum=0.9)
            if word == "sgd"
            else library.optim.AdamW(parts, lr=1e-9)
        )
        return {word: made, "parts": parts}
    return {}


def check_of(value: Any, names: dict[str, Any], random: bool) -> dict[str, Any]:
    """A few numbers of the result that any correct library gives."""
    value = names["parts"][0] if value is None else value
    value = value[0] if isinstance(value, (list, tuple)) else value
    shape = list(value.shape)
    if random:
        return {"shape": shape}
    wide = value.detach().to(names["library"].float64).numpy().ravel()
    part = wide[:: max(1, wide.size // 1000)]
    return {"shape": shape, "mean": float(np.mean(np.abs(part))) if part.size else 0.0}


def chosen(family: str, wanted: Collection[str]) -> list[tuple[Case, str]]:
    """The cases of a family that the command line means, each in a class of sizes."""
    return [
        (case, size)
        for case in FAMILIES[family]
        for size in case.sizes
        if not wanted or size in wanted or metric(case, size) in wanted
    ]


def main() -> None:
    """Times the cases of one family, and reports each."""
    wanted = set(sys.argv[3:])
    del sys.argv[3:]
    library, reporter, args = start("Times the case file.", "family")
    for case, size in shuffled(chosen(args.family, wanted)):
        names = names_of(library, case, SIZES[size])
        value = eval(case.statement, names)
        check = check_of(value, names, args.family == "random")
        finish = "" if args.library == "torch" else "library._oneflow_internal.eager.Sync()"
        options = {"batches": _BATCHES, "timings": _TIMINGS, "warmup_s": _WARMUP_S}
        timing = measure_statement(case.statement, names, finish=finish, **options)  # type: ignore[arg-type]
        reporter.report(metric(case, size), timing, check=check)
        if case.out:
            if args.library == "torch":
                names["out"] = value.clone()
                timing = measure_statement(case.out, names, **options)  # type: ignore[arg-type]
            reporter.report(out_metric(case, size), timing, check=check)


if __name__ == "__main__":
    main()
