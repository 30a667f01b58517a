"""Tests under the exhaustive scheduler: everything below them is compiled once more, with its seams open."""

load("//tools/build_defs:cc.bzl", "of_cc_test")

def _model_transition_impl(_settings, _attr):
    return {"//tools/build_defs:model_check": True}

_model_transition = transition(
    implementation = _model_transition_impl,
    inputs = [],
    outputs = ["//tools/build_defs:model_check"],
)

def _model_test_impl(ctx):
    test = ctx.attr.test[0][DefaultInfo]
    executable = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(
        output = executable,
        target_file = test.files_to_run.executable,
        is_executable = True,
    )
    return [DefaultInfo(executable = executable, runfiles = test.default_runfiles)]

_model_test = rule(
    implementation = _model_test_impl,
    attrs = {
        "test": attr.label(cfg = _model_transition, mandatory = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    test = True,
)

def of_cc_model_test(name, size, tags, **kwargs):
    """A GoogleTest test whose scenarios oneflow/common/interleave runs in every order of their threads.

    Args:
      name: of the test; `<name>_scenarios` is the program
      size: small, medium, large or enormous
      tags: as of_cc_test's. No sanitizer is added: one thread of the system runs everything.
      **kwargs: as of_cc_test's
    """
    of_cc_test(
        name = name + "_scenarios",
        size = size,
        tags = ["manual"],
        **kwargs
    )
    _model_test(
        name = name,
        size = size,
        tags = tags + ["no_sanitizer"],
        test = ":" + name + "_scenarios",
    )
