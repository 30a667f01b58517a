"""Where the names of `oneflow` live that are loaded at their first use.

A name that no program asks for costs nothing at the import.
"""

from __future__ import annotations

# Submodules, and (under other names) modules that are found elsewhere.
MODULES = {
    name: f"oneflow.{name}"
    for name in (
        "amp", "asyncs", "autograd", "comm", "cpu", "cuda", "distributed", "distributions", "env",
        "framework", "hub", "jit", "linalg", "mock_torch", "multiprocessing", "nn",
        "one_embedding", "optim", "profiler", "sbp", "special", "sysconfig", "test_utils",
        "unittest", "utils", "version",
    )
} | {"env_util": "oneflow.framework.env_util"}  # fmt: skip

_OF_MODULES = {
    "oneflow.framework.serialization": ("save", "load"),
    "oneflow.framework.global_tensor": (
        "placement", "to_global", "to_local", "local_to_global", "global_to_global",
    ),
    "oneflow.framework.type_tensor": (
        "set_default_dtype", "get_default_dtype", "set_default_tensor_type",
    ),
    "oneflow.framework.window": ("hann_window", "hamming_window", "blackman_window"),
    "oneflow.framework.deprecate": ("is_deprecated", "oneflow_deprecate"),
    "oneflow.framework.broadcast": ("broadcast_shapes", "broadcast_tensors", "meshgrid"),
    "oneflow._utils": ("_assert",),
    "oneflow.jit": ("script", "ignore"),
    "oneflow.amp.autocast_mode": ("autocast", "autocast_decorator"),
    "oneflow.nn.functional": (
        "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "deform_conv2d",
    ),
}  # fmt: skip

NAMES = {name: module for module, names in _OF_MODULES.items() for name in names}
TYPES = (
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor",
    "HalfTensor", "IntTensor", "LongTensor", "ShortTensor",
)  # fmt: skip

# Of the ops in place, those that are functions of `oneflow`, too.
IN_PLACE = (
    "clamp_", "clamp_max_", "clamp_min_", "clip_", "div_", "erfinv_", "floor_", "index_add_",
    "masked_fill_", "sin_",
)  # fmt: skip
