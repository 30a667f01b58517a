"""What an op's exception is: type, `op`, `stack`, text; and that it is an ordinary exception."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import sys
import threading
import traceback
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import oneflow as flow

HEADING = "\nRelated Python stack trace:\n"


@pytest.fixture(params=["inline", "queued", "random"])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    flow._oneflow_internal.set_vm_mode(request.param)
    yield request.param
    flow._oneflow_internal.set_vm_mode("auto")


@pytest.fixture
def queued() -> Iterator[None]:
    flow._oneflow_internal.set_vm_mode("queued")
    yield
    flow._oneflow_internal.set_vm_mode("auto")


def caught(action: Any) -> Any:
    """The exception that an action must end in."""
    with pytest.raises(Exception) as info:
        action()
    return info.value


def fails() -> Any:
    return flow._C.throw_error(flow.ones(1))  # the line at fault


loose: Any = flow  # wrong types on purpose

# What an op refuses when it is issued, and its name in `op` and in the message.
REFUSED: list[tuple[Any, str]] = [
    (lambda: flow.ones(2) + flow.ones(3), "add"),
    (lambda: flow.add(flow.ones(2), flow.ones(3)), "add"),
    (lambda: loose.add(flow.ones(2)), "add"),
    (lambda: loose.add(flow.ones(2), "x"), "add"),
    (lambda: loose.add(flow.ones(2), 2**70), "add"),
    (lambda: flow.ones(2) + 2**70, "add"),
    (lambda: 2**70 - flow.ones(2), "sub"),
    (lambda: flow.ones(2, dtype=loose.int32) - 2**40, "sub"),
    (lambda: flow.ones(-1), "ones"),
    (lambda: flow.zeros(1 << 44), "zeros"),
    (lambda: flow.full((1 << 44,), 1), "full"),
    (lambda: flow.full_like(flow.ones(1, dtype=loose.int8), 300), "full_like"),
    (lambda: flow.ones(2).fill_(float("nan")) + flow.ones(2).long().fill_(float("nan")), "fill_"),
    (lambda: flow.arange(5, 0), "arange"),
    (lambda: flow.ones(2, 3) @ flow.ones(2, 3), "matmul"),
    (lambda: flow.ones(2).view(3), "view"),
    (lambda: flow.ones(2).reshape(3), "reshape"),
    (lambda: flow.ones(2).narrow(0, 1, 5), "narrow"),
    (lambda: flow.ones(2)[7], "getitem"),
    (lambda: flow.ones(2).sum(3), "sum"),
    (lambda: flow.ones(2).copy_(flow.ones(3)), "copy_"),
    (lambda: flow.nn.functional.cross_entropy(flow.ones(2, 3), flow.ones(2)), "cross_entropy"),
    (lambda: flow.nn.functional.linear(flow.ones(2, 3), flow.ones(2, 4)), "linear"),
    (lambda: flow.ones(1, device="cuda"), "ones"),
]


@pytest.mark.parametrize(("action", "op"), REFUSED)
def test_what_is_refused_at_the_line_names_op_and_line(mode: str, action: Any, op: str) -> None:
    error = caught(action)
    assert error.op == op
    assert str(error).startswith(f"[{op}] "), str(error)
    inner = [frame for frame in error.stack if frame.filename == __file__]
    assert inner[-1].lineno == action.__code__.co_firstlineno
    assert HEADING not in str(error)  # Python's own traceback shows the line
    assert not error.forward_stack and not error.backward_stack


def test_a_kernel_inside_another_op_is_named_alike_in_every_mode(mode: str) -> None:
    error = caught(
        lambda: flow.nn.functional.cross_entropy(flow.ones(2, 3), flow.tensor([1, 7])).item()
    )
    assert (type(error), error.op) == (IndexError, "cross_entropy")
    assert str(error).startswith("[cross_entropy] expects")


NO_OP: list[Any] = [
    lambda: loose.tensor("abc"),
    lambda: loose.device(3),
    lambda: loose.zeros(2.5),
    lambda: loose.no_such_name,
    lambda: loose.ones(2) + "a",
    lambda: loose.ones(2).item(),
]


@pytest.mark.parametrize("action", NO_OP)
def test_what_comes_from_no_op_claims_none(action: Any) -> None:
    error = caught(action)
    assert not hasattr(error, "op")
    assert not hasattr(error, "stack")


def test_the_stack_is_pythons_own_type(queued: None) -> None:
    result = fails()
    error = caught(result.numpy)
    assert isinstance(error.stack, traceback.StackSummary)
    last = error.stack[-1]
    assert (last.filename, last.name) == (__file__, "fails")
    assert last.lineno == fails.__code__.co_firstlineno + 1
    assert last.line == "return flow._C.throw_error(flow.ones(1))  # the line at fault"
    if sys.version_info >= (3, 11):
        assert last.line[last.colno - 4 : last.end_colno - 4] == (
            "flow._C.throw_error(flow.ones(1))"
        )
    caller = error.stack[-2]
    assert (caller.name, caller.line) == ("test_the_stack_is_pythons_own_type", "result = fails()")
    assert "in fails" in "".join(error.stack.format())


def test_each_read_raises_a_new_exception_of_the_same_text(queued: None) -> None:
    result = fails()
    derived = result + 1  # it was never computed: the root error is what its reader gets
    errors = [caught(r.numpy) for r in (result, derived, result)]
    assert len({id(e) for e in errors}) == 3
    assert len({str(e) for e in errors}) == 1
    depths = {len(traceback.extract_tb(e.__traceback__)) for e in errors}
    assert len(depths) == 1  # tracebacks do not grow
    assert [e.__context__ for e in errors] == [None] * 3


class Local:
    """Something to be found alive."""


def test_no_frame_is_kept_alive(queued: None) -> None:
    def issue() -> tuple[Any, Any]:
        local = Local()
        return flow._C.throw_error(flow.ones(1)), weakref.ref(local)

    result, local = issue()
    error = caught(result.numpy)
    error.__traceback__ = None
    gc.collect()
    assert local() is None
    assert error.stack[-1].name == "issue"


def same_error(copied: Any, error: Any) -> None:
    assert type(copied) is type(error)
    assert str(copied) == str(error)
    assert copied.op == error.op
    assert list(copied.stack) == list(error.stack)


@pytest.mark.parametrize("kind", ["runtime", "out_of_memory", "internal", "environment"])
def test_it_survives_pickling_and_copies(queued: None, kind: str) -> None:
    result = flow._C.throw_error(flow.ones(1), kind=kind)
    error = caught(result.numpy)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        same_error(pickle.loads(pickle.dumps(error, protocol)), error)
    same_error(copy.copy(error), error)
    same_error(copy.deepcopy(error), error)


def test_it_can_be_a_cause_get_notes_and_be_grouped(queued: None) -> None:
    error = caught(fails().numpy)

    def wrap() -> None:
        raise ValueError("outer") from error

    outer = caught(wrap)
    assert outer.__cause__ is error
    assert HEADING in "".join(traceback.format_exception(outer))
    if sys.version_info >= (3, 11):
        error.add_note("while it was tested")
        assert traceback.format_exception(error)[-1] == "while it was tested\n"
        group = ExceptionGroup("two", [error, ValueError("x")])  # noqa: F821
        assert group.subgroup(RuntimeError).exceptions == (error,)


def test_the_exception_under_way_is_the_context(queued: None) -> None:
    def handle() -> None:
        try:
            raise KeyError("first")
        except KeyError:
            fails().numpy()

    assert isinstance(caught(handle).__context__, KeyError)


CALL = "flow._C.throw_error(x)"
# Lines of source, what must be printed of the first, and what beneath it (3.11 and later).
MARKED: dict[str, tuple[str, str, str]] = {
    "plain": (f"    return {CALL}\n", f"return {CALL}", " " * 7 + "^" * 22),
    "tab": (f"\treturn\t{CALL}\n", f"return\t{CALL}", " " * 6 + "\t" + "^" * 22),
    "two columns wide": (
        f'    return "\u65e5\u672c", {CALL}\n',
        f'return "\u65e5\u672c", {CALL}',
        " " * 15 + "^" * 22,
    ),
    "two bytes long": (
        f'    return "\u00e9\u00e8", {CALL}\n',
        f'return "\u00e9\u00e8", {CALL}',
        " " * 13 + "^" * 22,
    ),
    "several lines": (
        "    return flow._C.throw_error(\n        x,\n    )\n",
        "return flow._C.throw_error(",
        " " * 7 + "^" * 20,
    ),
    "very long": (
        f"    return '{'a' * 5000}', {CALL}\n",
        f"return '{'a' * 5000}', {CALL}",
        " " * 5011 + "^" * 22,
    ),
    "the whole line": (f"    {CALL}\n", CALL, ""),
}


@pytest.mark.parametrize("name", MARKED)
def test_the_call_is_marked(queued: None, name: str, tmp_path: Path) -> None:
    source, line, marks = MARKED[name]
    file = tmp_path / "marked.py"
    file.write_text(f"def f(x):\n{source}", encoding="utf-8")
    namespace: dict[str, Any] = {"flow": flow}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), namespace)
    result = namespace["f"](flow.ones(1))
    if result is None:
        error = caught(flow._oneflow_internal.sync)
    else:
        error = caught((result[1] if isinstance(result, tuple) else result).numpy)
    printed = str(error).split(f'File "{file}", line 2, in f\n')[1].split("\n")
    assert printed[0] == "    " + line
    if sys.version_info >= (3, 11) and marks:
        assert printed[1] == "    " + marks
    else:
        assert "^" not in printed[1]


def deep(levels: int) -> Any:
    return deep(levels - 1) if levels > 0 else fails()


def test_recursion_is_collapsed(queued: None) -> None:
    error = caught(deep(100).numpy)
    assert str(error).count("in deep\n") == 3
    assert "  [Previous line repeated 98 more times]\n" in str(error)
    assert sum(frame.name == "deep" for frame in error.stack) == 101


def test_under_a_long_stack_the_message_is_said_again(queued: None) -> None:
    result = fails()  # pytest's own frames are many
    text = str(caught(result.numpy))
    assert text.endswith("\nRuntimeError: [throw_error] throw error kernel")
    short: list[Any] = []
    thread = threading.Thread(target=lambda: short.append(fails()))
    thread.start()
    thread.join()
    text = str(caught(short[0].numpy))
    assert text.count("throw error kernel") == 1
    assert "# the line at fault\n           ^" in text or sys.version_info < (3, 11)


def test_the_reader_is_another_thread(queued: None) -> None:
    result = fails()
    errors: list[Any] = []
    thread = threading.Thread(target=lambda: errors.append(caught(result.numpy)))
    thread.start()
    thread.join()
    assert "in test_the_reader_is_another_thread" in str(errors[0])
    assert errors[0].stack[-1].name == "fails"


def test_the_reader_is_another_task(queued: None) -> None:
    async def issue() -> Any:
        await asyncio.sleep(0)
        return fails()

    async def read() -> Any:
        task = asyncio.create_task(issue())
        with pytest.raises(RuntimeError) as info:
            (await task).numpy()
        return info.value

    error = asyncio.run(read())
    assert [frame.name for frame in error.stack][-2:] == ["issue", "fails"]


class Failing(flow.utils.data.Dataset):
    """A data set whose first sample needs an op that fails (in a worker, which is a fork child, at
    its line).
    """

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Any:
        return fails().numpy()


def test_an_error_crosses_from_a_worker_process() -> None:
    error = caught(lambda: list(flow.utils.data.DataLoader(Failing(), num_workers=1)))
    assert type(error) is RuntimeError
    assert "[throw_error] throw error kernel" in str(error)
    assert "in fails\n    return flow._C.throw_error" in str(error)


def test_without_the_traceback_module_the_error_itself_is_raised(
    queued: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = fails()
    error: Any = None
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "traceback", None)
        try:
            result.numpy()
        except RuntimeError as e:
            error = e
    assert "throw error kernel" in str(error)
    assert error.op == "throw_error"
    assert not hasattr(error, "stack")


def test_an_interrupt_goes_before_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(traceback, "FrameSummary", interrupted)
        with pytest.raises(KeyboardInterrupt):
            flow.ones(2) + flow.ones(3)


def test_at_the_limit_of_recursion_it_is_an_exception_too() -> None:
    kinds = set()

    def fall(levels: int) -> None:
        try:
            flow.ones(2) + flow.ones(3)
        except (RuntimeError, RecursionError) as error:  # the second is one of the first
            kinds.add(type(error))
        fall(levels + 1)

    with pytest.raises(RecursionError):
        fall(0)
    assert RuntimeError in kinds


def test_many_threads_fail_at_once(queued: None) -> None:
    wrong: list[str] = []

    def work(number: int) -> None:
        x = flow.ones(1)
        for _ in range(50):
            try:
                flow._C.throw_error(x, kind="index").numpy()
            except IndexError as error:
                op_error: Any = error
                if op_error.op != "throw_error" or op_error.stack[-1].name != "work":
                    wrong.append(str(error))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_control() -> None:
    """A name that is not the op's, and a frame of another line, are noticed."""
    with pytest.raises(AssertionError):
        test_what_is_refused_at_the_line_names_op_and_line("", REFUSED[0][0], "sub")
    with pytest.raises(AssertionError):
        test_what_comes_from_no_op_claims_none(REFUSED[0][0])
    with pytest.raises(AssertionError):
        same_error(ValueError("a"), RuntimeError("a"))
