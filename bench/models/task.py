"""One step of a case, as a user of the library would write it.

The models are one text for both libraries; what differs between them is here: graphs on one side,
memory formats, optimizer implementations and the compiler on the other.

* oneflow `graph`: nn.Graph with the optimizer inside. `eager`: op by op.
* torch `eager`: as people run it: contiguous, SGD as it comes, AdamW with foreach. `fast`:
channels-last
  pictures and weights, fused optimizers. `compile`: the same through torch.compile, frozen for
  inference.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bench.models import bert, resnet, weights
from bench.models.cases import BERTS, RESNETS, Case

SETTINGS = {"oneflow": ("graph", "eager"), "torch": ("eager", "fast", "compile")}
# Small enough that the first steps stay near their start: what is compared there is the
# mathematics, not how errors of rounding grow along a path.
RATES = {"resnet": 1e-3, "bert": 1e-4}
# The optimizer's running mean of gradients, by its name in each library's state.
MOMENTS = ("momentum_buf", "momentum_buffer", "exp_avg")


class Task:
    """A model with its optimizer and inputs.

    Attributes:
        library, case, setting: what it is made of.
        model, optimizer: the optimizer is None for inference.
        inputs: tensors of one batch.
        graph: the nn.Graph, with the setting of that name.

    Thread safety: none.
    """

    def __init__(self, library: Any, case: Case, setting: str, dropout: bool = True) -> None:
        """Makes the model with the weights of weights.py.

        Args:
            library: the module `oneflow` or `torch`.
            case: what is run.
            setting: one of SETTINGS for the library.
            dropout: False sets every chance of dropout to 0.

        Raises:
            ValueError: the library has no such setting.
        """
        if setting not in SETTINGS[library.__name__]:
            raise ValueError(
                f"[Task] expects a setting of {SETTINGS[library.__name__]} for {library.__name__}, "
                f"got {setting!r}"
            )
        self.library, self.case, self.setting = library, case, setting
        self.model = make_model(library, case, dropout)
        self.inputs = [library.tensor(array) for array in weights.inputs(case)]
        if setting in ("fast", "compile") and case.model in RESNETS:
            self.model = self.model.to(memory_format=library.channels_last)
            self.inputs[0] = self.inputs[0].to(memory_format=library.channels_last)
        self.model.train(case.trains)
        self.optimizer: Any = self._optimizer() if case.trains else None
        self._finish: Callable[[], object] = _finisher(library)
        # What a step does is over when it returns, the update included.
        self.step: Callable[[], float] = self._make_step()

    def _optimizer(self) -> Any:
        """SGD with momentum for pictures, AdamW for text."""
        optim, parameters = self.library.optim, list(self.model.parameters())
        how: dict[str, Any] = {}
        if self.library.__name__ == "torch" and self.setting != "eager":
            how = {"fused": True}
        if self.case.model in RESNETS:
            return optim.SGD(parameters, lr=RATES["resnet"], momentum=0.9, weight_decay=1e-4, **how)
        if self.library.__name__ == "torch" and not how:
            how = {"foreach": True}
        return optim.AdamW(parameters, lr=RATES["bert"], weight_decay=0.01, **how)

    def _autocast(self) -> Any:
        if self.case.dtype == "fp32":
            return contextlib.nullcontext()
        return self.library.autocast("cpu", dtype=self.library.bfloat16)

    def loss(self, *inputs: Any) -> Any:
        """The loss of a batch, with history."""
        with self._autocast():
            if self.case.model in BERTS:
                return self.model(*inputs)
            scores = self.model(inputs[0])
            return self.library.nn.functional.cross_entropy(scores, inputs[1])

    def forward(self, *inputs: Any) -> Any:
        """The scores of a batch in float32."""
        with self._autocast():
            if self.case.model in BERTS:
                return self.model.scores(*inputs[:2])[0].float()
            return self.model(inputs[0]).float()

    def _make_step(self) -> Callable[[], float]:
        if self.setting == "graph":
            graph = self.graph = _graph(self)
            if self.case.trains:
                return lambda: self._finished(graph(*self.inputs).item())
        if self.setting == "compile":
            self.model = _compiled(self.library, self.model, self.case)
        return self._train if self.case.trains else lambda: _first(self.scores())

    def _train(self) -> float:
        loss = self.loss(*self.inputs)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return self._finished(loss.item())

    def _finished(self, loss: float) -> float:
        """The loss, once all ops that were issued have run: reading it waits for no more than the
        forward part, so that the time of a step would end up in that of the next one.
        """
        self._finish()
        return float(loss)

    def scores(self) -> Any:
        """The result of a step of inference."""
        if self.setting == "graph":
            return self.graph(*self.inputs[: 1 + (self.case.sequence > 0)])
        off = getattr(self.library, "inference_mode", self.library.no_grad)
        with off():
            return self.forward(*self.inputs)

    def graph_text(self) -> str:
        """The ops of the graph as it was traced, before passes; after its first step."""
        return str(self.graph._graph_proto)

    def moments(self) -> dict[str, Any]:
        """The optimizer's running mean of each parameter's gradients, as NumPy arrays.

        After the first step it is a multiple of the gradient, and later ones add to it: who agrees
        on it after each of some steps agrees on their gradients. It is there in every setting. Of
        copies: what NumPy shares would not stay in a kernel's order, as what is timed does.
        """
        found: dict[str, Any] = {}
        for name, parameter in self.model.named_parameters():
            state = self.optimizer.state[parameter]
            key = next(key for key in MOMENTS if key in state)
            # torch.compile puts its own name before the model's.
            found[name.removeprefix("_orig_mod.")] = np.asarray(state[key].clone().numpy())
        return found


def _finisher(library: Any) -> Callable[[], object]:
    """Waits for what was issued. PyTorch's ops on a CPU are over when they return."""
    if library.__name__ == "oneflow":
        sync: Callable[[], object] = library._oneflow_internal.eager.Sync
        return sync
    return lambda: None


def make_model(library: Any, case: Case, dropout: bool = True) -> Any:
    """The model of a case with the weights of weights.py, in training mode."""
    if case.model in RESNETS:
        model = resnet.make(library, case.pictures())
    else:
        shape = case.text()
        model = bert.make(library, shape if dropout else replace(shape, dropout=0.0))
    weights.fill(library, model.named_parameters())
    return model


def _first(scores: Any) -> float:
    """One number of a result, which waits for all of it."""
    return float(scores.numpy().ravel()[0])


def _compiled(library: Any, model: Any, case: Case) -> Any:
    if not case.trains:
        config: Any = importlib.import_module("torch._inductor.config")
        config.freezing = True
    return library.compile(model)


def _graph(task: Task) -> Any:
    nn = task.library.nn

    class Step(nn.Graph):  # type: ignore[name-defined]
        """Forward, and for training backward and the optimizer's step."""

        def __init__(self) -> None:
            super().__init__()
            self.model = task.model
            if task.case.trains:
                self.add_optimizer(task.optimizer)

        def build(self, *inputs: Any) -> Any:
            if not task.case.trains:
                with task.library.no_grad():
                    return task.forward(*inputs)
            loss = task.loss(*inputs)
            loss.backward()
            return loss

    return Step()
