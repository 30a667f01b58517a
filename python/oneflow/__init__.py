"""OneFlow: tensors, automatic differentiation and neural networks.

Source: the names follow OneFlow's Python API, https://docs.oneflow.org.

    >>> import oneflow as flow
    >>> x = flow.tensor([[1.0, -2.0]], requires_grad=True)
    >>> flow.relu(x).sum().backward()
    >>> x.grad
    tensor([[1., 0.]], dtype=oneflow.float32)

Importing starts no thread. What a program does not name is not imported: `nn`, `optim`, `utils` and
the like are loaded at their first use.
"""

from __future__ import annotations

import atexit as _atexit
import importlib as _importlib
import sys as _sys
from typing import Any as _Any

from oneflow import _extension

_oneflow_internal = _extension.load()


@_atexit.register
def _leave() -> None:
    """The one exit hook: it waits for what still runs, and ends the threads."""
    _oneflow_internal.shutdown()


from oneflow._oneflow_internal import (  # noqa: E402
    Generator,
    InternalError,
    OutOfMemoryError,
    Size,
    Tensor,
    clear_autocast_cache,
    default_generator,
    device,
    dtype,
    from_dlpack,
    from_numpy,
    get_autocast_cpu_dtype,
    get_autocast_gpu_dtype,
    get_num_threads,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_cpu_dtype,
    set_autocast_enabled,
    set_autocast_gpu_dtype,
    set_num_threads,
    tensor,
    to_dlpack,
)
from oneflow._version import __version__  # noqa: E402
from oneflow.framework import _names, _report  # noqa: E402
from oneflow.framework import tensor as _tensor_methods  # noqa: E402

# Reports leave the package's own lines out, and say its version.
_oneflow_internal.set_package(__path__[0] + "/", __version__)


_C = _oneflow_internal._C
_sys.modules[__name__ + "._C"] = _C

_tensor_methods.register_methods()
_report.install()

from oneflow.autograd.autograd_mode import (  # noqa: E402
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from oneflow.framework import type_tensor  # noqa: E402
from oneflow.framework.comparison import allclose, equal  # noqa: E402
from oneflow.framework.creation import (  # noqa: E402
    arange,
    as_tensor,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    logspace,
    new_empty,
    new_full,
    new_ones,
    new_zeros,
    ones,
    ones_like,
    zero_,
    zeros,
    zeros_like,
)
from oneflow.framework.dtype import (  # noqa: E402
    convert_numpy_dtype_to_oneflow_dtype,
    convert_oneflow_dtype_to_numpy_dtype,
    dtypes,
    finfo,
    iinfo,
    is_floating_point,
)
from oneflow.framework.generator import (  # noqa: E402
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from oneflow.framework.norms import norm  # noqa: E402
from oneflow.framework.products import einsum, tensordot  # noqa: E402
from oneflow.framework.quantiles import quantile  # noqa: E402
from oneflow.framework.random import (  # noqa: E402
    normal,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
)
from oneflow.framework.slices import slice, slice_update  # noqa: E402
from oneflow.framework.tensor import is_nonzero, is_tensor, numel  # noqa: E402
from oneflow.framework.tensor_str import set_printoptions  # noqa: E402

_sys.modules[__name__].__dict__.update(
    # dtypes under their own names and their short ones; several hide builtins of this module.
    _importlib.import_module("oneflow.framework.dtype").names(),
    # Every op of the table that is part of the public API, unless a Python function refines it.
    **{
        name: op
        for name, op in _tensor_methods.public_ops()
        if name not in globals() and name not in _names.NAMES
    },
    **{name: getattr(_C, name) for name in _names.IN_PLACE if hasattr(_C, name)},
    **{name: type_tensor.TYPES[name] for name in _names.TYPES},
    oneflow_python_base_dir=__path__[0],
    oneflow_internal_path=_oneflow_internal.__file__,
)


def __getattr__(name: str) -> _Any:
    """What `framework/_names.py` lists is loaded when it is first asked for."""
    if name in _names.MODULES:
        return _importlib.import_module(_names.MODULES[name])
    if name in _names.NAMES:
        value = getattr(_importlib.import_module(_names.NAMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'oneflow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_names.MODULES) | set(_names.NAMES))
