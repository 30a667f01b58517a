"""The project's C++ rules: Bazel's own, with the flags of copts.bzl."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("@rules_python//python:defs.bzl", "py_library")
load("//tools/build_defs:copts.bzl", "COPTS", "LINKOPTS")

def of_cc_library(copts = [], linkopts = [], linkstatic = True, **kwargs):
    """A C++ library; attributes of cc_library. Only an archive: nothing here links a library of its own dynamically."""
    cc_library(
        copts = COPTS + copts,
        linkopts = LINKOPTS + linkopts,
        linkstatic = linkstatic,
        **kwargs
    )

def of_cc_binary(copts = [], linkopts = [], **kwargs):
    """A C++ program; attributes of cc_binary."""
    cc_binary(copts = COPTS + copts, linkopts = LINKOPTS + linkopts, **kwargs)

def of_cc_test(size, tags, deps = [], copts = [], linkopts = [], **kwargs):
    """A GoogleTest test; its main is linked in. Fails when no test in it ran.

    Args:
      size: small, medium, large or enormous
      tags: `cpu`, `cuda`, `multi`, `slow`, `nightly`
      deps: as in cc_test
      copts: as in cc_test, after the project's
      linkopts: as in cc_test, after the project's
      **kwargs: other attributes of cc_test
    """
    cc_test(
        size = size,
        copts = COPTS + copts,
        linkopts = LINKOPTS + linkopts,
        linkstatic = kwargs.pop("linkstatic", True),
        tags = tags,
        deps = deps + ["//third_party/googletest:gtest", "//tools/build_defs:test_main"],
        **kwargs
    )

def of_cc_benchmark(name, deps = [], copts = [], linkopts = [], **kwargs):
    """A program of Google Benchmark; its main is linked in. Run it by `tools/bazel run`."""
    cc_binary(
        name = name,
        testonly = True,
        copts = COPTS + copts,
        linkopts = LINKOPTS + linkopts,
        deps = deps + ["//third_party/benchmark:benchmark_main"],
        **kwargs
    )

def of_py_extension(name, deps, srcs = [], copts = [], linkopts = [], data = [], **kwargs):
    """A CPython extension module, `<name>.so`, and a py_library `<name>` that holds it.

    Only the module's init function is visible outside. It looks for shared libraries beside itself, as in the wheel, and
    where Bazel put them. Add the py_library to `deps` of Python rules; `import <path to this folder>.<name>` finds it.

    Args:
      name: the module's name
      deps: C++ libraries; linked whole where they ask for `alwayslink`
      srcs: as in cc_binary
      copts: as in cc_binary, after the project's
      linkopts: as in cc_binary, after the project's
      data: as in cc_binary
      **kwargs: visibility, testonly, tags, imports
    """
    imports = kwargs.pop("imports", [])
    cc_binary(
        name = name + ".so",
        srcs = srcs,
        copts = COPTS + copts,
        data = data,
        linkopts = LINKOPTS + linkopts + [
            "-Wl,-rpath,$$ORIGIN",
            "-Wl,--exclude-libs,ALL",
        ],
        linkshared = True,
        linkstatic = True,
        deps = deps,
        **kwargs
    )
    py_library(
        name = name,
        data = [":" + name + ".so"],
        imports = imports,
        **kwargs
    )
