"""Optimizers: they change parameters by their gradients."""

from oneflow.nn.optimizer.sgd import SGD
from oneflow.optim import lr_scheduler
from oneflow.optim.optimizer import Optimizer

__all__ = ["SGD", "Optimizer", "lr_scheduler"]
