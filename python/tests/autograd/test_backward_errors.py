"""Whatever fails in backward names the forward line and the line that called it; and afterwards."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.autograd.functions import Function, Square
from tests.autograd.stacks import text
from tests.support import must_fail, raises, same, values

import oneflow as flow

fails_in_backward = flow._C.throw_error_in_backward
sync = flow._oneflow_internal.sync


@contextlib.contextmanager
def vm_mode(name: str) -> Iterator[None]:
    """Afterwards nothing is queued, and no error left to read."""
    flow._oneflow_internal.set_vm_mode(name)
    try:
        yield
    finally:
        flow._oneflow_internal.set_vm_mode(os.environ.get("ONEFLOW_TEST_VM_MODE", "auto"))
        with contextlib.suppress(RuntimeError):
            sync()
        flow._oneflow_internal.forget_unread_errors()


@pytest.fixture(params=["inline", "queued", "random"])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    with vm_mode(request.param):
        yield request.param


def leaf(*data: float) -> Any:
    return flow.tensor(np.array(data, dtype=np.float64), requires_grad=True)


def error_of(act: Any, *args: Any) -> Any:
    """What `act` raises, at once or at the next sync."""
    with pytest.raises(RuntimeError) as caught:
        act(*args)
        sync()
    return caught.value


def in_order(error: Any, *parts: str) -> None:
    """The parts follow each other in the error's text."""
    shown = str(error)
    at = 0
    for part in parts:
        assert part in shown[at:], f"{part!r} in {shown[at:]}"
        at = shown.index(part, at) + len(part)


def last_line(stack: Any) -> str:
    """The source line of a stack's last frame."""
    lines = [line for line in text(stack).rstrip().splitlines() if set(line.strip()) - {"^", "~"}]
    return lines[-1] if lines else ""


# Ops that backward issues.


def forward(x: Any) -> Any:
    return fails_in_backward(x * 2)  # the forward line


def call(y: Any) -> None:
    y.sum().backward()  # the call


def check_both_lines(act: Any, call_line: str) -> None:
    y = forward(leaf(1, 2))
    error = error_of(act, y)
    assert error.op == "throw_error"
    assert "# the forward line" in last_line(error.stack)
    assert call_line in last_line(error.backward_stack)
    assert not error.forward_stack
    in_order(error, "Related Python stack trace:", "in forward", "# the forward line")
    in_order(error, "# the forward line", "During backward, called at:", call_line)


def test_both_lines(mode: str) -> None:
    check_both_lines(call, "# the call")


def test_both_lines_of_grad_and_of_the_function(mode: str) -> None:
    def by_function(y: Any) -> None:
        flow.autograd.backward(y.sum())  # by the function

    def by_grad(y: Any) -> None:
        with flow.enable_grad():
            flow.autograd.grad(y.sum(), y, flow.ones((), dtype=flow.float64))
        x = leaf(1)
        flow.autograd.grad(forward(x), x)[0].numpy()  # by grad

    y = forward(leaf(1, 2))
    error = error_of(by_function, y)
    assert "# by the function" in text(error.backward_stack)
    error = error_of(by_grad, y)
    assert "# by grad" in text(error.backward_stack)
    assert "# the forward line" in text(error.stack)


def test_a_second_backward_has_the_whole_chain(mode: str) -> None:
    """The node was made by the first call, for the forward line; the last call runs it."""
    x = leaf(1, 2)
    y = (x * x * x).sum()  # the cube
    (g,) = flow.autograd.grad(y, x, create_graph=True)  # the first call
    s = g.sum()
    s.backward()
    error = error_of(lambda: s.backward())  # the last call
    assert "backward a second time" in str(error)
    in_order(error, "# the cube", "called at:", "# the first call", "called at:", "# the last call")
    assert "# the cube" in last_line(error.stack)
    assert error.op in str(error)


def test_sums_of_gradients_are_backwards_too(mode: str) -> None:
    """The addition where two paths meet is issued for the op that they come from."""
    x = leaf(1)
    y = x * 2  # where they meet
    z = y + y.reshape(1)
    y.register_hook(lambda grad: flow._C.throw_error(grad))  # after the addition
    error = error_of(lambda: z.backward())
    assert "# after the addition" in last_line(error.stack)
    assert "# where they meet" in last_line(error.forward_stack)


