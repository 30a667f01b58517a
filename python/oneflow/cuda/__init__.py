"""GPUs of NVIDIA, and their memory. A CPU-only host needs no library of NVIDIA's."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import _memory


def is_available() -> bool:
    """Whether ops can run on a GPU.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.is_available() == (flow.cuda.device_count() > 0)
        True
    """
    return bool(_oneflow_internal.cuda_is_available())


def device_count() -> int:
    """How many GPUs ops can run on.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.device_count() >= 0
        True
    """
    count = getattr(_oneflow_internal, "cuda_device_count", None)
    return int(count()) if count is not None else int(is_available())


def current_device() -> int:
    """The index of the GPU that `device="cuda"` means.

    Raises:
        RuntimeError: there is no GPU.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.current_device() if flow.cuda.is_available() else 0
        0
    """
    _check("current_device")
    return 0


def set_device(device: object) -> None:
    """Makes a GPU the one that `device="cuda"` means.

    Args:
        device: its index, its name, or a device

    Raises:
        RuntimeError: there is no GPU, or no such one.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     flow.cuda.set_device(0)
    """
    name = _name("set_device", device)
    _check("set_device")
    if name != "cuda:0":
        raise RuntimeError(f"[cuda.set_device] expects cuda:0, the only GPU in use, got {name}")


def synchronize(device: object = None) -> None:
    """Waits for every op on a GPU.

    Raises:
        RuntimeError: there is no GPU.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     flow.cuda.synchronize()
    """
    _check("synchronize")
    _oneflow_internal.sync()


def manual_seed(seed: int) -> None:
    """Seeds random numbers on the GPU; does nothing where there is none.

    Raises:
        TypeError: `seed` is not an int.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.manual_seed(0)
    """
    from oneflow.framework.generator import checked_seed
    from oneflow.framework.generator import manual_seed as seed_all

    checked = checked_seed("cuda.manual_seed", seed)
    if is_available():
        seed_all(checked)


manual_seed_all = manual_seed


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Figures of the pool of a GPU's memory; see `oneflow.cpu.memory_stats`.

    Args:
        device: a GPU, as "cuda", "cuda:1", an index or a device; None: the current one

    Returns:
        the same dict as for the CPU; all figures are 0 where there is no GPU

    Raises:
        TypeError, ValueError: `device` is no GPU's name.
        RuntimeError: this machine has GPUs, but not that one.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.memory_stats()["allocated"]
        0
    """
    name = _name("memory_stats", device)
    return _memory.stats(name) if is_available() else dict(_NO_GPU, size_classes=[])


def memory_allocated(device: Any = None) -> int:
    """The bytes that living tensors hold on a GPU; 0 where there is none. See `memory_stats`.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.memory_allocated()
        0
    """
    return int(memory_stats(device)["allocated"])


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors held at once on a GPU, since `reset_peak_memory_stats`.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.max_memory_allocated()
        0
    """
    return int(memory_stats(device)["allocated_peak"])


def memory_reserved(device: Any = None) -> int:
    """The bytes that the pool has taken from the driver: in use by tensors, or cached.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.memory_reserved()
        0
    """
    return int(memory_stats(device)["reserved"])


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the pool held, since `reset_peak_memory_stats`.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.max_memory_reserved()
        0
    """
    return int(memory_stats(device)["reserved_peak"])


def reset_peak_memory_stats(device: Any = None) -> None:
    """Starts the peaks anew from what is held now; does nothing where there is no GPU.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.reset_peak_memory_stats()
    """
    name = _name("reset_peak_memory_stats", device)
    if is_available():
        _oneflow_internal.memory_reset_peak(name)


def empty_cache() -> None:
    """Gives GPU memory that the pools keep for later back; does nothing where there is no GPU.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.empty_cache()
    """
    for index in range(device_count()):
        _oneflow_internal.memory_empty_cache(f"cuda:{index}")


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """How many bytes of a GPU tensors of this process can still take, and how many it has in all.

    Raises:
        RuntimeError: there is no such GPU.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.mem_get_info() if flow.cuda.is_available() else (0, 0)
        (0, 0)
    """
    name = _name("mem_get_info", device)
    _check("mem_get_info")
    return _memory.free_and_total(_memory.stats(name))


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The figures of `memory_stats` as a table; see `oneflow.cpu.memory_summary`.

    Raises:
        RuntimeError: there is no such GPU.
        TypeError: `abbreviated` is not a bool.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.memory_summary() if flow.cuda.is_available() else "no GPU"
        'no GPU'
    """
    name = _name("memory_summary", device)
    _check("memory_summary")
    return _memory.summary("cuda.memory_summary", name, abbreviated)


_NO_GPU = {
    "allocated": 0,
    "allocated_peak": 0,
    "reserved": 0,
    "reserved_peak": 0,
    "unsplit": 0,
    "limit": 0,
    "limit_source": "no GPU",
    "allocations": 0,
    "cache_hits": 0,
}


def _name(caller: str, device: Any) -> str:
    """The name of the GPU that `device` means."""
    if device is None:
        return "cuda:0"
    if isinstance(device, int) and not isinstance(device, bool):
        if device < 0:
            raise ValueError(f"[cuda.{caller}] expects an index of 0 or more, got {device}")
        return f"cuda:{device}"
    if not isinstance(device, (str, _oneflow_internal.device)):
        raise TypeError(
            f"[cuda.{caller}] expects a device, its name or its index, got {type(device).__name__}"
        )
    found = _oneflow_internal.device(device)
    if found.type != "cuda":
        raise ValueError(f"[cuda.{caller}] expects a GPU, got {found.type}:{found.index}")
    return f"cuda:{found.index}"


def _check(caller: str) -> None:
    if not is_available():
        raise RuntimeError(f"[cuda.{caller}] expects a GPU, got a machine or build without one")


def __getattr__(name: str) -> Any:
    from oneflow.framework.type_tensor import CUDA_TYPES

    if name in CUDA_TYPES:
        return CUDA_TYPES[name]
    raise AttributeError(f"module 'oneflow.cuda' has no attribute {name!r}")
