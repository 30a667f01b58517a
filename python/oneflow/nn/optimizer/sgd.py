"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import no_grad
from oneflow.framework.creation import empty_like
from oneflow.optim.optimizer import Optimizer, check_number

_sgd = _oneflow_internal._C.sgd_update_
_sgd_momentum = _oneflow_internal._C.sgd_momentum_update_


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum.

    With gradient g of parameter p:

        g = g + weight_decay * p                        (g = -g first, if maximize)
        buffer = momentum * buffer + (1 - dampening) * g       (at first buffer = g)
        p = p - lr * (g + momentum * buffer if nesterov else buffer)

    Args:
        params: an iterable of tensors, or of dicts with "params" and options of their own
        lr: learning rate; default 0.001
        momentum: default 0
        dampening: default 0
        weight_decay: default 0
        nesterov: whether to look ahead; needs momentum and no dampening
        maximize: whether to go up the gradient
        contiguous_params, fused: accepted for programs written for OneFlow, where they choose
            between implementations; here each update of a parameter is one op in any case

    Raises:
        ValueError: a number is negative or not finite, or nesterov lacks momentum.
        TypeError: a parameter is no Tensor.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.ones(1))
        >>> sgd = flow.optim.SGD([w], lr=0.1)
        >>> (w * 2).sum().backward()
        >>> sgd.step()
        >>> w.detach()
        tensor([0.8000], dtype=oneflow.float32)

    Source: Sutskever et al., "On the importance of initialization and momentum", 2013.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        maximize: bool = False,
        contiguous_params: bool = False,
        fused: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        for name in ("lr", "momentum", "dampening", "weight_decay"):
            check_number("SGD", name, options[name])
        if options["nesterov"] and (options["momentum"] <= 0 or options["dampening"] != 0):
            raise ValueError(
                "[SGD] expects nesterov with momentum above 0 and dampening 0, got momentum "
                f"{options['momentum']} and dampening {options['dampening']}"
            )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates every parameter that has a gradient.

        Args:
            closure: computes the loss and its gradients anew, and returns the loss; may be None

        Returns:
            what the closure returned, or None
        """
        loss = self._evaluate(closure)
        with no_grad():
            buffers = self._new_buffers()
            for group in self.param_groups:
                self._update(group.options, group.parameters, buffers)
        return loss

    def _new_buffers(self) -> dict[Any, Any]:
        """For parameters without one: before any changes, so that all stays if memory ends."""
        return {
            parameter: empty_like(parameter.grad)
            for group in self.param_groups
            if group.options["momentum"] != 0
            for parameter in group.parameters
            if parameter.grad is not None and "momentum_buffer" not in self.state[parameter]
        }

    def _update(
        self, options: dict[str, Any], parameters: list[Any], buffers: dict[Any, Any]
    ) -> None:
        lr, momentum, decay = options["lr"], options["momentum"], options["weight_decay"]
        dampening, nesterov = options["dampening"], options["nesterov"]
        maximize, state = options["maximize"], self.state
        for parameter in parameters:
            gradient = parameter.grad
            if gradient is None:
                continue
            if momentum == 0:
                _sgd(parameter, None, gradient, lr, decay, maximize)
                continue
            own = state[parameter]
            first = "momentum_buffer" not in own
            buffer = buffers[parameter] if first else own["momentum_buffer"]
            _sgd_momentum(
                parameter,
                buffer,
                gradient,
                lr,
                momentum,
                dampening,
                decay,
                nesterov,
                maximize,
                first,
            )
            own["momentum_buffer"] = buffer
