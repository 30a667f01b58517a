"""Parameters that graphs keep in another order: whoever looks sees what they would without."""

from __future__ import annotations

import copy
import ctypes
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.faults import faulty
from tests.graph.graphs import ResidualBlock, assert_close
from tests.support import must_fail

import oneflow as flow
from oneflow import nn

# Kernels of another order add up in another order.
TOLERANCE = 5e-4
PASS = "arranged_weights"
# Weights of convolutions that are whole blocks of channels; each has a momentum.
WEIGHTS = 6


def network(seed: int = 1) -> Any:
    flow.manual_seed(seed)
    entry = [nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU()]
    blocks = [ResidualBlock(32, 64, 2), ResidualBlock(64, 128, 2)]
    return nn.Sequential(*entry, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


def weight(model: Any) -> Any:
    """One that is arranged: (64, 64, 3, 3)."""
    return model[3].conv2.weight


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: flow.optim.SGD(p, lr=0.01),
    "momentum": lambda p: flow.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=1e-4),
    "adam": lambda p: flow.optim.Adam(p, lr=1e-4, amsgrad=True),
    "adamw": lambda p: flow.optim.AdamW(p, lr=1e-4, weight_decay=0.01),
    "adagrad": lambda p: flow.optim.Adagrad(p, lr=1e-4),
    "adadelta": lambda p: flow.optim.Adadelta(p, lr=0.1),
    "rmsprop": lambda p: flow.optim.RMSprop(p, lr=1e-5),
    "lamb": lambda p: flow.optim.LAMB(p, lr=1e-3),
}


class Train(nn.Graph):
    """A step of an optimizer."""

    def __init__(self, model: Any, optimizer: Any, *off: str, parts: int = 1) -> None:
        super().__init__()
        self.model, self.loss = model, nn.CrossEntropyLoss()
        self.add_optimizer(optimizer)
        if parts > 1:
            self.config.set_gradient_accumulation_steps(parts)
        self.config.disable_passes(*off)

    def build(self, x: Any, classes: Any) -> Any:
        """The loss."""
        loss = self.loss(self.model(x), classes)
        loss.backward()
        return loss


class Scores(nn.Graph):
    """What the model says, given statistics or not."""

    def __init__(self, model: Any, *off: str) -> None:
        super().__init__()
        self.model = model
        self.config.disable_passes(*off)

    def build(self, x: Any) -> Any:
        """The scores."""
        return self.model(x)


def arranged(graph: Any) -> int:
    """How many tensors the graph's next run wants in another order."""
    return int(graph._newest("stats").handle.stats()["arranged"])


