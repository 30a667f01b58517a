"""With a fault planted, these suites turn red."""

from __future__ import annotations

import pytest
from tests.faults import faulty
from tests.support import must_fail

# The fault, and a test of this folder that notices it.
PLANTS = {
    "backward_names_the_call_only": (
        "from tests.autograd import test_backward_errors as suite\n"
        "flow._oneflow_internal.set_vm_mode('inline')\n"
        "suite.check_both_lines(suite.call, '# the call')\n"
    ),
    "anomaly_names_a_later_nan": (
        "from tests.autograd import test_anomaly as suite\n"
        "suite.check_named(*suite.CASES['two in a row'])\n"
    ),
    "collector_sees_no_hooks": (
        "from tests.autograd import test_collector as suite\n"
        "suite.check_dies(suite.hook_of_a_result)\n"
    ),
}


def check(program: str, fault: str | None) -> None:
    """The program's checks hold."""
    ended = faulty.run(program + "print('held')", fault)
    assert (ended.status, ended.stdout) == (0, "held\n"), ended.stderr


@pytest.mark.parametrize("fault", list(PLANTS))
def test_a_plant_turns_it_red(fault: str) -> None:
    check(PLANTS[fault], None)
    must_fail(check, PLANTS[fault], fault)
    assert "AssertionError" in faulty.run(PLANTS[fault], fault).stderr