def test_threads_do_not_mix(mode: str) -> None:
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        names: dict[str, Any] = {"fails": fails_in_backward, "sync": sync}
        lines = f"def forward(x):\n    return fails(x * {number})\ndef call(y):\n    y.backward()\n"
        exec(compile(lines, f"thread_{number}.py", "exec"), names)
        for _ in range(20):
            y = names["forward"](leaf(1))
            try:
                names["call"](y)
                y.grad_fn  # noqa: B018
                sync()
            except RuntimeError as error:
                found[number] = error

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if mode == "inline":
        assert set(found) == {0, 1, 2, 3}
    for number, error in found.items():
        # In the background an error goes to whoever syncs; its two stacks are of one thread.
        own = {f"thread_{n}.py" for n in range(4) if f"thread_{n}.py" in str(error)}
        assert len(own) == 1
        assert own.pop() in text(error.backward_stack)
        assert mode != "inline" or f"thread_{number}.py" in str(error)


def test_the_report_at_exit_has_both(tmp_path: Any) -> None:
    script = tmp_path / "unread.py"
    script.write_text(
        "import oneflow as flow\n"
        "flow._oneflow_internal.set_vm_mode('queued')\n"
        "def forward(x):\n    return flow._C.throw_error_in_backward(x)\n"
        "y = forward(flow.ones(1, requires_grad=True))\n"
        "def call(y):\n    y.backward()\n"
        "call(y)\n"
    )
    ended = run_script(script)
    assert ended.returncode == 1
    for part in ("never read", "in forward", "During backward, called at:", "in call"):
        assert part in ended.stderr


def test_without_the_recorder(tmp_path: Any) -> None:
    script = tmp_path / "off.py"
    script.write_text(
        "import sys\nimport oneflow as flow\n"
        "flow._oneflow_internal.set_vm_mode(sys.argv[1])\n"
        "x = flow.ones(1, requires_grad=True)\n"
        "y = flow._C.throw_error_in_backward(x)\n"
        "try:\n    y.backward()\n    flow._oneflow_internal.sync()\n"
        "except RuntimeError as error:\n    print(error)\n"
    )
    for mode in ("inline", "queued"):
        ended = run_script(script, mode, ONEFLOW_PYTHON_STACK_GETTER="0")
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "throw_error" in ended.stdout and "called at" not in ended.stdout
        assert mode == "inline" or "ONEFLOW_PYTHON_STACK_GETTER" in ended.stdout


def run_script(script: Any, *args: str, **env: str) -> Any:
    return subprocess.run(
        [sys.executable, str(script), *args],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env},
        timeout=100,
    )


# Python that backward calls: hooks and functions.


def test_what_a_hook_raises_passes_unchanged(mode: str) -> None:
    raised = LookupError("hook failed")

    def hook(grad: Any) -> None:
        raise raised  # in the hook

    x = leaf(1)
    y = x * 2
    for tensor in (x, y):
        handle = tensor.register_hook(hook)
        with pytest.raises(LookupError) as caught:
            (x * y).sum().backward()
        assert caught.value is raised
        frames = [frame.name for frame in traceback.extract_tb(raised.__traceback__)]
        assert frames == ["test_what_a_hook_raises_passes_unchanged", "hook"]
        assert "# in the hook" in (traceback.extract_tb(raised.__traceback__)[-1].line or "")
        raised.__traceback__ = None
        handle.remove()
    assert x.grad is None
    (x * 3).sum().backward()
    same(x.grad, [3])


def test_an_op_in_a_hook_shows_the_hook(mode: str) -> None:
    def hook(grad: Any) -> Any:
        return flow._C.throw_error(grad)  # the hook's line

    y = leaf(1) * 2  # the op that the hook is on
    y.register_hook(hook)
    error = error_of(call, y)
    shown = text(error.stack)
    assert "# the hook's line" in last_line(shown)
    assert shown.index("# the call") < shown.index("# the hook's line")
    assert "# the op that the hook is on" in last_line(error.forward_stack)
    assert "# the op that the hook is on" in str(error)
    assert not error.backward_stack  # the hook's own stack has that line


