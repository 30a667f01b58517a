"""Kernels compiled once for each instruction set, in one library."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("@rules_python//python:defs.bzl", "py_test")
load("//tools/build_defs:copts.bzl", "COPTS", "ISA_COPTS", "LINKOPTS")

_X86_64 = ["@platforms//cpu:x86_64"]

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
            target_compatible_with = [] if isa == "baseline" else _X86_64,
            linkstatic = True,
            visibility = ["//visibility:private"],
            deps = deps,
            **kwargs
        )
    cc_library(
        name = name,
        hdrs = hdrs,
        linkstatic = True,
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
    _isa_test(name)

def _isa_test(name):
    """Fails when a copy for newer instructions emits a symbol that code for all machines may be linked to."""
    copies = ["{}_{}".format(name, isa) for isa in ISA_COPTS if isa != "baseline"]
    for copy in copies:
        native.filegroup(
            name = copy + "_archive",
            testonly = True,
            srcs = [":" + copy],
        )
    py_test(
        name = name + "_isa_test",
        size = "small",
        srcs = ["//tools/build_defs:isa_symbols.py"],
        main = "//tools/build_defs:isa_symbols.py",
        args = ["$(rootpaths :{}_archive)".format(copy) for copy in copies],
        data = [":{}_archive".format(copy) for copy in copies],
        python_version = "PY3",
        srcs_version = "PY3",
        target_compatible_with = _X86_64,
        # Sanitizers add symbols of their own, and inline less.
        tags = ["cpu", "no_sanitizer"],
    )
