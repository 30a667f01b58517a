"""What raises, and says why. Nothing may hang, and afterwards the thread computes as before."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.graph.graphs import FunctionGraph, assert_equal
from tests.support import must_fail, raises, values

import oneflow as flow
from oneflow import nn, optim
from oneflow.framework.session_context import GetDefaultSession

_graph = flow._oneflow_internal.graph


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """Whatever was raised: this thread traces nothing, and its ops run."""
    yield
    assert _graph.tracing() is None
    assert values(flow.ones(2) + 1).tolist() == [2, 2]
    assert values(FunctionGraph(lambda x: x * 2)(flow.ones(1))).item() == 2


def line_of(function: Any, text: str) -> int:
    """The number of the line of a function's source that holds a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_closed() -> None:
    graph = FunctionGraph(lambda x: x + 1)
    graph(flow.ones(1))
    graph.close()
    graph.close()
    with raises(RuntimeError, f"graph '{graph.name}' is closed"):
        graph(flow.ones(1))
    unused = FunctionGraph(lambda x: x)
    with unused as same:
        assert same is unused
    with raises(RuntimeError, "is closed"):
        unused(flow.ones(1))


def test_outputs_outlive_the_graph() -> None:
    with FunctionGraph(lambda x: (x * 2, x)) as graph:
        double, same = graph(flow.ones(300, 300))
    del graph
    assert values(double.sum()).item() == 180000 and values(same.sum()).item() == 90000


def test_deleted_with_a_run_in_flight() -> None:
    graph = FunctionGraph(lambda x: (x @ x) @ x)
    for _ in range(10):
        result = graph(flow.ones(200, 200))
    del graph
    assert float(values(result)[0, 0]) == 40000.0


def test_build_raises_half_way() -> None:
    fails = [True]

    def build(x: Any) -> Any:
        y = x + 1
        if fails:
            raise KeyError("mine")
        return y

    graph = FunctionGraph(build)
    for _ in range(2):
        with raises(KeyError, "mine"):
            graph(flow.ones(1))
    fails.clear()
    assert values(graph(flow.ones(1))).item() == 2


