"""A measured program for tests: `fake_case.py oneflow|torch [NAME]`.

It takes the library's word for what a step costs, adds noise, and ends at once. The library is a
module with the constants COST (seconds), MEMORY (bytes), FIRST (seconds), NOISE, and FAULT.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import sys
import time
from typing import Any


def main() -> None:
    """Prints one metric, or misbehaves as the library says."""
    library: Any = importlib.import_module(sys.argv[1])
    fault = getattr(library, "FAULT", "")
    if fault == "crash":
        os.abort()
    if fault == "hang":
        time.sleep(600.0)
    draw = random.Random(os.urandom(8))
    noise = getattr(library, "NOISE", 0.002)
    line = {
        "metric": "step_time",
        "unit": "s",
        "samples": [library.COST * draw.lognormvariate(0.0, noise)],
        "first": library.FIRST * draw.lognormvariate(0.0, noise),
        "rss_beyond_import_bytes": library.MEMORY,
        "check": {"sum": 7.0 if fault == "wrong" else 6.0},
    }
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