def test_an_op_in_a_hook_of_a_leaf(mode: str) -> None:
    x = leaf(1)
    y = x * 2  # the first use of the leaf says nothing
    x.register_hook(lambda grad: flow._C.throw_error(grad))  # the leaf's hook
    error = error_of(call, y)
    assert "# the leaf's hook" in last_line(error.stack)
    assert "says nothing" not in str(error)


class Raises(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, error: Any) -> Any:
        ctx.error = error
        return x * 1

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        if ctx.error is None:
            return flow._C.throw_error(dy), None  # the function's line
        raise ctx.error


def test_what_a_function_raises_passes_unchanged(mode: str) -> None:
    for raised in (LookupError("a"), KeyboardInterrupt(), SystemExit(3)):
        x = leaf(1)
        y = Raises.apply(x * 1, raised)
        with pytest.raises(type(raised)) as caught:
            y.backward()
        assert caught.value is raised
        names = [frame.name for frame in traceback.extract_tb(raised.__traceback__)]
        assert names == ["test_what_a_function_raises_passes_unchanged", "backward"]
        assert x.grad is None


def test_an_op_in_a_function_shows_the_function(mode: str) -> None:
    y = Raises.apply(leaf(1), None)  # where it was applied
    error = error_of(call, y)
    shown = text(error.stack)
    assert "# the function's line" in last_line(shown)
    assert shown.index("# the call") < shown.index("# the function's line")
    assert "# where it was applied" in last_line(error.forward_stack)
    in_order(error, "In the backward of the op at:", "# where it was applied")


def test_a_backward_in_a_hook_has_its_own_lines(mode: str) -> None:
    def hook(grad: Any) -> None:
        inner = forward(leaf(3))
        inner.backward()  # the inner call
        sync()

    y = leaf(1) * 2
    y.register_hook(hook)
    error = error_of(call, y)
    assert "# the forward line" in last_line(error.stack)
    assert "# the inner call" in last_line(error.backward_stack)
    assert "# the call" in text(error.backward_stack)


def test_nothing_sticks_to_later_ops(mode: str) -> None:
    error_of(call, forward(leaf(1)))
    error_of(call, Raises.apply(leaf(1), None))

    def plain() -> None:
        flow._C.throw_error(flow.ones(1)).numpy()

    error = error_of(plain)
    assert not error.backward_stack and not error.forward_stack
    assert "During backward" not in str(error)


def test_steps_of_an_optimizer(mode: str) -> None:
    class Bad(flow.optim.Optimizer):
        def step(self, closure: Any = None) -> None:
            with flow.no_grad():
                for group in self.param_groups:
                    for parameter in group["params"]:
                        flow._C.throw_error_(parameter)

    w = flow.nn.Parameter(flow.ones(2))
    optimizer = Bad([w])

    def train() -> None:
        (w * 2).sum().backward()
        optimizer.step()  # the step
        sync()

    with pytest.raises(RuntimeError) as caught:
        train()
    error: Any = caught.value
    where = text(error.stack) or "".join(traceback.format_tb(error.__traceback__))
    assert "# the step" in where and "in step" in where
    same(w, [1, 1])


# What is left afterwards.


def test_a_gradient_is_whole_or_untouched() -> None:
    """Leaves whose gradient was complete have it; no other has a part of it."""
    with vm_mode("inline"):
        x, w = leaf(1), leaf(2)
        failing = fails_in_backward(x * 2)  # the oldest: backward comes to it last
        z = (w * 3 + x * 5 + failing).sum()
        with raises(RuntimeError, "throw_error"):
            z.backward()
        same(w.grad, [3])
        assert x.grad is None
        (x * 7).sum().backward()
        same(x.grad, [7])


def test_queued_failures_poison_no_gradient_that_was_there() -> None:
    with vm_mode("queued"):
        x, w = leaf(1), leaf(2)
        (x * 7).sum().backward()
        (x * 5 + w * 3 + forward(x)).sum().backward()
        error = error_of(sync)
        assert "# the forward line" in text(error.stack)
        same(x.grad, [7])
        same(w.grad, [3])
        # A gradient that was not there: reading it tells, each time; a step skips it.
        p = flow.nn.Parameter(flow.ones(2))
        sgd = flow.optim.SGD([p], lr=1.0)
        forward(p).sum().backward()
        sgd.step()
        for _ in range(2):
            with raises(RuntimeError, "throw_error", "the forward line"):
                p.grad.numpy()
        sync()
        same(p, [1, 1])
        sgd.zero_grad()
        same(p.grad, [0, 0])
        (p * 2).sum().backward()
        sgd.step()
        same(p, [-1, -1])