def test_build_raises_after_backward_and_optimizer() -> None:
    model = nn.Linear(2, 1)
    adam = optim.Adam(model.parameters())

    class Fails(nn.Graph):
        """After everything."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.add_optimizer(adam)

        def build(self, x: Any) -> Any:
            self.model(x).sum().backward()
            raise ValueError("late")

    before = values(model.weight)
    with raises(ValueError, "late"):
        Fails()(flow.ones(1, 2))
    assert model.weight.grad is None and not adam.state[model.weight]
    assert adam.state["step"] == 0 and (values(model.weight) == before).all()


READS = {
    "numpy": lambda x: x.numpy(),
    "item": lambda x: x.sum().item(),
    "bool": lambda x: 1 if x.sum() > 0 else 2,
    "float": lambda x: float(x.sum()),
    "tolist": lambda x: x.tolist(),
}


@pytest.mark.parametrize("name", READS)
def test_build_reads_a_value(name: str) -> None:
    graph = FunctionGraph(lambda x: READS[name](x * 2) and x)
    with raises(RuntimeError, graph.name, "being built", "test_errors.py"):
        graph(flow.ones(2))


def test_a_tensor_may_be_printed_in_build() -> None:
    shown: list[str] = []

    def build(x: Any) -> Any:
        shown.append(repr(x))
        return x

    FunctionGraph(build)(flow.ones(2, 3))
    assert shown == ["tensor(..., lazy, size=(2, 3), dtype=oneflow.float32)"]


def test_a_tensor_of_build_read_later() -> None:
    kept: list[Any] = []

    def build(x: Any) -> Any:
        kept.append(x * 2)
        return x

    graph = FunctionGraph(build)
    graph(flow.ones(1))
    assert kept[0].is_lazy and not kept[0].is_eager
    with raises(RuntimeError, graph.name):
        kept[0].numpy()
    with raises(RuntimeError, graph.name):
        (kept[0] + 1).numpy()


@pytest.mark.parametrize("name", ["nonzero", "masked_select", "unique"])
def test_ops_whose_shape_depends_on_data(name: str) -> None:
    def build(x: Any) -> Any:
        return flow.masked_select(x, x > 0) if name == "masked_select" else getattr(flow, name)(x)

    graph = FunctionGraph(build)
    with raises(RuntimeError, graph.name, "being built", "test_errors.py"):
        graph(flow.ones(3))


def test_backward_of_what_is_no_scalar() -> None:
    layer = nn.Linear(2, 2)
    with raises(RuntimeError, "scalar|one element|single element"):
        FunctionGraph(lambda x: layer(x).backward())(flow.ones(1, 2))


def test_parameters_of_nobody() -> None:
    class Foreign(nn.Graph):
        """Its optimizer has a parameter that no module of it holds."""

        def __init__(self) -> None:
            super().__init__()
            self.model = nn.Linear(2, 1)
            self.add_optimizer(optim.SGD([nn.Parameter(flow.ones(7))]))

        def build(self, x: Any) -> Any:
            return self.model(x)

    with raises(ValueError, "Graph.add_optimizer", r"\(7,\)", "group 0", "SGD"):
        Foreign()(flow.ones(1, 2))


def test_what_is_no_optimizer_and_no_scheduler_of_it() -> None:
    graph = FunctionGraph(lambda x: x)
    one, other = (optim.SGD([nn.Parameter(flow.ones(1))]) for _ in range(2))
    with raises(TypeError, "Graph.add_optimizer", "Optimizer", "int"):
        graph.add_optimizer(3)
    with raises(TypeError, "Graph.add_optimizer", "LRScheduler", "int"):
        graph.add_optimizer(one, lr_sch=3)
    with raises(ValueError, "Graph.add_optimizer", "same optimizer"):
        graph.add_optimizer(one, lr_sch=optim.lr_scheduler.StepLR(other, 1))
    with raises(TypeError, "Graph.add_optimizer", "LBFGS"):
        graph.add_optimizer(optim.LBFGS([nn.Parameter(flow.ones(1))]))


def test_attributes_that_a_graph_does_not_take() -> None:
    graph = FunctionGraph(lambda x: x)
    with raises(AttributeError, "add_optimizer", "'opt'"):
        graph.opt = optim.SGD([nn.Parameter(flow.ones(1))])
    with raises(AttributeError, "tensors inside modules", "'x'"):
        graph.x = flow.ones(1)
    with raises(AttributeError, "no attribute 'nothing'"):
        _ = graph.nothing
    with raises(TypeError, "state_dict"):
        __import__("copy").copy(graph)


def test_init_of_the_base_forgotten() -> None:
    class Forgets(nn.Graph):
        """Does not call super().__init__()."""

        def __init__(self) -> None:
            self.model = nn.Linear(1, 1)

    with raises(AttributeError, r"super\(\).__init__"):
        Forgets()
    with raises(NotImplementedError, "Graph", "build"):
        nn.Graph()(flow.ones(1))


def test_a_graph_in_the_build_of_another_and_in_its_own() -> None:
    inner = FunctionGraph(lambda x: x + 1)
    outer = FunctionGraph(lambda x: inner(x))
    with raises(RuntimeError, inner.name, outer.name):
        outer(flow.ones(1))
    own: list[Any] = []
    own.append(FunctionGraph(lambda x: own[0](x)))
    with raises(RuntimeError, own[0].name):
        own[0](flow.ones(1))
    assert values(FunctionGraph(lambda x: inner.build(x))(flow.ones(1))).item() == 2


def test_other_shapes_and_dtypes_are_traced_and_wrong_ones_raise_as_in_eager() -> None:
    layer = nn.Linear(3, 2)
    graph = FunctionGraph(layer)
    graph(flow.ones(1, 3))
    with raises(RuntimeError, "3"):
        graph(flow.ones(1, 4))
    with raises(RuntimeError, ""):
        graph(flow.ones(1, 3, dtype=flow.int64))
    assert graph(flow.ones(5, 3)).shape == (5, 2)


def failing(x: Any, free: Any) -> Any:
    """Fails at each run for which the index is out of range."""
    y = x * 2
    z = flow.nn.functional.embedding(y, free)
    return z + 1


def test_a_kernel_that_fails_names_op_and_line_and_the_graph_runs_again() -> None:
    index = flow.tensor([1])
    graph = FunctionGraph(failing)
    table = flow.ones(4, 2)
    assert values(graph(index, table)).tolist() == [[2, 2]]
    for _ in range(2):
        with pytest.raises((RuntimeError, IndexError)) as caught:
            graph(flow.tensor([7]), table).numpy()
        text = str(caught.value)
        assert "embedding" in text and f"line {line_of(failing, 'z = flow')}" in text
        assert values(graph(index, table)).tolist() == [[2, 2]]


def test_a_run_that_fails_leaves_parameters_alone_and_others_go_on() -> None:
    weight = nn.Parameter(flow.ones(3, 2))

    class Lookup(nn.Module):
        """A table."""

        def __init__(self) -> None:
            super().__init__()
            self.weight = weight

        def forward(self, x: Any) -> Any:
            return flow.nn.functional.embedding(x, self.weight)

    class Step(nn.Graph):
        """Trains it."""

        def __init__(self) -> None:
            super().__init__()
            self.lookup = Lookup()
            self.add_optimizer(optim.SGD([weight], lr=1.0))

        def build(self, x: Any) -> Any:
            loss = self.lookup(x).sum()
            loss.backward()
            return loss

    graph, other = Step(), FunctionGraph(lambda x: x + 1)
    graph(flow.tensor([0]))
    with pytest.raises((RuntimeError, IndexError)):
        graph(flow.tensor([9])).numpy()
    assert values(weight).tolist() == [[0, 0], [1, 1], [1, 1]]
    assert values(other(flow.ones(1))).item() == 2
    graph(flow.tensor([1]))
    assert values(weight).tolist() == [[0, 0], [0, 0], [1, 1]]


def test_a_graph_is_used_by_two_threads() -> None:
    graph = FunctionGraph(lambda x: (x @ x).sum())
    failures: list[Any] = []

    def use(value: float) -> None:
        for _ in range(50):
            got = values(graph(flow.full((8, 8), value))).item()
            if got != 512 * value * value:
                failures.append((value, got))

    threads = [threading.Thread(target=use, args=(float(i),)) for i in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures and not any(thread.is_alive() for thread in threads)


def test_threads_that_train_one_graph_take_turns() -> None:
    def train(model: Any) -> Any:
        adam = optim.Adam(model.parameters(), lr=0.01)

        class Step(nn.Graph):
            """A step."""

            def __init__(self) -> None:
                super().__init__()
                self.model = model
                self.add_optimizer(adam, lr_sch=optim.lr_scheduler.ExponentialLR(adam, 0.9))

            def build(self, x: Any) -> Any:
                loss = (self.model(x) ** 2).sum()
                loss.backward()
                return loss

        return Step(), adam

    one, other = nn.Linear(4, 4), nn.Linear(4, 4)
    other.load_state_dict(one.state_dict())
    (graph, adam), (alone, _) = train(one), train(other)
    x = flow.ones(2, 4)
    threads = [threading.Thread(target=lambda: [graph(x) for _ in range(25)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for _ in range(100):
        alone(x)
    assert adam.state["step"] == 100
    assert_equal(list(one.parameters()), list(other.parameters()))


def test_other_threads_are_eager_while_one_traces() -> None:
    inside, leave = threading.Event(), threading.Event()
    layer = nn.Linear(2, 2)
    layer_graph = FunctionGraph(layer)

    def build(x: Any) -> Any:
        inside.set()
        assert leave.wait(60)
        return layer(x)

    graph, results = FunctionGraph(build), []
    thread = threading.Thread(target=lambda: results.append(graph(flow.ones(1, 2))))
    thread.start()
    assert inside.wait(60)
    assert values(layer(flow.ones(1, 2))).shape == (1, 2)
    assert layer_graph(flow.ones(1, 2)).numpy().shape == (1, 2)
    assert not flow.ones(1).is_lazy
    leave.set()
    thread.join(60)
    assert_equal(results[0], layer(flow.ones(1, 2)))


def test_a_graph_closed_while_threads_run_it() -> None:
    graph = FunctionGraph(lambda x: x @ x)
    graph(flow.ones(64, 64))
    ends: list[str] = []

    def use() -> None:
        try:
            for _ in range(10000):
                graph(flow.ones(64, 64))
        except RuntimeError as error:
            ends.append(str(error))

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    graph.close()
    for thread in threads:
        thread.join(60)
    assert len(ends) == 3 and all("is closed" in end for end in ends)


def test_session_close_closes_graphs_and_the_next_begins_a_new_generation() -> None:
    session = GetDefaultSession()
    old = FunctionGraph(lambda x: x + 1)
    old(flow.ones(1))
    generation = session.id
    session.close()
    assert _graph.num_graphs() == 0
    with raises(RuntimeError, f"graph '{old.name}' is closed"):
        old(flow.ones(1))
    new = FunctionGraph(lambda x: x + 2)
    assert values(new(flow.ones(1))).item() == 3
    assert session.id == generation + 1 and session.status is session.Status.INITED
    del old


def run(program: str, **environ: str) -> tuple[int, str, str]:
    """(status, stdout, stderr) of a program."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ},
    )
    return done.returncode, done.stdout, done.stderr