def batch(seed: int, size: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    pictures = rng.standard_normal((size, 3, 32, 32)).astype(np.float32)
    return flow.tensor(pictures), flow.tensor(rng.integers(0, 10, size))


class Side:
    """A model that is trained: with the pass, or (`off`) without."""

    def __init__(
        self, off: bool, kind: str = "momentum", parts: int = 1, clip: bool = False
    ) -> None:
        self.model = network()
        group: Any = {"params": list(self.model.parameters())}
        if clip:
            group.update(clip_grad_max_norm=0.5, clip_grad_norm_type=2.0)
        self.optimizer = OPTIMIZERS[kind]([group])
        off_passes = (PASS,) if off else ()
        self.train = Train(self.model, self.optimizer, *off_passes, parts=parts)
        self.scores = Scores(self.model, *off_passes)
        self.size = 4 * parts

    def step(self, seed: int) -> Any:
        return self.train(*batch(seed, self.size)).sum().item()

    def eager_step(self, seed: int) -> None:
        x, classes = batch(seed)
        self.optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(self.model(x), classes).backward()
        self.optimizer.step()

    def values(self) -> list[Any]:
        """All that a user can see, by copies that no memory is shared with."""
        state = [p.detach().clone() for p in self.model.state_dict().values()]
        for parameter in self.model.parameters():
            known = self.optimizer.state[parameter]
            state += [known[name].clone() for name in sorted(known) if known[name].ndim > 0]
        return state


def sides(kind: str = "momentum", **how: Any) -> tuple[Side, Side]:
    return Side(False, kind, **how), Side(True, kind, **how)


def both(on: Side, off: Side, *seeds: int) -> None:
    for seed in seeds:
        on.step(seed)
        off.step(seed)


def has_blocks() -> bool:
    """Whether this machine's kernels take blocks: AVX-512, not turned off. No graph is asked."""
    if os.environ.get("ONEFLOW_CPU_ISA", "avx512") != "avx512":
        return False
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return all(f" {name} " in flags for name in ("avx512f", "avx512bw", "avx512dq", "avx512vl"))


def test_weights_and_states_are_arranged() -> None:
    side = Side(False)
    side.step(0)
    assert arranged(side.train) == (2 * WEIGHTS if has_blocks() else 0)
    assert (side.train.passes()["blocked_layout"] > 0) == has_blocks()


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_training(kind: str) -> None:
    on, off = sides(kind)
    for seed in range(4):
        assert_close(flow.tensor(on.step(seed)), flow.tensor(off.step(seed)), kind, TOLERANCE)
    if has_blocks():
        states = {"sgd": 0, "momentum": 1, "adam": 3, "adamw": 2, "adagrad": 1}.get(kind)
        count = arranged(on.train)
        assert count == (1 + states) * WEIGHTS if states is not None else count > WEIGHTS
    assert arranged(off.train) == 0
    assert_close(on.values(), off.values(), kind, TOLERANCE)


def test_accumulated_and_clipped() -> None:
    for how in ({"parts": 2}, {"clip": True}, {"parts": 2, "clip": True}):
        on, off = sides("momentum", **how)
        both(on, off, 0, 1, 2)
        assert arranged(on.train) == (2 * WEIGHTS if has_blocks() else 0)
        assert_close(on.values(), off.values(), str(how), TOLERANCE)


# ---- each way to a tensor's memory --------------------------------------------------------------


def by_address(tensor: Any) -> Any:
    pointer = ctypes.cast(tensor.data_ptr(), ctypes.POINTER(ctypes.c_float))
    return np.ctypeslib.as_array(pointer, tuple(tensor.shape)).copy()


def by_fork(tensor: Any) -> Any:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writer, "wb") as out:
            out.write(tensor.detach().clone().numpy().tobytes())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as given:
        data = given.read()
    assert os.waitpid(child, 0)[1] == 0
    return np.frombuffer(data, np.float32).reshape(tuple(tensor.shape))


def by_file(tensor: Any, folder: Path) -> Any:
    flow.save({"w": tensor.detach()}, str(folder / "w"))
    return flow.load(str(folder / "w"))["w"].numpy()


def by_elements(tensor: Any) -> Any:
    array = np.empty(tuple(tensor.shape), np.float32)
    array[...] = tensor.detach().clone().numpy()
    for at in ((0, 0, 0, 0), (17, 5, 1, 2), (63, 63, 2, 2)):
        array[at] = tensor[at].item()
    return array


def by_thread(tensor: Any) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(tensor.detach().clone().numpy()))
    thread.start()
    thread.join()
    return found[0]


def by_view(tensor: Any) -> Any:
    rows = [tensor.detach()[i].contiguous().numpy() for i in range(tensor.shape[0])]
    return np.stack(rows)


def by_view_in_place(tensor: Any) -> Any:
    with flow.no_grad():
        tensor[:, 3].mul_(2.0)
        tensor[:, 3].mul_(0.5)
    return tensor.detach().clone().numpy()


def by_setting_data(tensor: Any) -> Any:
    tensor.data = tensor.detach().clone()
    return tensor.detach().clone().numpy()


def by_identity(tensor: Any) -> Any:
    """A convolution of unit pictures reads each element."""
    outputs, inputs = tensor.shape[:2]
    x = flow.zeros(inputs, inputs, 3, 3)
    for i in range(inputs):
        x[i, i, 1, 1] = 1.0
    seen = nn.functional.conv2d(x, tensor.detach(), padding=1).numpy()
    return np.flip(seen.transpose(1, 0, 2, 3), (2, 3))