def test_an_interrupted_backward(mode: str) -> None:
    x = leaf(1)
    y = x
    for _ in range(20_000):
        y = y + 1
    timer = threading.Timer(0.02, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        while True:
            y.backward(retain_graph=True)
            x.grad = None
    timer.join()
    assert x.grad is None
    y.backward()
    same(x.grad, [1])


# The engine's own errors.


def test_a_second_time_names_both_lines() -> None:
    x = leaf(1, 2)

    def squares() -> Any:
        return (x * x).sum()  # what was freed

    y = squares()
    y.backward()
    error = error_of(lambda: y.backward())  # the second time
    assert error.op == "mul"
    in_order(error, "[mul]", "backward a second time", "# what was freed", "# the second time")


def test_a_changed_operand_is_named() -> None:
    x, w = leaf(1, 2), leaf(3, 4)
    y = (x * w).sum()  # needs both
    with flow.no_grad():
        w.mul_(2)  # a leaf, in place
    error = error_of(lambda: y.backward())  # too late
    assert "its operand other of shape (2,) as it was" in str(error)
    in_order(error, "[mul]", "# needs both", "# too late")
    same(flow.relu(x), [1, 2])
    z = flow.relu(x * 1)
    s = z.sum()
    with flow.no_grad():
        z.zero_()
    with raises(RuntimeError, r"\[relu\].*result number 0 of shape \(2,\)"):
        s.backward()


def test_what_no_wanted_gradient_needs_is_not_saved() -> None:
    """Nor held against a change, nor kept in memory."""
    size = 1 << 20
    constant = flow.ones(size)
    h = flow.ones(size, requires_grad=True) * 2
    z = (h * constant).sum()
    before = flow.cpu.memory_stats()["allocated"]
    del h
    sync()
    assert flow.cpu.memory_stats()["allocated"] <= before - 4 * size
    z.backward()
    x = leaf(1, 2)
    w = flow.tensor([3.0, 4.0], dtype=flow.float64)
    y = (x * w).sum()
    with flow.no_grad():
        x.mul_(2)  # its value is needed for the gradient of w only
    y.backward()
    same(x.grad, [3, 4])


@pytest.mark.parametrize("kind", ["ops", "saved", "functions"])
def test_deep_graphs_on_a_small_stack(kind: str) -> None:
    """Neither backward nor the end of a graph of 20,000 nodes recurses."""
    steps = {
        "ops": lambda y: y + 1,
        "saved": lambda y: y * y,
        "functions": lambda y: Square.apply(y),
    }
    done: list[bool] = []

    def work() -> None:
        x = leaf(1)
        y = x
        for _ in range(5_000 if kind == "functions" else 20_000):
            y = steps[kind](y)
        z = y.sum()
        del y
        z.backward()
        del z
        unused = leaf(1)
        y = unused
        for _ in range(5_000 if kind == "functions" else 20_000):
            y = steps[kind](y)
        del y, unused
        done.append(bool(np.isfinite(values(x.grad)).all()) or kind != "ops")

    before = threading.stack_size(256 << 10)
    thread = threading.Thread(target=work)
    thread.start()
    threading.stack_size(before)
    thread.join()
    assert done == [True]


def test_leaves_shared_by_threads(mode: str) -> None:
    """Graphs of several threads meet in the leaves; failures of one are its own."""
    x = leaf(1, 2)
    failed: list[int] = []

    def work(number: int) -> None:
        for turn in range(20):
            y = (x * x).sum()
            if number == 0 and turn % 5 == 4:
                y = Raises.apply(y, LookupError("expected"))
                try:
                    y.backward()
                except LookupError:
                    failed.append(turn)
                continue
            y.backward()
            time.sleep(0)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [4, 9, 14, 19]
    same(x.grad, 56 * 2 * np.array([1.0, 2.0]))


def test_controls() -> None:
    """An error without one of the lines is noticed."""
    must_fail(check_both_lines, call, "# another line")
    error = error_of(lambda: flow._C.throw_error(flow.ones(1)).numpy())
    must_fail(in_order, error, "During backward")