FORK = """
import os
import oneflow as flow
graph = flow.nn.Graph.trace(lambda x: x + 1)
graph(flow.ones(2))
child = os.fork()
if child == 0:
    new = flow.nn.Graph.trace(lambda x: x)
    for call in (lambda: graph(flow.ones(2)), lambda: new(flow.ones(1))):
        try:
            call()
        except RuntimeError as error:
            os.write(1, (str(error) + "\\n").encode())
    os.write(1, f"{(flow.ones(1) + 1).item()}\\n".encode())
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(graph(flow.ones(2)).numpy().tolist())
"""


def test_fork() -> None:
    status, stdout, stderr = run(FORK)
    lines = stdout.splitlines()
    assert (status, stderr) == (0, "")
    assert "fork child" in lines[0] and "fork child" in lines[1]
    assert lines[2:] == ["2.0", "[2.0, 2.0]"]


AT_EXIT = """
import atexit
def late():
    try:
        graph(flow.ones(1))
    except RuntimeError as error:
        print("late:", error)
    print((flow.ones(1) + 1).item())
atexit.register(late)
import oneflow as flow
graph = flow.nn.Graph.trace(lambda x: x + 1)
graph(flow.ones(1))
"""


def test_a_graph_called_after_the_exit_hook() -> None:
    status, stdout, stderr = run(AT_EXIT)
    assert (status, stderr) == (0, "")
    first, second = stdout.splitlines()
    assert first.startswith("late: ") and second == "2.0"


