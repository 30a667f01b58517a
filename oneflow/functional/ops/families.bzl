"""The files of the op table, without `.yaml`."""

FAMILIES = [
    "batch_norm",
    "conv",
    "creation",
    "debug",
    "elementwise",
    "extremes",
    "fold",
    "join",
    "matmul",
    "nn",
    "norm",
    "optim",
    "random",
    "ranges",
    "rearrange",
    "reduce",
    "statistics",
    "shape",
    "view",
]