PATHS: dict[str, Callable[..., Any]] = {
    "clone": lambda w: w.detach().clone().numpy(),
    "numpy": lambda w: np.array(w.detach().numpy()),
    "array": lambda w: np.array(w.detach(), copy=True),
    "dtype": lambda w: np.asarray(w.detach(), dtype=np.float64).astype(np.float32),
    "list": lambda w: np.asarray(w.detach().tolist(), np.float32),
    "dlpack": lambda w: np.array(np.from_dlpack(w.detach())),
    "capsule": lambda w: (
        flow.utils.dlpack.from_dlpack(flow.utils.dlpack.to_dlpack(w.detach())).clone().numpy()
    ),
    "address": by_address,
    "elements": by_elements,
    "pickle": lambda w: pickle.loads(pickle.dumps(w.detach())).numpy(),
    "deepcopy": lambda w: copy.deepcopy(w).detach().numpy(),
    "file": by_file,
    "fork": by_fork,
    "thread": by_thread,
    "views": by_view,
    "view in place": by_view_in_place,
    "data": by_setting_data,
    "convolution": by_identity,
    "transposed": lambda w: (
        w.detach().permute(3, 1, 0, 2).contiguous().numpy().transpose(2, 1, 3, 0)
    ),
    "double": lambda w: w.detach().to(flow.float64).numpy().astype(np.float32),
}


@pytest.mark.parametrize("path", PATHS)
def test_a_path(path: str, tmp_path: Path) -> None:
    on, off = sides()
    both(on, off, 0, 1)
    want = weight(off.model).detach().clone()
    for _ in range(2):  # again where nothing has happened since
        more = (tmp_path,) if path == "file" else ()
        got = flow.tensor(np.ascontiguousarray(PATHS[path](weight(on.model), *more)))
        assert_close(got, want, path, TOLERANCE)
    both(on, off, 2, 3)
    assert_close(on.values(), off.values(), path, TOLERANCE)


def test_printed() -> None:
    on, off = sides()
    for side in (on, off):
        side.step(0)
    numbers: Any = [
        [float(word) for word in str(weight(side.model)[5, 7].detach()).replace("[", " ")
         .replace("]", " ").replace(",", " ").replace("tensor(", " ").split() if "." in word
         and word[-1].isdigit()]
        for side in (on, off)
    ]  # fmt: skip
    assert len(numbers[0]) == 9
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-2, atol=2e-3)


def test_states_are_saved_and_loaded(tmp_path: Path) -> None:
    on, off = sides()
    both(on, off, 0, 1)
    for side, name in ((on, "on"), (off, "off")):
        state = side.train.state_dict()
        flow.save(state, str(tmp_path / name))
        for seed in range(2, 4):
            side.step(seed)
        side.train.load_state_dict(flow.load(str(tmp_path / name)))
        side.step(9)
    assert_close(on.values(), off.values(), "loaded", TOLERANCE)
    on.model.load_state_dict(network(5).state_dict())
    off.model.load_state_dict(network(5).state_dict())
    both(on, off, 10)
    assert_close(on.values(), off.values(), "another state", TOLERANCE)


def test_written_by_others_between_steps() -> None:
    on, off = sides()
    both(on, off, 0)
    for side in (on, off):
        with flow.no_grad():
            weight(side.model).mul_(0.5)
            weight(side.model)[3, :, 1].fill_(0.25)
        nn.init.constant_(side.model[4].conv1.weight, 0.01)
        side.step(1)
        side.eager_step(2)
        side.step(3)
    assert_close(on.values(), off.values(), "written", TOLERANCE)


def test_memory_that_the_host_sees_stays_plain() -> None:
    on, off = sides()
    both(on, off, 0)
    for side in (on, off):
        array = weight(side.model).detach().numpy()
        array[...] *= 0.5
        side.step(1)
        array[2] += 0.125
        side.step(2)
        np.testing.assert_array_equal(array, weight(side.model).detach().clone().numpy())
    assert arranged(on.train) == 0
    assert_close(on.values(), off.values(), "shared", TOLERANCE)