def test_many_forms_are_warned_of() -> None:
    graph = FunctionGraph(lambda x, n: x + n)
    with pytest.warns(UserWarning, match="32 different forms"):
        for n in range(33):
            graph(flow.ones(1), n)


def test_settings_that_mean_nothing() -> None:
    config = FunctionGraph(lambda x: x).config
    config.enable_zero(True)
    config.enable_auto_parallel(True)
    config.allow_fuse_cast_scale(True)
    config.set_outputs_buffer_size(5)
    config.enable_straighten_algorithm("SpeedFirst")
    config.enable_choose_best_memory_allocation(True)
    config.enable_auto_memory("SlightMemoryDown")
    with raises(ValueError, "enable_auto_memory", "AdaptiveMemory", "'Sideways'"):
        config.enable_auto_memory("Sideways")
    with raises(ValueError, "enable_zero", "stage 1, 2 or 3", "4"):
        config.enable_zero(True, stage=4)
    with raises(ValueError, "enable_zero", "shard_min_size above 0", "0"):
        config.enable_zero(True, shard_min_size=0)
    with raises(ValueError, "enable_straighten_algorithm", "MemoryFirst", "'Sideways'"):
        config.enable_straighten_algorithm("Sideways")
    with raises(RuntimeError, "enable_zero"):
        config.set_zero_redundancy_optimizer_mode("distributed_split")
    with raises(TypeError, "enable_amp", "float32"):
        config.enable_amp(True, dtype=flow.float32)
    with raises(ValueError, "set_gradient_accumulation_steps", "at least 1", "0"):
        config.set_gradient_accumulation_steps(0)


