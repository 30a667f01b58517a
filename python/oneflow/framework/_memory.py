"""What `flow.cpu` and `flow.cuda` say of memory, for any device."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal

_TENSORS_SHOWN = 5


def stats(device: str) -> dict[str, Any]:
    """The figures of a device's pool; see `oneflow.cpu.memory_stats`.

    Example:
        >>> from oneflow.framework import _memory
        >>> _memory.stats("cpu")["allocated"] >= 0
        True
    """
    return dict(_oneflow_internal.memory_stats(device))


def free_and_total(figures: dict[str, Any]) -> tuple[int, int]:
    """What can still be taken, and the limit; never negative.

    Example:
        >>> from oneflow.framework import _memory
        >>> _memory.free_and_total({"limit": 10, "allocated": 4})
        (6, 10)
    """
    total = int(figures["limit"])
    return max(0, total - int(figures["allocated"])), total


def size(count: int) -> str:
    """A number of bytes for people.

    Example:
        >>> from oneflow.framework import _memory
        >>> _memory.size(512), _memory.size(3 << 19)
        ('512 bytes', '1.50 MiB')
    """
    if count < 1024:
        return f"{count} bytes"
    value, names = float(count), ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    name = ""
    while value >= 1024 and names:
        value, name = value / 1024, names.pop(0)
    return f"{value:.2f} {name}"


def summary(caller: str, device: str, abbreviated: bool) -> str:
    """The table of `oneflow.cpu.memory_summary`.

    Raises:
        TypeError: `abbreviated` is not a bool.
    """
    if not isinstance(abbreviated, bool):
        raise TypeError(
            f"[{caller}] expects a bool as abbreviated, got {type(abbreviated).__name__}"
        )
    figures = stats(device)
    rows = [
        ("in use", figures["allocated"], figures["allocated_peak"]),
        ("reserved", figures["reserved"], figures["reserved_peak"]),
    ]
    found = _oneflow_internal.device(device)
    lines = [f"Memory of {found.type}:{found.index}", f"{'':10} {'now':>12} {'peak':>12}"]
    lines += [f"{name:10} {size(now):>12} {size(peak):>12}" for name, now, peak in rows]
    lines.append(f"{'cached':10} {size(figures['reserved'] - figures['allocated']):>12}")
    lines.append(f"{'limit':10} {size(figures['limit']):>12}  set by {figures['limit_source']}")
    lines.append(
        f"{'requests':10} {figures['allocations']:>12}  {figures['cache_hits']} from the cache"
    )
    if not abbreviated:
        lines += _classes(figures["size_classes"])
    tensors = _oneflow_internal.memory_largest_tensors(device, _TENSORS_SHOWN).rstrip()
    if tensors:
        lines += ["Largest tensors", tensors]
    return "\n".join(lines)


def _classes(classes: list[dict[str, int]]) -> list[str]:
    lines = [f"{'blocks to':>12} {'in use':>8} {'':12} {'cached':>8}"]
    for entry in classes:
        lines.append(
            f"{size(entry['block_bytes']):>12} {entry['in_use']:>8} "
            f"{size(entry['in_use_bytes']):>12} {entry['cached']:>8} "
            f"{size(entry['cached_bytes']):>12}"
        )
    return lines
