"""The files of the op table, without `.yaml`."""

FAMILIES = [
    "batch_norm",
    "conv",
    "creation",
    "debug",
    "elementwise",
    "extremes",
    "fold",
    "matmul",
    "nn",
    "norm",
    "optim",
    "reduce",
    "statistics",
    "view",
]
