"""The files of the op table, without `.yaml`."""

FAMILIES = [
    "conv",
    "batch_norm",
    "creation",
    "debug",
    "elementwise",
    "fold",
    "matmul",
    "nn",
    "norm",
    "optim",
    "reduce",
    "view",
]
