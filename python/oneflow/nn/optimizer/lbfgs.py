"""L-BFGS: a quasi-Newton method that remembers a few steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import enable_grad, no_grad
from oneflow.framework.creation import zeros_like
from oneflow.nn.optimizer._line_search import strong_wolfe
from oneflow.optim.optimizer import Optimizer, check_number

_C = _oneflow_internal._C


def _dot(a: Any, b: Any) -> float:
    return float(_C.sum(_C.mul(a, b)).item())


def _largest(vector: Any) -> float:
    return float(_C.multi_tensor_norm([vector], math.inf).item())


class LBFGS(Optimizer):
    """L-BFGS, for small problems whose loss can be evaluated again and again.

    A step runs up to `max_iter` iterations: a direction from the last `history_size` changes of
    parameters and gradients, and a step length of `lr`, or by a line search.

    Args:
        params: an iterable of tensors; one group only
        lr: step length; default 0.001
        max_iter: iterations of a step; default 20
        max_eval: evaluations of the closure in a step; default max_iter * 1.25
        tolerance_grad: stop when no element of the gradient is larger; default 1e-7
        tolerance_change: stop when parameters or loss change less; default 1e-9
        history_size: default 100
        line_search_fn: None, or "strong_wolfe"
        contiguous_params: accepted, without effect: see `SGD`

    Raises:
        ValueError: there are several groups, a number is out of range, or the line search unknown.
        TypeError: `step` is called without closure.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.tensor([3.0, -2.0]))
        >>> lbfgs = flow.optim.LBFGS([w], lr=1.0, line_search_fn="strong_wolfe")
        >>> def closure():
        ...     lbfgs.zero_grad()
        ...     loss = ((w - flow.tensor([1.0, 2.0])) * (w - flow.tensor([1.0, 2.0]))).sum()
        ...     loss.backward()
        ...     return loss
        >>> loss = lbfgs.step(closure)
        >>> w.detach()
        tensor([1.0000, 2.0000], dtype=oneflow.float32)

    Source: Liu and Nocedal, "On the limited memory BFGS method", 1989.
    """

    _states_like_parameters = False  # the first parameter has vectors for all of them

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        contiguous_params: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError(f"[LBFGS] expects one group, got {len(self.param_groups)}")
        self._params = self.param_groups[0].parameters

    def _check_options(self, options: dict[str, Any]) -> None:
        for name in ("lr", "max_iter", "tolerance_grad", "tolerance_change", "history_size"):
            check_number("LBFGS", name, options[name])
        if options["line_search_fn"] not in (None, "strong_wolfe"):
            raise ValueError(
                "[LBFGS] expects line_search_fn None or strong_wolfe, "
                f"got {options['line_search_fn']!r}"
            )

    def _gradient(self) -> Any:
        """All gradients as one vector; zeros where there is none."""
        parts = [zeros_like(p.detach()) if p.grad is None else p.grad for p in self._params]
        return _C.cat([_C.reshape(part.detach(), (-1,)) for part in parts], 0)

    def _move(self, length: float, direction: Any) -> None:
        """Changes all parameters by a part of a direction."""
        begin = 0
        for parameter in self._params:
            part = _C.narrow(direction, 0, begin, parameter.numel())
            parameter.add_(_C.view(part, tuple(parameter.shape)), alpha=length)
            begin += parameter.numel()

    def _direction(self, state: dict[str, Any], gradient: Any) -> Any:
        """Minus the inverse Hessian times the gradient, by the steps that are remembered."""
        pairs = list(zip(state["old_stps"], state["old_dirs"], state["ro"]))
        q = -gradient
        weights = []
        for step, change, ro in reversed(pairs):
            weight = _dot(step, q) * ro
            weights.append(weight)
            q = q - change * weight
        direction = q * state["H_diag"]
        for (step, change, ro), weight in zip(pairs, reversed(weights)):
            direction = direction + step * (weight - _dot(change, direction) * ro)
        return direction

    def _remember(self, state: dict[str, Any], gradient: Any) -> None:
        change = gradient - state["prev_flat_grad"]
        step = state["d"] * state["t"]
        curvature = _dot(change, step)
        if curvature <= 1e-10:
            return
        if len(state["old_dirs"]) == self.param_groups[0]["history_size"]:
            for name in ("old_dirs", "old_stps", "ro"):
                state[name].pop(0)
        state["old_dirs"].append(change)
        state["old_stps"].append(step)
        state["ro"].append(1.0 / curvature)
        state["H_diag"] = curvature / _dot(change, change)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Moves the parameters towards a minimum.

        Args:
            closure: clears the gradients, computes the loss and its gradients, and returns it

        Returns:
            the loss before the step
        """
        if closure is None:
            raise TypeError("[LBFGS] expects a closure that evaluates the loss, got None")

        def evaluate() -> Any:
            with enable_grad():
                return closure()

        with no_grad():
            return self._iterate(evaluate)

    def _iterate(self, evaluate: Callable[[], Any]) -> Any:
        options = self.param_groups[0].options
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = evaluate()
        loss = float(first.item())
        evaluations = 1
        gradient = self._gradient()
        for left in range(int(options["max_iter"]) - 1, -1, -1):
            if _largest(gradient) <= options["tolerance_grad"]:
                break
            slope = self._turn(state, gradient, options)
            if slope > -options["tolerance_change"]:
                break
            before = loss
            if options["line_search_fn"] is None and left == 0:
                self._move(state["t"], state["d"])  # nobody would look at the loss
                break
            loss, gradient, used = self._advance(state, loss, gradient, slope, options, evaluate)
            evaluations += used
            change = _largest(state["d"] * state["t"])
            if (
                evaluations >= options["max_eval"]
                or change <= options["tolerance_change"]
                or abs(loss - before) < options["tolerance_change"]
            ):
                break
        state["func_evals"] += evaluations
        self.state["step"] += 1
        return first

    def _turn(self, state: dict[str, Any], gradient: Any, options: dict[str, Any]) -> float:
        """Chooses the next direction and first step length; returns the slope along it."""
        state["n_iter"] += 1
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0, d=-gradient)
            size = float(_C.multi_tensor_norm([gradient], 1.0).item())
            state["t"] = min(1.0, 1.0 / size) * options["lr"]
        else:
            self._remember(state, gradient)
            state["d"] = self._direction(state, gradient)
            state["t"] = options["lr"]
        state["prev_flat_grad"] = gradient
        return _dot(gradient, state["d"])

    def _advance(
        self,
        state: dict[str, Any],
        loss: float,
        gradient: Any,
        slope: float,
        options: dict[str, Any],
        evaluate: Callable[[], Any],
    ) -> tuple[float, Any, int]:
        """Goes along the direction; returns (loss, gradient, number of evaluations)."""
        direction = state["d"]
        if options["line_search_fn"] is None:
            self._move(state["t"], direction)
            return float(evaluate().item()), self._gradient(), 1
        start = [parameter.detach().clone() for parameter in self._params]

        def at(length: float) -> tuple[float, Any]:
            self._move(length, direction)
            found = float(evaluate().item()), self._gradient()
            for parameter, value in zip(self._params, start):
                parameter.copy_(value)
            return found

        loss, gradient, state["t"], used = strong_wolfe(
            at,
            state["t"],
            _largest(direction),
            loss,
            gradient,
            slope,
            lambda g: _dot(g, direction),
            options["tolerance_change"],
        )
        self._move(state["t"], direction)
        return loss, gradient, used