def test_training_and_evaluation_share_a_model() -> None:
    on, off = sides()
    for seed in range(3):
        for side in (on, off):
            side.step(seed)
        for training in (False, True):
            found: list[Any] = []
            for side in (on, off):
                side.model.train(training)
                found.append([side.scores(batch(7)[0])])
                found[-1].append(side.model(batch(7)[0]))
                side.model.train(True)
            assert_close(found[0], found[1], f"step {seed}", TOLERANCE)
    assert_close(on.values(), off.values(), "shared", TOLERANCE)


def test_read_at_every_step() -> None:
    """After a while the graph leaves them plain: they are converted for nothing."""
    on, off = sides()
    for seed in range(12):
        both(on, off, seed)
        seen = [weight(side.model).detach().sum().item() for side in (on, off)]
        np.testing.assert_allclose(seen[0], seen[1], rtol=1e-3, atol=1e-3)
    assert arranged(on.train) == 0
    assert_close(on.values(), off.values(), "read", 4 * TOLERANCE)


def test_read_now_and_then() -> None:
    side = Side(False)
    for seed in range(24):
        side.step(seed % 3)
        if seed % 3 == 0:
            weight(side.model).detach().sum().item()
    assert arranged(side.train) == (2 * WEIGHTS if has_blocks() else 0)


def test_a_run_that_fails() -> None:
    on, off = sides()
    for side in (on, off):
        side.step(0)
        x, _ = batch(1)
        with pytest.raises(IndexError):
            side.train(x, flow.tensor([1, 2, 3, 77])).item()
    assert_close(on.values(), off.values(), "failed", TOLERANCE)
    both(on, off, 2)
    assert_close(on.values(), off.values(), "after it", TOLERANCE)


def test_a_parameter_that_is_an_argument() -> None:
    class Both(nn.Graph):
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        def build(self, x: Any, other: Any) -> Any:
            return self.model(x), other * 2.0

    model = network()
    model.eval()
    graph = Both(model)
    x = batch(0)[0]
    for other in (flow.ones(64, 64, 3, 3), weight(model).detach(), weight(model).detach()):
        scores, twice = graph(x, other)
        assert_close(twice, other * 2.0, "argument")
        assert_close(scores, model(x), "scores", TOLERANCE)


def test_a_parameter_that_is_returned() -> None:
    class Gives(nn.Graph):
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        def build(self, x: Any) -> Any:
            return self.model(x), weight(self.model)

    model = network()
    model.eval()
    graph = Gives(model)
    for _ in range(2):
        scores, given = graph(batch(0)[0])
        assert_close(given, weight(model), "returned", 0.0)
        assert_close(scores, model(batch(0)[0]), "scores", TOLERANCE)


def test_graphs_that_end() -> None:
    on, off = sides()
    for side in (on, off):
        side.step(0)
        side.train.close()
        side.train = Train(side.model, side.optimizer, *(() if side is on else (PASS,)))
        side.step(1)
        del side.train
    assert_close(on.values(), off.values(), "ended", TOLERANCE)


@pytest.mark.parametrize(
    "read",
    [
        lambda w: np.array(w.tolist(), dtype=np.float32),
        lambda w: np.asarray(w, dtype=np.float64).astype(np.float32),
        lambda w: np.array(w, copy=True),
        lambda w: np.full(w.shape, w[1, 2, 0, 1].item(), np.float32),
        lambda w: (w * 1).numpy(),
    ],
    ids=["tolist", "dtype", "copy", "item", "op"],
)
def test_readers_beside_a_thread_that_scores(read: Callable[[Any], Any]) -> None:
    """Nobody writes: whoever reads sees the same values, however the memory lies meanwhile."""
    model = network()
    w = weight(model).detach()
    want = read(w)
    done = threading.Event()

    def score() -> None:
        x, _ = batch(1, 8)
        for _ in range(5):  # each gives up after some runs that find the weights brought back
            graph = Scores(model)
            for _ in range(10):
                graph(x)
                w * 1
        done.set()

    thread = threading.Thread(target=score)
    thread.start()
    while not done.is_set():
        assert np.array_equal(read(w), want)
    thread.join()