@pytest.mark.parametrize(
    "name, says",
    [
        ("enable_xla_jit", "own kernels"),
        ("enable_tensorrt", "own kernels"),
        ("enable_openvino", "own kernels"),
        ("enable_auto_parallel_mainstem_algo", "enable_auto_parallel_trunk_algo"),
        ("enable_auto_parallel_prune_parallel_cast_ops", "in any case"),
        ("set_auto_parallel_transfer_cost", "set_auto_parallel_wait_time"),
        ("set_zero_redundancy_optimizer_min_size_after_split", "shard_min_size"),
    ],
)
def test_settings_of_old_say_what_to_do(name: str, says: str) -> None:
    config = FunctionGraph(lambda x: x).config
    with raises(AttributeError, name, "is no more", says):
        getattr(config, name)(True)


def test_settings_that_there_are_not() -> None:
    config = FunctionGraph(lambda x: x).config
    with raises(AttributeError, "no setting", "'enable_ammp'"):
        config.enable_ammp(True)
    assert not hasattr(config, "enable_ammp")
    with raises(AttributeError, "a call, enable_amp(...)", "assignment"):
        setattr(config, "enable" + "_amp", True)
    assert not config.steps - 1 and "enable_amp" not in config.proto


@pytest.mark.parametrize(
    "setting, value",
    [
        ("enable_zero", True),
        ("enable_auto_parallel", True),
        ("enable_auto_parallel_ignore_user_sbp_config", True),
        ("set_auto_parallel_computation_cost_ratio", 0.05),
        ("set_auto_parallel_wait_time", 1.65e4),
        ("enable_auto_parallel_trunk_algo", True),
        ("enable_auto_parallel_sbp_collector", True),
        ("enable_auto_memory", "AdaptiveMemory"),
    ],
)
def test_settings_for_several_ranks(
    setting: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = FunctionGraph(lambda x: x).config
    getattr(config, setting)(value)
    monkeypatch.setattr(flow.framework.global_tensor, "world_size", lambda: 2)
    with raises(NotImplementedError, setting, "single rank", "2"):
        getattr(config, setting)(value)
    off = "Disable" if isinstance(value, str) else type(value)(0)
    getattr(config, setting)(off)


def test_a_scaler_of_losses() -> None:
    graph = FunctionGraph(lambda x: x @ x)
    graph.set_grad_scaler(flow.amp.GradScaler())
    graph.config.enable_amp(True)
    assert graph(flow.ones(2, 2)).dtype == flow.bfloat16
    graph.config.enable_amp(True, dtype=flow.float16)
    with raises(NotImplementedError, "set_grad_scaler", "float16"):
        graph(flow.ones(2, 2))
    with raises(TypeError, "set_grad_scaler", "GradScaler", "int"):
        graph.set_grad_scaler(3)


def test_control() -> None:
    """A graph that runs after it was closed would be noticed."""
    graph = FunctionGraph(lambda x: x)

    def check() -> None:
        try:
            graph(flow.ones(1))
        except RuntimeError:
            return
        raise AssertionError

    must_fail(check)
    graph.close()
    check()
