"""oneflow.profiler: what ran, when, on which thread, for which line."""

from __future__ import annotations

import inspect
import json
import threading
import time
from pathlib import Path

import pytest

import oneflow as flow
from oneflow.profiler import ProfilerActivity, events, profile, record_function


def kernels(prof: profile) -> list[events.KernelEvent]:
    return [e for e in prof.events() if isinstance(e, events.KernelEvent)]


def marks(prof: profile) -> list[events.CustomEvent]:
    return [e for e in prof.events() if isinstance(e, events.CustomEvent)]


def test_each_op_is_an_event_with_its_line_and_shapes() -> None:
    x, w = flow.ones(16, 8), flow.ones(8, 4)
    flow.relu(x)  # before: does not count
    with profile(record_shapes=True) as prof:
        y = flow.matmul(x, w)
        z = y + flow.ones(4)
    flow.tanh(z)  # after
    found = kernels(prof)
    assert [e.name for e in found] == ["matmul", "full", "add"]
    first = inspect.getsourcelines(test_each_op_is_an_event_with_its_line_and_shapes)[1]
    assert [e.line for e in found] == [
        f"{__file__}:{first + k} in test_each_op_is_an_event_with_its_line_and_shapes"
        for k in (4, 5, 5)
    ]
    assert found[0].input_shapes == "(16, 8), (8, 4)" and found[2].input_shapes == "(16, 4), (4,)"
    assert all(e.cpu_time_total > 0 and e.count == 1 and e.category == "vm" for e in found)
    assert [e.start for e in found] == sorted(e.start for e in found)


def test_shapes_are_noted_on_request_only() -> None:
    with profile() as prof:
        flow.ones(3) + 1
    assert all(e.input_shapes == "" for e in kernels(prof))
    assert "Input shapes" not in str(prof.key_averages(group_by_input_shape=True))


@pytest.mark.parametrize("elements", [4, 1 << 21])  # run by the caller, and by the stream's thread
def test_times_fit_into_the_profile(elements: int) -> None:
    x = flow.ones(elements)
    start = time.perf_counter()
    with profile() as prof:
        for _ in range(5):
            x = x * 0.5
    wall = (time.perf_counter() - start) * 1e6
    found = kernels(prof)
    assert len(found) == 5 and {e.name for e in found} == {"mul"}
    assert sum(e.cpu_time_total for e in found) <= wall
    for one, other in zip(found, found[1:], strict=False):
        assert one.start + one.cpu_time_total <= other.start + 1e-3


def test_gradients_name_the_line_of_their_op() -> None:
    x = flow.ones(8, requires_grad=True)
    with profile() as prof:
        y = flow.tanh(x)
        y.sum().backward()
    first = inspect.getsourcelines(test_gradients_name_the_line_of_their_op)[1]
    backward = [e for e in kernels(prof) if e.name == "tanh_backward"]
    assert len(backward) == 1
    assert backward[0].line.startswith(f"{__file__}:{first + 3} ")


