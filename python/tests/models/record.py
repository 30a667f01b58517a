"""Writes recorded.json, with PyTorch; see README.md."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

from tests.models.networks import NETWORKS
from tests.models.training import train


def main() -> None:
    """Trains each network."""
    torch = importlib.import_module("torch")
    recorded = {"version": torch.__version__, **{name: train(torch, name) for name in NETWORKS}}
    path = Path(__file__).with_name("recorded.json")
    path.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
