"""The CUDA toolkit: wheels from requirements.lock, joined into one prefix."""

def _impl(ctx):
    pip = str(ctx.path(ctx.attr._pip).dirname)
    command = [
        ctx.path(ctx.attr.interpreter),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-compile",
        "--no-deps",
        "--no-warn-script-location",
        "--only-binary=:all:",
        "--quiet",
        "--require-hashes",
        "--target=wheels",
        "--requirement=" + str(ctx.path(ctx.attr.lock)),
    ]
    result = ctx.execute(
        command,
        environment = {"PIP_USER": "0", "PYTHONNOUSERSITE": "1", "PYTHONPATH": pip},
        timeout = 1800,
    )
    if result.return_code != 0:
        fail("cannot install the CUDA toolkit of {}: {}{}".format(ctx.attr.lock, result.stdout, result.stderr))

    # Each wheel brought its part of one tree.
    moved = ctx.execute(["mv", "wheels/nvidia/cu13", "cuda"])
    if moved.return_code != 0:
        fail("the wheels of {} hold no nvidia/cu13: {}".format(ctx.attr.lock, moved.stderr))
    ctx.template("BUILD.bazel", ctx.attr._build_file)

cuda_toolkit_repository = repository_rule(
    doc = "The CUDA toolkit. Fetched only when a target is built with --config=cuda.",
    implementation = _impl,
    attrs = {
        "interpreter": attr.label(mandatory = True, doc = "the Python that runs pip"),
        "lock": attr.label(mandatory = True, allow_single_file = True),
        "_build_file": attr.label(default = "//third_party/cuda:toolkit.BUILD", allow_single_file = True),
        "_pip": attr.label(default = "@pypi__pip//:BUILD.bazel", allow_single_file = True),
    },
    environ = ["ONEFLOW_PYTHON"],
)
