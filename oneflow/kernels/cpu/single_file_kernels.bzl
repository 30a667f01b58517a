"""Kernels that are one file, without a header of their own; tools/new_op --kernel adds a line."""

SINGLE_FILE_KERNELS = [
    "slice_backward",
]
