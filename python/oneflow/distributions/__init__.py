"""Probability distributions to draw from."""

from oneflow.distributions.categorical import Categorical
from oneflow.distributions.distribution import Distribution

__all__ = ["Categorical", "Distribution"]
