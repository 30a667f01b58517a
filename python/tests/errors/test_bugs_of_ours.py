"""A bug of ours says where it is, in our sources, and asks for a report."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support import must_fail

import oneflow as flow

internal = flow._oneflow_internal
FACTS = (
    f"OneFlow {flow.__version__}, Python {platform.python_version()}, {platform.system()} "
    f"{platform.release()} on {platform.machine()}"
)
HEAD = """\
{message}
This is a bug in OneFlow, please report it with these lines and, if you can, a program that shows \
it:
"""
FRAMES = """\
  oneflow/common/tripped_check.cc:N: First(1, text)
  oneflow/common/tripped_check.cc:N: Second(depth + 1, text)
  oneflow/common/tripped_check.cc:N: Third(depth + 1, text)
  oneflow/common/tripped_check.cc:N: depth < 3
  {facts}"""


KERNEL = "  oneflow/vm/instruction.cc:N: kernel->run(call)\n"


def check(text: str, message: str, outer: str = "") -> None:
    """The report, but for the numbers of the lines, which are not all the same.

    Args:
        text: of the exception
        message: its first line
        outer: what the frames above those of the check are, a pattern
    """
    numbers = re.findall(r"tripped_check\.cc:(\d+): ", text)
    assert len(set(numbers)) == 4
    text = re.sub(r"\.cc:\d+: ", ".cc:N: ", text)
    head, frames = HEAD.format(message=message), FRAMES.format(facts=FACTS)
    assert text.startswith(head)
    assert text.endswith(frames)
    assert re.fullmatch(outer, text[len(head) : -len(frames)])


@pytest.fixture(autouse=True)
def usual_mode() -> Iterator[None]:
    yield
    flow.cpu.synchronize()
    internal.set_vm_mode("auto")


def test_in_a_call() -> None:
    with pytest.raises(flow.InternalError) as caught:
        internal.trip_internal_check()
    check(str(caught.value), "[trip_internal_check] on purpose")
    with pytest.raises(AssertionError):
        check(str(caught.value).replace("Second", "Third"), "[trip_internal_check] on purpose")


def test_in_a_kernel_where_it_was_issued() -> None:
    internal.set_vm_mode("inline")
    with pytest.raises(flow.InternalError) as caught:
        flow._C.throw_error(flow.ones(1), kind="internal")
    outer = r"(  oneflow/[\w/]+\.cc:N: .+\n)+" + re.escape(KERNEL)
    check(str(caught.value), "[throw_error] throw error kernel", outer)
    assert caught.value.op == "throw_error"  # type: ignore[attr-defined]


def test_on_a_thread_of_the_vm() -> None:
    internal.set_vm_mode("queued")
    y = flow._C.throw_error(flow.ones(1), kind="internal")
    for _ in range(2):
        with pytest.raises(flow.InternalError) as caught:
            y.numpy()
        report, stack = str(caught.value).split("\nRelated Python stack trace:\n")
        check(report, "[throw_error] throw error kernel", re.escape(KERNEL))
        assert 'y = flow._C.throw_error(flow.ones(1), kind="internal")' in stack
    assert issubclass(flow.InternalError, RuntimeError)


def absolute_sources(binary: bytes) -> list[str]:
    """Names of source files in it that begin at the root, the system's own headers apart."""
    found = re.findall(rb"[\x20-\x7e]*/[\w./+-]+\.(?:cc|cpp|h|hpp|inc)\b", binary)
    names = {text.decode() for text in found}
    return sorted(n for n in names if n.startswith("/") and not n.startswith("/usr/"))


def check_binary(binary: bytes, here: str) -> None:
    """It names our sources from the project's root on, and nothing of the machine that built it."""
    assert b"oneflow/common/tripped_check.cc" in binary
    assert absolute_sources(binary) == []
    for path in (b"/execroot/", b"/sandbox/", here.encode()):
        assert path not in binary


def test_the_extension_names_nothing_of_the_machine_that_built_it() -> None:
    binary = Path(str(internal.__file__)).read_bytes()
    here = str(Path.home()) if len(str(Path.home())) > 1 else "/execroot/"
    check_binary(binary, here)
    must_fail(check_binary, binary + b"\0/build/oneflow/vm/vm.cc\0", here)
    must_fail(check_binary, binary + b"\0" + here.encode() + b"/x\0", here)
    must_fail(check_binary, b"", here)


def test_what_a_program_sees(capfd: Any) -> None:
    """Nothing is printed where the exception is caught."""
    with pytest.raises(flow.InternalError):
        internal.trip_internal_check()
    assert capfd.readouterr() == ("", "")
