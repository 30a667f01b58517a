"""GPUs of NVIDIA: whether there are any. A CPU-only host needs no library of NVIDIA's."""

from __future__ import annotations

from oneflow import _oneflow_internal


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


def empty_cache() -> None:
    """Gives GPU memory that the pool keeps for later back; does nothing where there is no GPU.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.empty_cache()
    """


def _check(caller: str) -> None:
    if not is_available():
        raise RuntimeError(f"[cuda.{caller}] expects a GPU, got a machine or build without one")
