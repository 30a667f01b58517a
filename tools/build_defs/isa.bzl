"""Kernels compiled once for each instruction set, in one library."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("//tools/build_defs:copts.bzl", "COPTS", "ISA_COPTS", "LINKOPTS")

def of_isa_kernels(name, srcs, hdrs = [], deps = [], copts = [], **kwargs):
    """Compiles `srcs` once for each instruction set, and gives one library that holds all of them.

    In a compilation ONEFLOW_ISA is `baseline`, `avx2` or `avx512`, a plain word: put everything that the file defines into
    `namespace ONEFLOW_ISA { ... }`, so that the copies do not collide, and choose among the three at run time, from a
    header in which all three are declared. ONEFLOW_HAS_ISA_AVX2 and ONEFLOW_HAS_ISA_AVX512 are defined (to 1) for
    whoever depends on the library where those copies exist, which is on x86-64 only.

    Keep templates of the standard library out of such files: an inline function that two copies emit is one
    symbol to the linker, which may keep the one with the newer instructions for the whole program.
    `<name>_isa_test` fails on such a symbol.

    Args:
      name: the library
      srcs: kernel files
      hdrs: headers that declare the kernels for all instruction sets
      deps: as in cc_library
      copts: flags for each of the compilations, after the project's
      **kwargs: visibility, testonly, tags, alwayslink
    """
    alwayslink = kwargs.pop("alwayslink", False)
    visibility = kwargs.pop("visibility", None)
    for isa, flags in ISA_COPTS.items():
        cc_library(
            name = "{}_{}".format(name, isa),
            srcs = srcs,
            hdrs = hdrs,
            copts = COPTS + copts + flags + ["-DONEFLOW_ISA=" + isa],
            linkopts = LINKOPTS,
            alwayslink = alwayslink,
            visibility = ["//visibility:private"],
            deps = deps,
            **kwargs
        )
    cc_library(
        name = name,
        hdrs = hdrs,
        defines = select({
            "//tools/build_defs:x86_64": ["ONEFLOW_HAS_ISA_AVX2=1", "ONEFLOW_HAS_ISA_AVX512=1"],
            "//conditions:default": [],
        }),
        visibility = visibility,
        deps = deps + [":{}_baseline".format(name)] + select({
            "//tools/build_defs:x86_64": [":{}_avx2".format(name), ":{}_avx512".format(name)],
            "//conditions:default": [],
        }),
        **kwargs
    )
