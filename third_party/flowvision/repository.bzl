"""flowvision as its makers published it: a source archive of one of the locks, installed beside nothing else."""

_BUILD = """
load("@rules_python//python:defs.bzl", "py_library")

py_library(
    name = "lib",
    testonly = True,
    srcs = glob(["packages/**/*.py"]),
    data = glob(["packages/**/*"], exclude = ["**/*.py", "**/* *"]),
    imports = ["packages"],
    visibility = ["//visibility:public"],
)
"""

def _impl(ctx):
    tools = [str(ctx.path(label).dirname) for label in ctx.attr._tools]
    command = [
        ctx.path(ctx.attr.interpreter),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-binary=flowvision",
        # Its setup.py asks for pkg_resources, which the setuptools of bootstrap.lock still has.
        "--no-build-isolation",
        "--no-compile",
        "--no-deps",
        "--no-warn-script-location",
        "--quiet",
        "--require-hashes",
        "--target=packages",
        "--requirement=" + str(ctx.path(ctx.attr.lock)),
    ]
    result = ctx.execute(
        command,
        environment = {"PIP_USER": "0", "PYTHONNOUSERSITE": "1", "PYTHONPATH": ":".join(tools)},
    )
    if result.return_code != 0:
        # Whoever imports it fails, and says why; all else builds where the index has no flowvision.
        why = "cannot install flowvision of {}: {}{}".format(ctx.attr.lock, result.stdout, result.stderr)
        ctx.file("packages/flowvision/__init__.py", "raise ImportError({})\n".format(repr(why)))
    ctx.file("BUILD.bazel", _BUILD)

_flowvision = repository_rule(
    doc = "One version of flowvision. Fetched only when a target that uses it is built.",
    implementation = _impl,
    attrs = {
        "interpreter": attr.label(mandatory = True, doc = "the Python that runs pip"),
        "lock": attr.label(mandatory = True, allow_single_file = True),
        "_tools": attr.label_list(default = ["@pypi__pip//:BUILD.bazel", "@pypi__setuptools//:BUILD.bazel"]),
    },
    environ = ["ONEFLOW_PYTHON"],
)

def flowvision_repositories(interpreter):
    """The versions that are tested, each a repository.

    Args:
      interpreter: label of the interpreter that installs them
    """
    for version in ["0.2.1", "0.2.2"]:
        _flowvision(
            name = "flowvision_" + version.replace(".", "_"),
            interpreter = interpreter,
            lock = "//third_party/flowvision:{}.lock".format(version),
        )
