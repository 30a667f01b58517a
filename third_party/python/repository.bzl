"""The interpreter that the build is for, and the pip that installs the lock."""

def _run(ctx, arguments, what, environment = {}):
    result = ctx.execute(arguments, environment = environment)
    if result.return_code != 0:
        fail("{}: {}{}".format(what, result.stdout, result.stderr))
    return result.stdout.strip()

def _headers(ctx, facts):
    """Makes `include`, the interpreter's C headers; Debian's interpreter has them in a package of its own."""
    include = ctx.path(facts["include"])
    if include.get_child("Python.h").exists:
        ctx.symlink(include, "include/" + include.basename)
        return
    package = "libpython{}-dev".format(facts["version"])
    if not (ctx.which("apt-get") and ctx.which("dpkg-deb") and str(include).startswith("/usr/include/")):
        fail("{} has no C headers (Python.h) in {}; install them".format(facts["executable"], include))
    ctx.file("debian/.keep")
    script = str(ctx.path(ctx.attr._debian_package))
    _run(ctx, [facts["executable"], "-E", "-s", "-B", script, package, "debian"], "cannot get " + package)
    ctx.symlink("debian/usr/include", "include")

def _interpreter_impl(ctx):
    interpreter = ctx.os.environ.get("ONEFLOW_PYTHON", "")
    if not interpreter:
        found = ctx.which("python3")
        if not found:
            fail("no python3 on PATH, and ONEFLOW_PYTHON is not set")
        interpreter = str(found)
    facts = json.decode(_run(
        ctx,
        [interpreter, "-E", "-s", str(ctx.path(ctx.attr._describe))],
        "cannot ask " + interpreter,
    ))

    # A script and not a link: through a link the interpreter may not find its own library.
    ctx.file("python", "#!/bin/sh\nexec '{}' \"$@\"\n".format(facts["executable"]), executable = True)
    _headers(ctx, facts)
    has_library = bool(facts["library"])
    if has_library:
        ctx.symlink(facts["library"], "lib/" + facts["library"].rpartition("/")[2])
    ctx.file("python.bzl", "".join([
        "\"\"\"Facts of the selected interpreter.\"\"\"\n\n",
        "PYTHON_VERSION = \"{}\"\n".format(facts["version"]),
        "PYTHON_EXECUTABLE = \"{}\"\n".format(facts["executable"]),
        "PYTHON_EXT_SUFFIX = \"{}\"\n".format(facts["ext_suffix"]),
        "PYTHON_HAS_LIBRARY = {}\n".format(has_library),
    ]))
    ctx.template("BUILD.bazel", ctx.attr._build_file, substitutions = {
        "{{EXECUTABLE}}": facts["executable"],
        "{{INCLUDE}}": "include/" + ctx.path(facts["include"]).basename,
    })

python_interpreter = repository_rule(
    doc = "The interpreter in $ONEFLOW_PYTHON (tools/bazel sets it), else python3: toolchain, headers, library.",
    implementation = _interpreter_impl,
    attrs = {
        "_build_file": attr.label(default = "//third_party/python:interpreter.BUILD.template", allow_single_file = True),
        "_debian_package": attr.label(default = "//third_party/python:debian_package.py", allow_single_file = True),
        "_describe": attr.label(default = "//third_party/python:describe.py", allow_single_file = True),
    },
    environ = ["ONEFLOW_PYTHON"],
)

_WHEEL_BUILD = """
load("@rules_python//python:defs.bzl", "py_library")

py_library(
    name = "lib",
    srcs = glob(["**/*.py"]),
    data = glob(["**/*"], exclude = ["**/*.py", "**/* *", "BUILD.bazel", "WORKSPACE", "*.whl"]),
    imports = ["."],
    visibility = ["//visibility:public"],
)
"""

def _bootstrap_wheel_impl(ctx):
    interpreter = ctx.path(ctx.attr.interpreter)
    cache = ctx.os.environ.get("ONEFLOW_BAZEL_CACHE", "") or str(ctx.path("cache"))
    script = str(ctx.path(ctx.attr._bootstrap))
    lock = str(ctx.path(ctx.attr._lock))
    wheel = _run(
        ctx,
        [interpreter, "-E", "-s", "-B", script, ctx.attr.package, lock, cache],
        "cannot get " + ctx.attr.package,
    )
    ctx.symlink(wheel, "wheel.zip")
    ctx.extract("wheel.zip")
    ctx.file("BUILD.bazel", _WHEEL_BUILD)

_bootstrap_wheel = repository_rule(
    implementation = _bootstrap_wheel_impl,
    attrs = {
        "interpreter": attr.label(mandatory = True),
        "package": attr.string(mandatory = True),
        "_bootstrap": attr.label(default = "//third_party/python:bootstrap.py", allow_single_file = True),
        "_lock": attr.label(default = "//third_party/python:bootstrap.lock", allow_single_file = True),
    },
    environ = ["ONEFLOW_BAZEL_CACHE", "ONEFLOW_PYTHON"],
)

def _unused_impl(ctx):
    ctx.file("BUILD.bazel")

_unused = repository_rule(implementation = _unused_impl)

# What pip_parse runs, and what it only wants to find.
_USED = ["installer", "pip", "setuptools"]
_UNUSED = [
    "build",
    "click",
    "colorama",
    "importlib_metadata",
    "more_itertools",
    "packaging",
    "pep517",
    "pip_tools",
    "tomli",
    "wheel",
    "zipp",
]

def bootstrap_wheels(interpreter):
    """The packages in bootstrap.lock, for pip_parse; call it before pip_parse.

    They take the names of the repositories that rules_python 0.22.1 would download: its pip and setuptools do not start
    under Python 3.12 and newer, and it has their addresses, while these come from the index that the machine's pip uses.

    Args:
      interpreter: label of the interpreter that downloads them
    """
    for package in _USED:
        _bootstrap_wheel(name = "pypi__" + package, interpreter = interpreter, package = package)
    for package in _UNUSED:
        _unused(name = "pypi__" + package)
