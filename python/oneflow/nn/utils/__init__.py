"""Helpers around modules and their parameters."""

from oneflow.nn.utils import rnn
from oneflow.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_
from oneflow.nn.utils.convert_parameters import (
    parameters_to_vector,
    skip_init,
    vector_to_parameters,
)
from oneflow.nn.utils.weight_norm import WeightNorm, remove_weight_norm, weight_norm

__all__ = [
    "WeightNorm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "parameters_to_vector",
    "rnn",
    "remove_weight_norm",
    "skip_init",
    "vector_to_parameters",
    "weight_norm",
]
