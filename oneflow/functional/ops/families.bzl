"""The files of the op table, without `.yaml`."""

FAMILIES = [
    "creation",
    "debug",
    "elementwise",
    "matmul",
    "nn",
    "optim",
    "reduce",
    "view",
]
