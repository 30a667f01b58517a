"""The files of the op table, without `.yaml`."""

FAMILIES = [
    "conv",
    "creation",
    "debug",
    "elementwise",
    "fold",
    "matmul",
    "nn",
    "optim",
    "reduce",
    "view",
]
