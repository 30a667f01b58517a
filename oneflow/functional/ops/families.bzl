"""The files of the op table, without `.yaml`."""

FAMILIES = [
    "creation",
    "debug",
    "elementwise",
    "nn",
    "optim",
    "reduce",
    "view",
]
