"""A measured program that misbehaves on demand: `fake_program.py MODE [SECONDS]`.

It uses the standard library alone and ends at once, so that tests of the runner stay quick.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time


def line(**changes: object) -> None:
    """Prints a metric, with changes."""
    value = {"metric": "t", "unit": "s", "samples": [0.001], "check": {"sum": 6.0}}
    print(json.dumps(value | changes), flush=True)


def main() -> None:
    """Does what the mode says."""
    mode = sys.argv[1]
    if mode == "good":
        print("a line of chatter")
        line(samples=[float(sys.argv[2])], rss_beyond_import_bytes=1 << 20)
    elif mode == "wrong":
        line(check={"sum": 6.5})
    elif mode == "nan":
        line(check={"sum": float("nan")})
    elif mode == "unchecked":
        line(check={})
    elif mode == "negative":
        line(samples=[-1.0])
    elif mode == "unit":
        line(unit="images/s")
    elif mode == "other":
        line(metric="another")
    elif mode == "twice":
        line()
        line()
    elif mode == "silent":
        print("nothing of note")
    elif mode == "garbled":
        print('{"metric": "t", "samples": [0.0')
    elif mode == "deep":
        print('{"a":' * 100_000)
    elif mode == "crash":
        line()
        os.kill(os.getpid(), signal.SIGSEGV)
    elif mode == "exit":
        line()
        sys.exit("out of cheese")
    elif mode == "hang":
        line()
        time.sleep(600.0)
    elif mode == "orphan":
        sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        line(check={"pid": sleeper.pid})
    elif mode == "env":
        line(check={"env": {k: v for k, v in os.environ.items() if "BENCH" in k or "PATH" in k}})


if __name__ == "__main__":
    main()
