"""Learning-rate schedulers."""

from oneflow.nn.optimizer.composed_schedules import (
    ChainedScheduler,
    LambdaLR,
    MultiplicativeLR,
    SequentialLR,
    WarmupLR,
)
from oneflow.nn.optimizer.lr_scheduler import LRScheduler
from oneflow.nn.optimizer.reduce_lr_on_plateau import ReduceLROnPlateau
from oneflow.nn.optimizer.schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CosineDecayLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

# The older name, and the one that subclasses outside use.
WarmUpLR = WarmupLR
_LRScheduler = LRScheduler

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CosineDecayLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "WarmUpLR",
    "WarmupLR",
]
