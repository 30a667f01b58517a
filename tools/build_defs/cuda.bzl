"""The project's CUDA rules: those of rules_cuda and C++, skipped without --config=cuda.

What is skipped costs nothing: `bazel test //...` neither fetches the toolkit nor looks for a GPU.
"""

load("@rules_cuda//cuda:defs.bzl", "cuda_library")

# For `target_compatible_with` of C++ targets that include CUDA's headers or link its runtime.
CUDA_ONLY = select({
    "//conditions:default": ["@platforms//:incompatible"],
    "//tools/build_defs:cuda_enabled": [],
})

# Contraction of a * b + c would give other bits than the CPU's kernels; see COPTS in copts.bzl. How much is optimised
# is the rule's to say, from the compilation mode.
_COPTS = [
    "-std=c++17",
    "--expt-relaxed-constexpr",
    "--fmad=false",
    "--Werror=all-warnings",
]

_HOST_COPTS = [
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Werror",
]

def of_cuda_library(copts = [], host_copts = [], **kwargs):
    """A library of CUDA code; attributes of cuda_library. C++ rules may depend on it."""
    cuda_library(
        copts = _COPTS + copts,
        host_copts = _HOST_COPTS + host_copts,
        target_compatible_with = CUDA_ONLY,
        **kwargs
    )
