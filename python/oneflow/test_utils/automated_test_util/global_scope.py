"""Whether the code under test runs on global tensors."""

from __future__ import annotations

from types import TracebackType

_depth = 0


class GlobalScope:
    """Inside it, `random_tensor` and modules are global. Scopes nest."""

    def __enter__(self) -> GlobalScope:
        global _depth
        _depth += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _depth
        _depth -= 1


def is_global() -> bool:
    """Whether a GlobalScope is open."""
    return _depth > 0
