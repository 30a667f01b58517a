"""The project's Python rules."""

load("@rules_python//python:defs.bzl", "py_binary", "py_library", "py_test")

_ENV = {
    # Nothing of the user's own, and no pytest plugin that happens to be installed.
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
}

def of_py_library(**kwargs):
    """A Python library; attributes of py_library."""
    py_library(srcs_version = "PY3", **kwargs)

def of_py_binary(**kwargs):
    """A Python program; attributes of py_binary."""
    py_binary(python_version = "PY3", srcs_version = "PY3", **kwargs)

def of_py_test(name, size, tags, srcs, deps = [], args = [], env = {}, **kwargs):
    """Runs pytest over `srcs`; fails when no test ran. Extra words for pytest go to `args`.

    Args:
      name: the test's name
      size: small, medium, large or enormous
      tags: `cpu`, `cuda`, `multi`, `slow`, `nightly`
      srcs: test files (`test_*.py` or `*_test.py`), and helpers beside them such as conftest.py
      deps: Python libraries; pytest is added
      args: words for pytest
      env: environment of the test
      **kwargs: other attributes of py_test
    """
    tests = [src for src in srcs if _is_test(src)]
    if not tests:
        fail("of_py_test {}: none of {} is called test_*.py or *_test.py".format(name, srcs))
    py_test(
        name = name,
        size = size,
        srcs = srcs + ["//tools/build_defs:pytest_main.py"],
        args = ["$(rootpath {})".format(test) for test in tests] + args,
        data = kwargs.pop("data", []) + tests,
        env = dict(_ENV, **env),
        main = "//tools/build_defs:pytest_main.py",
        python_version = "PY3",
        srcs_version = "PY3",
        tags = tags,
        deps = deps + ["//third_party/python:pytest"],
        **kwargs
    )

def _is_test(src):
    name = src.rpartition("/")[2].rpartition(":")[2]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))
