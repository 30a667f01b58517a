"""Neural networks: modules, their parameters, functions and initial values."""

from oneflow.nn import functional, init, optimizer, utils
from oneflow.nn.modules.activation import LogSoftmax, ReLU
from oneflow.nn.modules.container import (
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from oneflow.nn.modules.flatten import Flatten
from oneflow.nn.modules.linear import Identity, Linear
from oneflow.nn.modules.loss import CrossEntropyLoss, NLLLoss
from oneflow.nn.modules.module import Module
from oneflow.nn.parameter import Parameter

__all__ = [
    "CrossEntropyLoss",
    "Flatten",
    "Identity",
    "Linear",
    "LogSoftmax",
    "Module",
    "ModuleDict",
    "ModuleList",
    "NLLLoss",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "ReLU",
    "Sequential",
    "functional",
    "init",
    "optimizer",
    "utils",
]
