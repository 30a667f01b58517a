"""Global tensors for programs that were written for local ones."""

from oneflow.utils.global_view.mode import current_global_mode, global_mode
from oneflow.utils.global_view.trees import to_global, to_local

__all__ = ["current_global_mode", "global_mode", "to_global", "to_local"]
