"""Weight normalisation: a weight as a length and a direction, which are trained apart."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.parameter import Parameter

_C = _oneflow_internal._C


def _lengths(v: Any, dim: int | None) -> Any:
    """The norms of v along all axes but `dim`, which keep their places; of all of v for None."""
    axes = [axis for axis in range(v.ndim) if dim is None or axis != dim % v.ndim]
    squares = _C.sum(_C.mul(v, v), axes, True)
    return _C.sqrt(squares) if dim is not None else _C.sqrt(squares).reshape(())


class WeightNorm:
    """The hook that computes a weight from its length g and direction v before each forward.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.weight_norm(flow.nn.Linear(2, 1))
        >>> hooks = layer._forward_pre_hooks.values()
        >>> [isinstance(hook, flow.nn.utils.WeightNorm) for hook in hooks]
        [True]
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = dim

    def compute_weight(self, module: Any) -> Any:
        """g * v / |v|."""
        g = getattr(module, self.name + "_g")
        v = getattr(module, self.name + "_v")
        return v * (g / _lengths(v, self.dim))

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Splits the parameter `name` of a module, and adds the hook.

        Raises:
            RuntimeError: it is split already.
            IndexError: `dim` is no axis of it.
            AttributeError: the module has no such parameter.
        """
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"[weight_norm] expects a plain parameter, got {name!r} twice")
        weight = module.get_parameter(name)
        dim = None if dim in (None, -1) else dim
        if dim is not None and not -weight.ndim <= dim < weight.ndim:
            raise IndexError(f"[weight_norm] expects an axis of {tuple(weight.shape)}, got {dim}")
        made = WeightNorm(name, dim)
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(_lengths(weight.detach(), dim)))
        module.register_parameter(name + "_v", Parameter(weight.detach()))
        setattr(module, name, made.compute_weight(module))
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Any) -> None:
        """Makes one parameter of the two again."""
        weight = self.compute_weight(module).detach()
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Trains a weight as g * v / |v|: a length and a direction.

    Args:
        module: it gets the parameters `name`_g and `name`_v in the place of `name`
        name: of the parameter; default "weight"
        dim: the axis along which lengths differ; default 0; None or -1 for one length

    Returns:
        the module

    Raises:
        RuntimeError: the weight is normalised already.
        IndexError: there is no such axis.
        AttributeError: there is no such parameter.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.weight_norm(flow.nn.Linear(20, 40))
        >>> layer.weight_g.shape, layer.weight_v.shape
        (oneflow.Size([40, 1]), oneflow.Size([40, 20]))

    Source: Salimans and Kingma, "Weight normalization", 2016.
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undoes `weight_norm`; returns the module.

    Raises:
        ValueError: the weight is not normalised.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.weight_norm(flow.nn.Linear(2, 1))
        >>> [name for name, _ in flow.nn.utils.remove_weight_norm(layer).named_parameters()]
        ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(
        f"[remove_weight_norm] expects a normalised {name!r}, got a {type(module).__name__} "
        "without one"
    )
