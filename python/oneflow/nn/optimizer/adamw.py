"""AdamW, which lives beside Adam."""

from oneflow.nn.optimizer.adam import AdamW

__all__ = ["AdamW"]
