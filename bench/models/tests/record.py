"""What PyTorch gives for the tiny models: makes and reads recorded.json; see README.md."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

from bench.models.cases import parse
from bench.models.first_steps import record
from bench.models.task import Task

PATH = Path(__file__).with_name("recorded.json")
CASES = (
    "resnet-tiny:b4:fp32:train",
    "resnet-tiny:b4:bf16:train",
    "resnet-tiny:b4:fp32:inference",
    "bert-tiny:b2:s16:fp32:train",
    "bert-tiny:b2:s16:bf16:train",
    "bert-tiny:b2:s16:fp32:inference",
)
CURVES = ("resnet-tiny:b4:fp32:train", "bert-tiny:b2:s16:fp32:train")
CURVE_STEPS = 200


def curve(library: Any, setting: str, case: str) -> list[float]:
    """The losses of many steps without dropout."""
    task = Task(library, parse(case), setting, dropout=False)
    return [task.step() for _ in range(CURVE_STEPS)]


def recorded() -> dict[str, Any]:
    """The content of the file."""
    return dict(json.loads(PATH.read_text(encoding="utf-8")))


def text_of(found: dict[str, Any]) -> str:
    """JSON with a line for each list, of numbers to 9 digits, which float32 has."""
    plain = json.loads(json.dumps(found), parse_float=lambda text: float(f"{float(text):.9g}"))
    text = json.dumps(plain, indent=1)
    return re.sub(r"\[[^\[\]{}]*\]", lambda m: " ".join(m[0].split()), text) + "\n"


def main() -> None:
    """Writes the file."""
    torch = importlib.import_module("torch")
    found = {
        "version": torch.__version__,
        "first_steps": {case: record(torch, "eager", parse(case)) for case in CASES},
        "curves": {case: curve(torch, "eager", case) for case in CURVES},
    }
    PATH.write_text(text_of(found), encoding="utf-8")


if __name__ == "__main__":
    main()
