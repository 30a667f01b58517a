"""Optimizers: they change parameters by their gradients."""

from oneflow.nn.optimizer.adadelta import Adadelta
from oneflow.nn.optimizer.adagrad import Adagrad
from oneflow.nn.optimizer.adam import Adam, AdamW
from oneflow.nn.optimizer.lamb import LAMB
from oneflow.nn.optimizer.lbfgs import LBFGS
from oneflow.nn.optimizer.rmsprop import RMSprop
from oneflow.nn.optimizer.sgd import SGD
from oneflow.optim import lr_scheduler
from oneflow.optim.optimizer import Optimizer

__all__ = [
    "LAMB",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Optimizer",
    "RMSprop",
    "lr_scheduler",
]