class Net(flow.nn.Graph):
    """A layer and softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = flow.nn.Linear(8, 8)

    def build(self, x: flow.Tensor) -> flow.Tensor:
        return self.linear(x).softmax(-1)


def test_a_graph_is_its_kernels_within_frames(tmp_path: Path) -> None:
    net, x = Net(), flow.ones(4, 8)
    net(x)
    with profile(record_shapes=True) as prof:
        for _ in range(3):
            net(x).numpy()
    mine = [e for e in kernels(prof) if e.category == "graph"]
    assert len(mine) % 3 == 0 and [e.name for e in mine].count("softmax") == 3
    first = inspect.getsourcelines(Net.build)[1]
    softmax = next(e for e in mine if e.name == "softmax")
    assert softmax.line == f"{__file__}:{first + 1} in build" and softmax.input_shapes == "(4, 8)"
    frames = [e for e in marks(prof) if e.name == net.name]
    assert len(frames) == 3
    for event in mine:
        assert any(
            f.start <= event.start
            and event.start + event.cpu_time_total <= f.start + f.cpu_time_total + 1e-3
            for f in frames
        )
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(path)
    trace = json.loads(path.read_text())
    assert trace["otherData"]["dropped_events"] == 0
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert len(spans) == len(prof.events())
    span = next(e for e in spans if e["name"] == "softmax")
    assert span["args"] == {
        "line": f"{__file__}:{first + 1}",
        "function": "build",
        "shapes": "(4, 8)",
    }
    assert span["cat"] == "graph" and span["dur"] > 0
    assert {e["cat"] for e in spans} >= {"graph", "actor"}


def test_fused_kernels_are_one_event() -> None:
    class Fused(flow.nn.Graph):
        def build(self, x: flow.Tensor) -> flow.Tensor:
            return flow.tanh(x * 2 + 1)

    net, x = Fused(), flow.ones(100_000)
    net(x)
    with profile() as prof:
        net(x).numpy()
    names = [e.name for e in kernels(prof) if e.category == "graph"]
    assert names == ["mul+add+tanh"]


def test_marks_nest_and_know_their_thread() -> None:
    def work() -> None:
        with record_function("other thread"):
            flow.ones(3) + 1

    with profile() as prof:
        with record_function("outer"):
            with record_function("inner"):
                flow.ones(3) + 1
            flow.profiler.range_push("pushed")
            flow.profiler.range_pop()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    by_name = {e.name: e for e in marks(prof)}
    assert [e.name for e in marks(prof)] == ["outer", "inner", "pushed", "other thread"]
    outer, inner = by_name["outer"], by_name["inner"]
    assert outer.start <= inner.start and inner.cpu_time_total <= outer.cpu_time_total
    trace = prof._trace.events()
    assert len({e[0] for e in trace if e[2] == "python"}) == 2


def test_marks_outside_of_a_profile_do_nothing() -> None:
    with record_function("nobody hears"):
        pass
    with profile() as prof:
        pass
    assert prof.events() == [] and prof.dropped == 0


def test_averages_sum_up_by_name_and_by_shape() -> None:
    x, y = flow.ones(2, 2), flow.ones(3, 3)
    with profile(record_shapes=True) as prof:
        for _ in range(3):
            flow.matmul(x, x)
        flow.matmul(y, y)
        flow.relu(x)
    by_name = {e.name: e for e in prof.key_averages()}
    assert by_name["matmul"].count == 4 and by_name["relu"].count == 1
    total = sum(e.cpu_time_total for e in kernels(prof) if e.name == "matmul")
    assert by_name["matmul"].cpu_time_total == pytest.approx(total)
    assert by_name["matmul"].cpu_time == pytest.approx(total / 4)
    by_shape = {
        (e.name, e.input_shapes): e.count
        for e in prof.key_averages(group_by_input_shape=True)
        if isinstance(e, events.KernelEvent)
    }
    assert by_shape[("matmul", "(2, 2), (2, 2)")] == 3
    assert by_shape[("matmul", "(3, 3), (3, 3)")] == 1
    averages = prof.key_averages()
    assert averages[0].cpu_time_total == max(e.cpu_time_total for e in averages)
    lines = str(averages).splitlines()
    assert lines[0].split()[:2] == ["Name", "CPU"] and len(lines) == 2 + len(averages)
    shares = [float(line.split(" %")[0].split()[-1]) for line in lines[2:]]
    assert sum(shares) == pytest.approx(100.0, abs=0.1 * len(shares))


def test_what_there_is_no_room_for_is_counted() -> None:
    x = flow.ones(3)
    with profile(max_events_per_thread=4) as prof:
        for _ in range(10):
            x = x + 1
    assert len(prof.events()) == 4 and prof.dropped == 6


def test_an_exception_ends_the_profile_and_passes() -> None:
    with pytest.raises(ZeroDivisionError), profile() as prof:
        flow.ones(3) + 1
        raise ZeroDivisionError
    assert [e.name for e in kernels(prof)][:1] == ["full"]
    with profile() as again:
        flow.ones(3)
    assert len(again.events()) == 1


def test_a_failed_op_is_raised_where_the_profile_ends() -> None:
    x = flow.tensor([5])
    with pytest.raises((RuntimeError, IndexError)), profile() as prof:
        flow.nn.functional.one_hot(x, 3)
    assert prof.dropped == 0
    with profile():
        pass


def test_misuse_is_an_error() -> None:
    prof = profile()
    for ask in (prof.events, prof.key_averages, lambda: prof.export_chrome_trace("x")):
        with pytest.raises(RuntimeError, match="after its `with` block has ended"):
            ask()
    with profile(), pytest.raises(RuntimeError, match="is running already"):
        profile().__enter__()
    with pytest.raises(RuntimeError, match="looks at the CPU only"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with pytest.raises(RuntimeError, match="at least one activity"):
        profile(activities=[])
    with pytest.raises(TypeError, match="members of ProfilerActivity"):
        profile(activities=["cpu"])  # type: ignore[list-item]
    with pytest.raises(RuntimeError, match="does not record attributes"):
        profile(record_attrs=True)
    for most in (0, -1, "many"):
        with pytest.raises(ValueError, match="1 or more"):
            profile(max_events_per_thread=most)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"\[record_function\] expects a str, got int"):
        record_function(3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="range_push before it"):
        flow.profiler.range_pop()
    with pytest.raises(NotImplementedError, match="export_chrome_trace"):
        flow.profiler.tensorboard_trace_handler("folder")
    with profile() as prof:
        pass
    with pytest.raises(OSError, match="cannot write the trace to '/no/such/folder/x'"):
        prof.export_chrome_trace("/no/such/folder/x")


def test_names_of_any_kind_are_kept() -> None:
    long = "é" * 40
    with profile() as prof:
        for name in ("", 'a"b\\c\n', long, "x\0y"):
            with record_function(name):
                pass
    names = [e.name for e in prof.events()]
    assert names[:2] == ["", 'a"b\\c\n'] and names[2].startswith("é" * 23) and names[3] == "x"
