"""A graph as it was traced for one signature: how it is made, and how it is run."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from typing import Any

import oneflow as flow
from oneflow import _oneflow_internal
from oneflow.nn.graph._blocks import Blocks, is_lazy
from oneflow.nn.graph.graph_config import GraphConfig
from oneflow.nn.graph.optimizer import OptDict, Step, check_parameters, state_names
from oneflow.nn.graph.util import describe, flatten, unflatten

Tensor = _oneflow_internal.Tensor


class Compiled:
    """One traced graph.

    Attributes:
        handle: the runtime's handle
        inputs, outputs: descriptions of what goes in and comes out
        seconds: how long tracing took, and the rest

    Thread safety: `run` must not overlap if there are optimizers.
    """

    def __init__(self) -> None:
        self.handle: Any = None
        self.steps: list[Step] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.seconds = (0.0, 0.0)
        self._structure: Any = None
        self._single = False
        self._global: list[tuple[int, Any]] = []  # outputs that are global, and where
        self._changes = 0
        self._kept: list[Any] = []

    def stale(self, config: GraphConfig) -> bool:
        """Whether something that went into the trace is different now."""
        if self._changes != config.changes or self.handle.stale():
            return True
        return bool(self.steps) and any(step.stale() for step in self.steps)

    def run(self, leaves: list[Any]) -> Any:
        """Issues a run; what `build` returned, with the values of this run to come."""
        for step in self.steps:
            leaves = leaves + step.numbers()
        results = self.handle.run(leaves)
        for step in self.steps:
            step.done()
        for index, where in self._global:
            results[index]._global = where
        if self._single:
            return results[0]
        return unflatten(self._structure, iter(results))

    def close(self) -> None:
        """Waits for its runs, and ends it."""
        self.handle.close()


class Tracer:
    """Traces a graph once.

    Args:
        name: of the graph
        build: what the user wrote
        blocks, config, opt_dicts: the graph's
        say: prints a line if the level of `debug` is at least the one given
    """

    def __init__(
        self,
        name: str,
        build: Callable[..., Any],
        blocks: Blocks,
        config: GraphConfig,
        opt_dicts: list[OptDict],
        say: Callable[[int, str], None],
    ) -> None:
        self._name, self._build, self._blocks = name, build, blocks
        self._config, self._say = config, say
        self._made = Compiled()
        self._made.steps = [Step(d.optimizer, d.lr_scheduler) for d in opt_dicts]

    def trace(self, structure: Any, leaves: list[Any]) -> Compiled:
        """Traces `build` for arguments of such a structure.

        Raises:
            what `build` raises; and the errors of `check_parameters` and of the runtime. No trace
            is left then.
        """
        made, engine = self._made, _oneflow_internal.graph
        made._changes = self._config.changes
        made._kept = [parameter for _, parameter in self._blocks.named_parameters()]
        check_parameters(self._name, made.steps, self._blocks.named_parameters())
        self._say(0, f"{self._name}: tracing starts")
        start = time.perf_counter()
        try:
            for step in made.steps:
                step.prepare()
            numbers = [step.numbers() for step in made.steps]
            engine.begin_trace(self._name)
            try:
                outputs = self._outputs(structure, leaves, numbers)
            except BaseException:
                engine.abort_trace()
                raise
            traced = time.perf_counter()
            disabled = list(self._config.proto.get("disable_passes", ()))
            made.handle = engine.end_trace(outputs, disable=disabled)
        finally:
            for step in made.steps:
                step.forget()
        made.seconds = (traced - start, time.perf_counter() - traced)
        self._say(0, f"{self._name}: traced in {made.seconds[0]:.3f} s, compiled in "
                     f"{made.seconds[1]:.3f} s")  # fmt: skip
        return made

    def _outputs(self, structure: Any, leaves: list[Any], numbers: list[list[Any]]) -> list[Any]:
        """Inside a trace: inputs, `build`, steps. Returns the tensors that come out."""
        made = self._made
        self._name_tensors()
        inputs = [self._input(leaf, f"input_{i}", True) for i, leaf in enumerate(leaves)]
        given = [
            [self._input(tensor, f"step_{i}_{k}", False) for k, tensor in enumerate(tensors)]
            for i, tensors in enumerate(numbers)
        ]
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._blocks.tracing())
            stack.enter_context(self._blocks.buffers_written_back(is_lazy))
            autocast = self._config.autocast()
            if autocast is not None:
                stack.enter_context(autocast)
            result = self._parts(structure, inputs)
        for step, tensors in zip(made.steps, given):
            step.trace(tensors, self._config.steps)
        outputs: list[Any] = []
        made._structure = flatten(result, outputs, "what build returns")
        made._single = isinstance(result, Tensor)
        made._global = [(i, t._global) for i, t in enumerate(outputs) if t.is_global]
        made.outputs = [describe(output) for output in outputs]
        for number, words in enumerate(made.outputs):
            self._say(1, f"{self._name}: output {number}: {words}")
        return outputs

    def _name_tensors(self) -> None:
        engine = _oneflow_internal.graph
        for path, tensor in [*self._blocks.named_parameters(), *self._blocks.named_buffers()]:
            engine.trace_name(tensor, path)
            self._say(1, f"{self._name}: state {path}: {describe(tensor)}")
        for path, tensor in state_names(self._made.steps, self._blocks.named_parameters()):
            if isinstance(tensor, Tensor):
                engine.trace_name(tensor, path)

    def _input(self, tensor: Any, name: str, shown: bool) -> Any:
        if shown:
            self._made.inputs.append(describe(tensor))
            self._say(1, f"{self._name}: {name}: {self._made.inputs[-1]}")
        made = _oneflow_internal.graph.trace_input(tensor, name, tensor.requires_grad)
        if tensor.is_global:
            made._global = tensor._global
        return made

    def _parts(self, structure: Any, inputs: list[Any]) -> Any:
        """What `build` returns, or for parts of a batch what it returns for each, joined."""
        parts = self._config.steps
        if parts == 1:
            return self._call(structure, inputs)
        results: list[list[Any]] = []
        form: Any = None
        for part in range(parts):
            leaves: list[Any] = []
            cut = [_part(tensor, part, parts) for tensor in inputs]
            form = flatten(self._call(structure, cut), leaves, "what build returns")
            results.append(leaves)
        joined = [flow.cat(list(same), 0) if same[0].ndim else flow.stack(list(same))
                  for same in zip(*results)]  # fmt: skip
        return unflatten(form, iter(joined))

    def _call(self, structure: Any, inputs: list[Any]) -> Any:
        args, kwargs = unflatten(structure, iter(inputs))
        return self._build(*args, **kwargs)


def _part(tensor: Any, part: int, parts: int) -> Any:
    """A part of a batch."""
    if tensor.ndim == 0:
        return tensor
    size = tensor.shape[0]
    if size % parts:
        raise ValueError(
            f"[Graph] expects batches of a multiple of {parts} for gradient accumulation, got an "
            f"input of shape {tuple(tensor.shape)}"
        )
    return tensor.narrow(0, part * (size // parts), size // parts)


def write(line: str) -> None:
    """Prints a line of `debug`; a program without stdout gets none."""
    if sys.stdout is not None:
        print(line, flush=True)