def test_threads() -> None:
    """Readers beside a thread that trains: they end, and see numbers of one order or another."""
    side = Side(False)
    side.step(0)
    done = threading.Event()

    def train() -> None:
        for seed in range(30):
            side.step(seed % 3)
        done.set()

    thread = threading.Thread(target=train)
    thread.start()
    while not done.is_set():
        assert np.isfinite(weight(side.model).detach().sum().item())
        assert weight(side.model).detach().clone().numpy().shape == (64, 64, 3, 3)
    thread.join()


# ---- random programs ----------------------------------------------------------------------------


def random_action(rng: np.random.Generator) -> Callable[[Side], Any]:
    """Something that a program does: the same on both sides."""
    kind, seed = int(rng.integers(0, 12)), int(rng.integers(0, 5))
    index, factor = int(rng.integers(0, 64)), float(rng.uniform(0.8, 1.0))

    def parameter(side: Side) -> Any:
        block = side.model[3 + seed % 2]
        return [block.conv1, block.conv2, block.past[0]][index % 3].weight

    def in_place(side: Side) -> Any:
        with flow.no_grad():
            parameter(side).mul_(factor)

    def view(side: Side) -> Any:
        with flow.no_grad():
            parameter(side)[index % 32 :, 1::2].mul_(factor)

    def host(side: Side) -> Any:
        if seed == 0:
            parameter(side).detach().numpy()[index % 32] *= factor

    def swap(side: Side) -> Any:
        parameter(side).data = parameter(side).detach() * factor

    def load(side: Side) -> Any:
        side.model.load_state_dict(copy.deepcopy(side.model.state_dict()))

    def state(side: Side) -> Any:
        known = side.optimizer.state[parameter(side)]
        return [known[name].clone() for name in sorted(known)]

    return [
        lambda side: side.step(seed),
        lambda side: side.step(seed),
        lambda side: side.step(seed),
        lambda side: side.scores(batch(seed)[0]),
        lambda side: side.eager_step(seed),
        in_place,
        view,
        host,
        swap,
        load,
        state,
        lambda side: parameter(side)[index % 32].detach().clone(),
    ][kind]


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    on, off = sides("momentum" if seed % 2 else "adamw")
    for number in range(14):
        action = random_action(rng)
        got, want = action(on), action(off)
        if isinstance(got, float):
            got, want = flow.tensor(got), flow.tensor(want)
        assert_close(got, want, f"program {seed}, action {number}", 1e-2)
    assert_close(on.values(), off.values(), f"program {seed}", 1e-2)


# ---- controls -----------------------------------------------------------------------------------

PROGRAM = """
from tests.graph.test_arranged_weights import PATHS, has_blocks, sides, weight

on, off = sides()
for side in (on, off):
    for seed in range(2):
        side.step(seed)
got, want = (PATHS["{path}"](weight(side.model)) for side in (on, off))
print(bool(abs(got - want).max() > 0.1 * abs(want).max()), has_blocks())
"""


def test_a_restore_that_is_left_out_turns_it_red() -> None:
    for path in ("clone", "list", "numpy", "convolution"):
        for fault in ("none", "arranged_taken_for_plain"):
            ended = faulty.run(PROGRAM.format(path=path), fault, timeout=120)
            assert ended.status == 0, ended.stderr
            seen, blocks = ended.stdout.split()
            assert seen == str(fault != "none" and blocks == "True"), (path, fault)


def test_control() -> None:
    """A permuted weight is seen."""
    on, off = sides()
    with flow.no_grad():
        weight(on.model).copy_(weight(on.model).flip(0))
    must_fail(lambda: assert_close(on.values(), off.values(), "", TOLERANCE))
