"""The suites of bad input, of failing kernels and of no memory, while somebody watches: nobody ends
the process from our code, but for the one place.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.faults import interpose

TESTS = Path(__file__).absolute().parent.parent
SUITES = [("test_errors.py", "auto"), ("ops/test_bad_input.py", "queued")]

RUN = """
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:faulthandler", {path!r}]))
"""


@pytest.mark.parametrize(("suite", "mode"), SUITES)
def test_nobody_ends_the_process(suite: str, mode: str) -> None:
    program = RUN.format(path=str(TESTS / suite))
    ended, calls = interpose.run(program, None, {"ONEFLOW_VM_MODE": mode}, timeout=250)
    assert interpose.forbidden(calls) == [], ended.stdout
    assert ended.status == 0, ended.stdout
    passed = re.search(r"(\d+) passed", ended.stdout)
    assert passed is not None and int(passed[1]) > 90, ended.stdout
