"""Optimizers, one for each file; `oneflow.optim` gathers them."""
