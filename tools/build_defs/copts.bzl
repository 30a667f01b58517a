"""The one place for compiler and linker flags of the project's own C++ code."""

_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-parameter",
]

_SANITIZER = {
    "//tools/build_defs:sanitizer_asan": ["-fsanitize=address"],
    "//tools/build_defs:sanitizer_tsan": ["-fsanitize=thread"],
    "//tools/build_defs:sanitizer_ubsan": [
        "-fsanitize=undefined",
        "-fno-sanitize=vptr",
        "-fno-sanitize-recover=undefined",
    ],
    "//conditions:default": [],
}

# Instrumented code is compiled lightly, and with its assertions; gcc warns wrongly in it.
_INSTRUMENTED = ["-O1", "-fno-omit-frame-pointer", "-UNDEBUG", "-Wno-maybe-uninitialized"]
_SANITIZER_COPTS = {
    name: flags + (_INSTRUMENTED if flags else [])
    for name, flags in _SANITIZER.items()
}

# libgomp is not built for the thread sanitizer, which would report its barriers as races.
_OPENMP = {
    "//tools/build_defs:sanitizer_tsan": ["-Wno-unknown-pragmas"],
    "//conditions:default": ["-fopenmp"],
}

_OPTIMIZE = {
    "//tools/build_defs:dbg": ["-O0"],
    "//conditions:default": ["-O3"],
}

# Threads, locks and atomics are those of oneflow/common/interleave.
_MODEL_CHECK = {
    "//tools/build_defs:model_check_enabled": ["-DONEFLOW_MODEL_CHECK"],
    "//conditions:default": [],
}

# Contraction of a * b + c gives other bits on machines with FMA; kernels ask for it where they want it. Vectorised
# loops need no errno and no traps; none of these flags changes a result.
COPTS = [
    "-std=c++17",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
] + _WARNINGS + select(_OPTIMIZE) + select(_OPENMP) + select(_SANITIZER_COPTS) + select(_MODEL_CHECK)

LINKOPTS = ["-pthread"] + select(_OPENMP) + select(_SANITIZER)

# How a kernel file is compiled once more for each instruction set; //tools/build_defs:isa.bzl.
ISA_COPTS = {
    "avx2": ["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mtune=haswell"],
    "avx512": [
        "-mavx512f",
        "-mavx512bw",
        "-mavx512cd",
        "-mavx512dq",
        "-mavx512vl",
        "-mavx2",
        "-mfma",
        "-mf16c",
        "-mbmi",
        "-mbmi2",
        "-mprefer-vector-width=512",
    ],
    "baseline": [],
}
