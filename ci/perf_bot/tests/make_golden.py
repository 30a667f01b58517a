"""Makes the golden result and its comment anew: `python -m ci.perf_bot.tests.make_golden`.

The result comes from a simulated run, whose costs are drawn by Python's generator; so it is
committed, and the test only renders it.
"""

from __future__ import annotations

import json
from pathlib import Path

from ci.perf_bot.render import render
from ci.perf_bot.tests import samples


def main() -> None:
    """Writes golden.json and golden.md beside this file."""
    folder = Path(__file__).resolve().parent
    result = samples.regression()
    text = json.dumps(result, indent=1, sort_keys=True)
    (folder / "golden.json").write_text(text + "\n", encoding="utf-8")
    (folder / "golden.md").write_text(render(result), encoding="utf-8")


if __name__ == "__main__":
    main()
